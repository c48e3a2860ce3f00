"""Tumbling count windows: a specialised machine for the most common count windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from morisot.errors import ElementError
from morisot.types.windows import Windowed
from morisot.worker.aggregate.accumulators import Accumulates, form_in_windows
from morisot.worker.codec.stored import Layout, of_parts, or_none
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import Emitter
from morisot.worker.stateful.windows import results_of


@dataclass(frozen=True)
class TumblingCount:
    """The machine. Each key has at most one open window, and its state is a few plain values."""

    size: int
    measures: tuple[Accumulates, ...]
    row: Callable[..., Any] | None
    bounds: bool
    stamps: bool
    origin: Origin

    @property
    def layout(self) -> Layout:
        return Layout("tumbling count windows", 1, of_parts([None, or_none(form_in_windows(self.measures)), None]))

    def start(self) -> Any:
        return 0, None, None

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        if times is not None or len(self.measures) > 1:
            return self._take_each(state, values, times, emit)
        (measure,) = self.measures
        count, parts, _ = state
        held = parts[0] if parts else None
        size, inside, value = self.size, count % self.size, None
        first, add = measure.first, measure.add
        try:
            for index, value in enumerate(values):
                held = add(held, value) if inside else first(value)
                inside += 1
                if inside == size:
                    self._emit_window(count + index + 1, [held], None, index, emit)
                    inside = 0
        except ElementError:
            raise
        except Exception as error:
            raise self.origin.failed(value, error) from error
        return count + len(values), [held] if inside else None, None

    def _take_each(self, state: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        """The same as `take`, for several measures or with timestamps."""
        count, parts, newest = state
        size, inside = self.size, count % self.size
        adds = [measure.add for measure in self.measures]
        for index, value in enumerate(values):
            try:
                if inside == 0:
                    parts, newest = [measure.first(value) for measure in self.measures], None
                else:
                    parts = [add(part, value) for add, part in zip(adds, parts, strict=True)]
            except Exception as error:
                raise self.origin.failed(value, error) from error
            if times is not None and (newest is None or times[index] > newest):
                newest = times[index]
            inside += 1
            if inside == size:
                self._emit_window(count + index + 1, parts, newest, index, emit)
                inside, parts = 0, None
        return count + len(values), parts, newest

    def _emit_window(self, end: int, parts: list[Any], newest: int | None, index: int, emit: Emitter) -> None:
        value = results_of(self.measures, parts, self.row, self.origin)
        if self.bounds:
            value = Windowed(end - self.size, end, value)
        emit(index, value, newest if self.stamps else None)

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """An incomplete window is not emitted."""
