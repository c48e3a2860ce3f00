"""The machines of running aggregates, of operators with a user's state, and of selections."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from morisot.worker.aggregate.accumulators import (
    Accumulates,
    FoldAccumulator,
    ReduceAccumulator,
    form_of_running,
)
from morisot.worker.codec.stored import NOTHING, Layout
from morisot.worker.report.origin import Origin, OwnFailure
from morisot.worker.stateful.machine import AT_END, Emitter

_UNCHANGING = frozenset((int, float, bool, str, bytes, type(None)))
"""Classes of immutable values: an output that is also the state needs no copy."""
_LEFT_OUT = object()
"""The value where there is no output."""


@dataclass(frozen=True)
class FoldMachine:
    """A running aggregate. Its state is the accumulated value, or NOTHING before the first element."""

    kind: Literal["fold", "reduce", "aggregate"]
    """The kind of its stored state."""
    accumulator: Accumulates
    origin: Origin

    @property
    def layout(self) -> Layout:
        return Layout(self.kind, 1, form_of_running(self.accumulator))

    def start(self) -> Any:
        return NOTHING

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        accumulator = self.accumulator
        add = accumulator.add
        for value in values:
            try:
                state = accumulator.first(value) if state is NOTHING else add(state, value)
            except Exception as error:
                self._failed(value, error, emit)
        return state

    def _failed(self, value: Any, error: BaseException, emit: Emitter) -> None:
        """Skips an element on which a function failed. A sum or a comparison that fails stops the job."""
        if isinstance(error, OwnFailure):
            error = error.__cause__ or error
        elif not isinstance(self.accumulator, FoldAccumulator | ReduceAccumulator):
            raise self.origin.failed(value, error) from error
        self.origin.leave_out(value, error, emit.notes)

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        if state is not NOTHING:
            emit(AT_END, self.accumulator.finish(state), None)


@dataclass(frozen=True)
class Firsts:
    """The first element."""

    layout = Layout("first", 1)

    def start(self) -> Any:
        return False

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        if not state:
            emit(0, values[0], times[0] if times else None)
        return True

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """The element is emitted when it arrives."""


@dataclass(frozen=True)
class RichMachine:
    """A function with a state: (state, element) or (state, key, element) to the new state and an output.

    `out` defines the output: one element, one element unless it is None, or the items of an iterable.
    """

    init: Any
    function: Callable[..., Any]
    keyed: bool
    out: str
    origin: Origin
    layout = Layout("user state", 1)

    def start(self) -> Any:
        return copy.deepcopy(self.init)

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        function, keyed, spreads = self.function, self.keyed, self.out == "flat_map"
        outputs: list[Any] = []
        given = iter(values)
        # one `try` for all elements if none is skipped, because a `try` for each element is slower
        while len(outputs) < len(values):
            value: Any = None
            try:
                for value in given:
                    answer = function(state, key, value) if keyed else function(state, value)
                    after, output = answer if type(answer) is tuple and len(answer) == 2 else pair(answer)
                    if spreads:
                        output = list(output)  # now, because a generator may read the state, which changes later
                    elif output is after and type(output) not in _UNCHANGING:
                        output = copy.deepcopy(output)
                    outputs.append(output)
                    state = after
            except Exception as error:
                self.origin.leave_out((key, value) if keyed else value, error, emit.notes)
                outputs.append(_LEFT_OUT)
        self._emit(outputs, times, emit)
        return state

    def _emit(self, outputs: list[Any], times: Sequence[int] | None, emit: Emitter) -> None:
        if self.out == "map" and self.origin.policy is None:
            emit.each(outputs, times)
            return
        for index, output in enumerate(outputs):
            if output is _LEFT_OUT:
                continue
            results: Iterable[Any] = (output,) if output is not None or self.out == "map" else ()
            if self.out == "flat_map":
                results = output
            for result in results:
                emit(index, result, times[index] if times else None)

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """The state is not a result."""


def pair(answer: Any) -> tuple[Any, Any]:
    """The result of the user's function, which has to be (new state, output)."""
    if isinstance(answer, tuple) and len(answer) == 2:
        return answer
    raise TypeError(f"the function must return a pair (new state, output), not {answer!r}")


@dataclass(frozen=True)
class Sorter:
    """Sorts all elements by a key, stably, and emits all of them, or `n` after the first `offset`."""

    key: Callable[..., Any]
    keyed: bool
    n: int | None
    offset: int
    origin: Origin
    layout = Layout("sort", 1)

    def start(self) -> Any:
        return []

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        for index, value in enumerate(values):
            try:
                by = self.key(*value) if self.keyed else self.key(value)
            except Exception as error:
                raise self.origin.failed(value, error) from error
            state.append((by, value, times[index] if times else None))
        return state

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        try:
            state.sort(key=lambda entry: entry[0])
        except Exception as error:
            raise self.origin.failed([value for _, value, _ in state[:2]], error) from error
        last = None if self.n is None else self.offset + self.n
        for _, value, time in state[self.offset : last]:
            emit(AT_END, value, time)


@dataclass(frozen=True)
class Limiter:
    """`n` elements after the first `offset`. The state is the number of elements so far, up to the last one needed."""

    n: int
    offset: int
    layout = Layout("limit", 1)

    def start(self) -> Any:
        return 0

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        last = self.offset + self.n
        for index in range(max(0, self.offset - state), min(len(values), last - state)):
            emit(index, values[index], times[index] if times else None)
        return min(state + len(values), last)

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """Elements are emitted when they arrive."""
