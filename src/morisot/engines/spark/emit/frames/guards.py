"""Guards: expressions that stop a job where a native form would compute another value than Python.

A guard has the number of its operator, so that only this operator is demoted. The number is in the parameter of Spark's
USER_RAISED_EXCEPTION, which no value of the data can write.
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
    """The numbers of operators in guards. An operator has the same number in every job of an engine."""

    def __init__(self) -> None:
        self._numbers: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()
        self._new = itertools.count()

    @contextlib.contextmanager
    def emitting(self, node: Node) -> Iterator[None]:
        """Sets the operator of guards that are created in the block."""
        if node not in self._numbers:
            self._numbers[node] = next(self._new)
        token = _emitted.set(self._numbers[node])
        try:
            yield
        finally:
            _emitted.reset(token)

    def named_in(self, message: str) -> Node | None:
        """The operator whose guard has this message; None if it is not the message of a guard."""
        found = _GUARD.match(message)
        number = int(found[1]) if found else None
        return next((node for node, each in self._numbers.items() if each == number), None)


def message_of_guard(reason: str) -> str:
    """The message of a guard that is created now."""
    number = _emitted.get()
    return f"morisot: {reason}" if number is None else f"morisot operator {number}: {reason}"
