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
MISSING = "None where a value is needed"
_GUARD = re.compile(r"morisot operator (\d+)( rung)?: ")


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

    def named_in(self, message: str) -> tuple[Node, bool] | None:
        """The operator whose guard has this message, and whether it is that of a rung; None if it is not of a guard."""
        found = _GUARD.match(message)
        if found is None:
            return None
        number, of_rung = int(found[1]), found[2] is not None
        return next(((node, of_rung) for node, each in self._numbers.items() if each == number), None)


def guard_of_rung(reason: str) -> str:
    """The expression that stops a job, because an aggregate needs its next rung, which is native too."""
    number = _emitted.get()
    assert number is not None, "a rung is a form of an operator"
    return f"raise_error('morisot operator {number} rung: {reason}')"


def message_of_guard(reason: str) -> str:
    """The message of a guard that is created now."""
    number = _emitted.get()
    return f"morisot: {reason}" if number is None else f"morisot operator {number}: {reason}"
