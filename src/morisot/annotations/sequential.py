"""The sequential program of a pipeline: the function as it is written, with the events of its stages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from morisot.annotations.program import PipelineProgram
from morisot.annotations.replicated import called
from morisot.annotations.rewrite import with_events


def sequential_of(function: Callable[..., Any], program: PipelineProgram) -> Callable[..., Any]:
    """The sequential program. Without events it is the user's own function."""
    loops = [loop.loop for loop in program.loops]
    if not any(section.block.events for loop in loops for section in loop.stages if section.block is not None):
        return function
    made = with_events(program.source, loops)(SequentialEvents)
    functools.update_wrapper(made, function)
    return made


class SequentialEvents:
    """The events of the stages of a loop, which runs as one batch."""

    def __init__(self, arguments: Sequence[Mapping[str, Any]]) -> None:
        self._arguments = arguments
        self._values: list[Any] = []

    def __enter__(self) -> list[Any]:
        """Calls on_init of each stage. The results are the values that the stages bind."""
        try:
            for given in self._arguments:
                self._values.append(given["on_init"]() if "on_init" in given else None)
        except BaseException as error:
            self._fail(error)
            raise
        return self._values

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._fail(error)
            return
        try:
            for given in self._arguments:
                if "on_snapshot" in given:
                    called(given["on_snapshot"], 0)
        except BaseException as failure:
            self._fail(failure)
            raise
        self._end()

    def _fail(self, error: BaseException) -> None:
        for given in self._arguments[: len(self._values) + 1]:
            if "on_error" in given:
                called(given["on_error"], error)
        self._end()

    def _end(self) -> None:
        for given in reversed(self._arguments[: len(self._values) + 1]):
            if "on_exit" in given:
                given["on_exit"]()
