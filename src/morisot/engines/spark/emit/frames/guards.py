"""Guards: expressions that stop a job where a native form would give another value than Python.

A guard names the operator that it belongs to, so that this operator alone is demoted. The name is a number in the
parameter of Spark's USER_RAISED_EXCEPTION, which no value of the data can write.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import weakref
from collections.abc import Iterator
from contextvars import ContextVar

from morisot.plan.nodes.node import Node

_emitted: ContextVar[int | None] = ContextVar("morisot_operator", default=None)
NAN = "NaN has no rank in an order"
_GUARD = re.compile(r"morisot operator (\d+): ")


class Operators:
    """The numbers by which guards name operators: the same for an operator in every job of an engine."""

    def __init__(self) -> None:
        self._numbers: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()
        self._new = itertools.count()

    @contextlib.contextmanager
    def emitting(self, node: Node) -> Iterator[None]:
        """Guards that are made inside name this operator."""
        if node not in self._numbers:
            self._numbers[node] = next(self._new)
        token = _emitted.set(self._numbers[node])
        try:
            yield
        finally:
            _emitted.reset(token)

    def named_in(self, message: str) -> Node | None:
        """The operator whose guard has this message, if it is one of ours."""
        found = _GUARD.match(message)
        number = int(found[1]) if found else None
        return next((node for node, each in self._numbers.items() if each == number), None)


def message_of_guard(reason: str) -> str:
    """What a guard says that is made now."""
    number = _emitted.get()
    return f"morisot: {reason}" if number is None else f"morisot operator {number}: {reason}"
