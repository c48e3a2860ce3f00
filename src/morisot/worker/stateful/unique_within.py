"""Elements of a key that are apart in time: of those that are near one that was kept before them, none is kept."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from morisot.types.element import ANY, Type
from morisot.worker.codec.stored import Layout, form_of_identities, of_items
from morisot.worker.stateful.machine import AT_END, Emit
from morisot.worker.stateful.timers import Rows, WindowBucket


def keep(kept: list[int], time: int, within: int) -> bool:
    """Whether no time of those kept, which are in order, is less than `within` away; then this one is kept too."""
    place = bisect_left(kept, time)
    if place and time - kept[place - 1] < within:
        return False
    if place < len(kept) and kept[place] - time < within:
        return False
    kept.insert(place, time)
    return True


@dataclass(frozen=True)
class Apart:
    """The elements of one key, of which all are there; the state has the times of those that were kept."""

    within: int
    layout = Layout("deduplicate", 1)

    def start(self) -> Any:
        return []

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emit) -> Any:
        assert times is not None
        for place, time in enumerate(times):
            if keep(state, time, self.within):
                emit(place, values[place], time)
        return state

    def end(self, state: Any, key: Any, emit: Emit) -> None:
        """Each was given when it came."""


@dataclass(frozen=True)
class ApartForNow:
    """The elements of the keys of a bucket, which may come too late.

    The state has, for each key, the times of those that were kept, as long as an element that is not late may be near.
    """

    within: int
    key: Type = ANY

    @property
    def layout(self) -> Layout:
        return Layout("deduplicate by time", 1, of_items(form_of_identities(self.key), None))

    def start(self) -> Any:
        return {}

    def take(self, state: Any, rows: Rows, closed: int | None, emit: Emit) -> list[int]:
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time <= closed:
                late.append(number)
            elif keep(state.setdefault(rows.identities[number], []), time, self.within):
                emit.key, emit.at_end = rows.keys[number], rows.places[number]
                emit(AT_END, rows.values[number], time)
        return late

    def close(self, state: Any, mark: int, emit: Emit) -> None:
        """Forget what no element after the mark is near."""
        for same, kept in list(state.items()):
            del kept[: bisect_left(kept, mark + 2 - self.within)]
            if not kept:
                del state[same]

    def deadline(self, state: Any) -> int | None:
        """Nothing waits; what is old is forgotten when something else comes."""
        return None


@dataclass(frozen=True)
class ApartBucket(WindowBucket):
    """Runs it; elements have keys that are not the user's."""

    def element(self, key: Any, value: Any) -> Any:
        return value
