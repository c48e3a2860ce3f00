"""Joins of two streams without end: elements wait for partners that are near in time, until none can come any more.

An element is `(side, left, right)`, as in `pairs`. A partner of a left element at t is from t - lower to t + upper: so
a left element is forgotten when the mark has reached t + upper, a right one at q when it has reached q + lower.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from morisot.types.element import ANY, Type
from morisot.types.moments import from_ticks
from morisot.types.windows import Windowed
from morisot.worker.codec.stored import PLAIN, Form, Layout, each, form_of, form_of_identities, of_items, of_parts
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import AT_END, Emit
from morisot.worker.stateful.timers import Rows, WindowBucket, moment_bytes

_LEFT, _RIGHT = 0, 1
_time = attrgetter("time")


class Guest:
    """An element that waits for partners."""

    __slots__ = ("key", "met", "time", "value")

    def __init__(self, key: Any, value: Any, time: int) -> None:
        self.key = key
        self.value = value
        self.time = time
        self.met = False
        """Whether it has found one."""

    @classmethod
    def form(cls, key: Type, value: Type) -> Form:
        """How one is stored."""
        of_key, of_value = form_of(key) or PLAIN, form_of(value) or PLAIN

        def store(guest: Guest) -> tuple[Any, ...]:
            return of_key.store(guest.key), of_value.store(guest.value), guest.time, guest.met

        def load(stored: tuple[Any, ...]) -> Guest:
            key, value, time, met = stored
            guest = cls(of_key.load(key), of_value.load(value), time)
            guest.met = met
            return guest

        return Form(store, load)


@dataclass(frozen=True)
class Meeting:
    """The elements of two sides that are near in time, of each key; the state has those that wait, in order of time.

    A pair is given as soon as both are there, one without a partner when none can come any more.
    """

    lower: int
    upper: int
    variant: str
    key: Type = ANY
    left: Type = ANY
    right: Type = ANY
    """What the elements of each side are."""

    @property
    def layout(self) -> Layout:
        sides = of_parts([each(Guest.form(self.key, type_)) for type_ in (self.left, self.right)])
        return Layout("join by time", 1, of_items(form_of_identities(self.key), sides))

    def start(self) -> Any:
        return {}

    def take(self, state: Any, rows: Rows, closed: int | None, emit: Emit) -> list[int]:
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time <= closed:
                late.append(number)
                continue
            side, left, right = rows.values[number]
            guest = Guest(rows.keys[number], right if side == _RIGHT else left, time)
            sides = state.setdefault(rows.identities[number], ([], []))
            before, after = (self.lower, self.upper) if side == _LEFT else (self.upper, self.lower)
            others = sides[1 - side]
            begin, end = bisect_left(others, time - before, key=_time), bisect_right(others, time + after, key=_time)
            for other in others[begin:end]:
                guest.met = other.met = True
                one, partner = (guest, other) if side == _LEFT else (other, guest)
                emit.key, emit.at_end = one.key, rows.places[number] + len(emit.values).to_bytes(8, "big")
                emit(AT_END, (one.value, partner.value), max(one.time, partner.time))
            insort(sides[side], guest, key=_time)
        return late

    def close(self, state: Any, mark: int, emit: Emit) -> None:
        for same, sides in list(state.items()):
            for side, wait in ((_LEFT, self.upper), (_RIGHT, self.lower)):
                gone = bisect_right(sides[side], mark - wait, key=_time)
                if self._keeps(side):
                    self._give_alone(side, sides[side][:gone], emit)
                del sides[side][:gone]
            if not sides[_LEFT] and not sides[_RIGHT]:
                del state[same]

    def _keeps(self, side: int) -> bool:
        """Whether elements of a side without a partner are given too."""
        return self.variant == "outer" or (self.variant == "left" and side == _LEFT)

    def _give_alone(self, side: int, guests: list[Guest], emit: Emit) -> None:
        for guest in guests:
            if not guest.met:
                emit.key, emit.at_end = guest.key, moment_bytes(guest.time) + len(emit.values).to_bytes(8, "big")
                emit(AT_END, (guest.value, None) if side == _LEFT else (None, guest.value), guest.time)

    def deadline(self, state: Any) -> int | None:
        """Pairs wait for nothing; what only they need is forgotten when something else comes."""
        waits = ((_LEFT, self.upper), (_RIGHT, self.lower))
        ends = [
            sides[side][0].time + wait
            for sides in state.values()
            for side, wait in waits
            if self._keeps(side) and sides[side]
        ]
        return min(ends, default=None)


class Item(NamedTuple):
    """An element of one side of a window."""

    side: int
    place: bytes
    key: Any
    value: Any


@dataclass(frozen=True)
class Pairing:
    """The elements of a window's two sides, which become pairs when it is complete."""

    clock: Type
    bounds: bool
    stamps: bool
    origin: Origin
    key: Type = ANY
    left: Type = ANY
    right: Type = ANY
    """What the elements of each side are."""

    @property
    def of_elements(self) -> Form:
        forms = [(None, None, form_of(self.key), form_of(side)) for side in (self.left, self.right)]
        sides = [of_parts(parts) or Form(tuple, PLAIN.load) for parts in forms]
        return Form(lambda item: sides[item.side].store(item), lambda stored: Item(*sides[stored[0]].load(stored)))

    @property
    def of_held(self) -> Form | None:
        return of_parts([each(self.of_elements), each(self.of_elements)])

    def first(self, value: Item) -> tuple[list[Item], list[Item]]:
        return self.add(([], []), value)

    def add(self, held: tuple[list[Item], list[Item]], value: Item) -> tuple[list[Item], list[Item]]:
        held[value.side].append(value)
        return held

    def give(self, start: int, end: int, place: bytes, held: tuple[list[Item], list[Item]], emit: Emit) -> None:
        """Pairs of windows with the same end are in the order of their left elements, then of their right ones."""
        lefts, rights = held
        for one in lefts:
            for other in rights:
                value: Any = (one.value, other.value)
                if self.bounds:
                    value = Windowed(from_ticks(start, self.clock), from_ticks(end, self.clock), value)
                emit.key, emit.at_end = one.key, moment_bytes(end) + one.place + other.place
                emit(AT_END, value, end if self.stamps else None)


@dataclass(frozen=True)
class MeetingBucket(WindowBucket):
    """Runs a machine that sees the elements of two sides."""

    def element(self, key: Any, value: Any) -> Any:
        """The pair that an outer join would give of an element without a partner."""
        _, left, right = value
        return super().element(key, (left, right))


@dataclass(frozen=True)
class PairingBucket(MeetingBucket):
    """Runs windows whose elements come from two sides."""

    def given(self, keys: Sequence[Any], values: Sequence[Any], places: Sequence[Any]) -> Sequence[Any]:
        return [
            Item(side, place, key, right if side == _RIGHT else left)
            for key, (side, left, right), place in zip(keys, values, places, strict=True)
        ]
