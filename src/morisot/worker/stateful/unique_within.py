"""Deduplication within a time distance: an element is dropped if an earlier one of its key is closer in time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.types.element import ANY, Type
from morisot.worker.codec.stored import Layout, form_of_identities, of_items
from morisot.worker.stateful.machine import AT_END, Emitter
from morisot.worker.stateful.timers import TimedRows, WindowBucket


def retain(retained: list[int], time: int, within: int) -> bool:
    """Whether a time is at least `within` from all retained ones, which are sorted. If so, it is added to them."""
    index = bisect_left(retained, time)
    if index and time - retained[index - 1] < within:
        return False
    if index < len(retained) and retained[index] - time < within:
        return False
    retained.insert(index, time)
    return True


@dataclass(frozen=True)
class DeduplicateWithin:
    """Deduplicates bounded input. The state of a key is the sorted times of the elements that were retained."""

    within: int
    layout = Layout("deduplicate", 1)

    def start(self) -> Any:
        return []

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        assert times is not None
        for index, time in enumerate(times):
            if retain(state, time, self.within):
                emit(index, values[index], time)
        return state

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """Elements are emitted when they arrive."""


@dataclass(frozen=True)
class DeduplicateByTime:
    """Deduplicates unbounded input, for the keys of a bucket.

    The state has, for each key, the times of the retained elements to which a new element may still be close.
    """

    within: int
    key: Type = ANY

    @property
    def layout(self) -> Layout:
        return Layout("deduplicate by time", 1, of_items(form_of_identities(self.key), None))

    def start(self) -> Any:
        return {}

    def take(self, state: Any, rows: TimedRows, closed: int | None, emit: Emitter) -> list[int]:
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time <= closed:
                late.append(number)
            elif retain(state.setdefault(rows.identities[number], []), time, self.within):
                emit.key, emit.at_end = rows.keys[number], rows.row_orders[number]
                emit(AT_END, rows.values[number], time)
        return late

    def close(self, state: Any, watermark: int, emit: Emitter) -> None:
        """Removes the times to which no element after the watermark can be close."""
        for same, retained in list(state.items()):
            del retained[: bisect_left(retained, watermark + 2 - self.within)]
            if not retained:
                del state[same]

    def deadline(self, state: Any) -> int | None:
        """There are no timers. Old times are removed when other elements arrive."""
        return None


@dataclass(frozen=True)
class DeduplicateBucket(WindowBucket):
    """Runs the machine. The keys are those of the operator, not those of the user's stream."""

    def element(self, key: Any, value: Any) -> Any:
        return value
