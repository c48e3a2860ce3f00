"""The state of a loop, as the functions of its body see it."""

from __future__ import annotations

from typing import Any, Final

from morisot.errors import PlanError

_NOT_RUNNING: Final = object()


class LoopState:
    """Given to the body of a loop: `value` is the state of the round that runs.

    Functions capture the handle; whoever runs a round sets its value first. It travels to the workers together with
    the functions that captured it, so that they all see one handle.
    """

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: Any = _NOT_RUNNING

    @property
    def value(self) -> Any:
        """The state of the round; only while the loop runs, and not to be changed."""
        if self._value is _NOT_RUNNING:
            raise PlanError(
                "the state of a loop is known only while the loop runs",
                advice="read `state.value` inside a function that the body gives to an operator",
            )
        return self._value

    def set(self, value: Any) -> None:
        """Called by whoever runs a round."""
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
