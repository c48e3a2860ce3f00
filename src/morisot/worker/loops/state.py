"""The state of a loop, as the functions of its body read it."""

from __future__ import annotations

from typing import Any, Final

from morisot.errors import PlanError

_NOT_RUNNING: Final = object()


class LoopState:
    """Given to the body of a loop: `value` is the state of the round that runs.

    Functions capture the handle. Its value is set before each round. It is pickled together with the functions that
    captured it, so that all of them share one handle in a worker.
    """

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: Any = _NOT_RUNNING

    @property
    def value(self) -> Any:
        """The state of the round. It exists only while the loop runs, and must not be changed."""
        if self._value is _NOT_RUNNING:
            raise PlanError(
                "the state of a loop exists only while the loop runs",
                advice="read `state.value` inside a function that the body gives to an operator",
            )
        return self._value

    def set(self, value: Any) -> None:
        """Called before each round."""
        self._value = value

    def clear(self) -> None:
        """Called when the loop has ended."""
        self._value = _NOT_RUNNING

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (() if self._value is _NOT_RUNNING else (self._value,))

    def __repr__(self) -> str:
        return "<the state of a loop>"


def _rebuilt(*value: Any) -> LoopState:
    handle = LoopState()
    for each in value:
        handle.set(each)
    return handle
