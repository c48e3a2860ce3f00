"""Windows of a number of elements, one after the other: the lean form of the most common windows by count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from morisot.errors import ElementError
from morisot.types.windows import Windowed
from morisot.worker.aggregate.accumulators import Accumulates, form_of_measures
from morisot.worker.codec.stored import Layout, of_parts, or_none
from morisot.worker.stateful.machine import Emit, Origin
from morisot.worker.stateful.windows import results_of


@dataclass(frozen=True)
class TumblingCount:
    """The machine: of each key there is one open window at most, and a few plain values are its state."""

    size: int
    measures: tuple[Accumulates, ...]
    row: Callable[..., Any] | None
    bounds: bool
    stamps: bool
    origin: Origin

    @property
    def layout(self) -> Layout:
        return Layout("tumbling count windows", 1, of_parts([None, or_none(form_of_measures(self.measures)), None]))

    def start(self) -> Any:
        return 0, None, None

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emit) -> Any:
        if times is not None or len(self.measures) > 1:
            return self._take_each(state, values, times, emit)
        (measure,) = self.measures
        count, parts, _ = state
        held = parts[0] if parts else None
        size, add, inside, value = self.size, measure.add, count % self.size, None
        try:
            for place, value in enumerate(values):
                held = add(measure.start() if inside == 0 else held, value)
                inside += 1
                if inside == size:
                    self._give(count + place + 1, [held], None, place, emit)
                    inside = 0
        except ElementError:
            raise
        except Exception as error:
            raise self.origin.failed(value, error) from error
        return count + len(values), [held] if inside else None, None

    def _take_each(self, state: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emit) -> Any:
        """The same for several measures, or with timestamps."""
        count, parts, newest = state
        size, inside = self.size, count % self.size
        for place, value in enumerate(values):
            try:
                if inside == 0:
                    parts, newest = [measure.start() for measure in self.measures], None
                parts = [measure.add(part, value) for measure, part in zip(self.measures, parts, strict=True)]
            except Exception as error:
                raise self.origin.failed(value, error) from error
            if times is not None and (newest is None or times[place] > newest):
                newest = times[place]
            inside += 1
            if inside == size:
                self._give(count + place + 1, parts, newest, place, emit)
                inside, parts = 0, None
        return count + len(values), parts, newest

    def _give(self, end: int, parts: list[Any], newest: int | None, place: int, emit: Emit) -> None:
        value = results_of(self.measures, parts, self.row, self.origin)
        if self.bounds:
            value = Windowed(end - self.size, end, value)
        emit(place, value, newest if self.stamps else None)

    def end(self, state: Any, key: Any, emit: Emit) -> None:
        """What is incomplete is not given."""
