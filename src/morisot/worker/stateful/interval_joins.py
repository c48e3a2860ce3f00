"""Joins of two unbounded streams: elements are buffered until the watermark has passed their last possible partner.

An element is `(side, left, right)`, as in `pairs`. A partner of a left element at t is from t - lower to t + upper. So
a left element is removed when the watermark has reached t + upper, and a right one at q when it has reached q + lower.
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
from morisot.worker.stateful.machine import AT_END, Emitter
from morisot.worker.stateful.timers import TimedRows, WindowBucket, moment_bytes

_LEFT, _RIGHT = 0, 1
_time = attrgetter("time")


class BufferedElement:
    """An element that may still have partners."""

    __slots__ = ("key", "matched", "time", "value")

    def __init__(self, key: Any, value: Any, time: int) -> None:
        self.key = key
        self.value = value
        self.time = time
        self.matched = False
        """Whether it has had a partner."""

    @classmethod
    def form(cls, key: Type, value: Type) -> Form:
        """The stored form."""
        of_key, of_value = form_of(key) or PLAIN, form_of(value) or PLAIN

        def store(element: BufferedElement) -> tuple[Any, ...]:
            return of_key.store(element.key), of_value.store(element.value), element.time, element.matched

        def load(stored: tuple[Any, ...]) -> BufferedElement:
            key, value, time, matched = stored
            element = cls(of_key.load(key), of_value.load(value), time)
            element.matched = matched
            return element

        return Form(store, load)


@dataclass(frozen=True)
class IntervalJoinMachine:
    """Joins elements of two sides whose timestamps are close. The state has the buffered elements of each key, by time.

    A pair is emitted as soon as both elements have arrived, an element without a partner when none can arrive any more.
    """

    lower: int
    upper: int
    variant: str
    key: Type = ANY
    left: Type = ANY
    right: Type = ANY
    """The types of the elements of each side."""

    @property
    def layout(self) -> Layout:
        sides = of_parts([each(BufferedElement.form(self.key, type_)) for type_ in (self.left, self.right)])
        return Layout("join by time", 1, of_items(form_of_identities(self.key), sides))

    def start(self) -> Any:
        return {}

    def take(self, state: Any, rows: TimedRows, closed: int | None, emit: Emitter) -> list[int]:
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time <= closed:
                late.append(number)
                continue
            side, left, right = rows.values[number]
            element = BufferedElement(rows.keys[number], right if side == _RIGHT else left, time)
            sides = state.setdefault(rows.identities[number], ([], []))
            before, after = (self.lower, self.upper) if side == _LEFT else (self.upper, self.lower)
            others = sides[1 - side]
            begin, end = bisect_left(others, time - before, key=_time), bisect_right(others, time + after, key=_time)
            for other in others[begin:end]:
                element.matched = other.matched = True
                one, partner = (element, other) if side == _LEFT else (other, element)
                emit.key, emit.at_end = one.key, rows.row_orders[number] + len(emit.values).to_bytes(8, "big")
                emit(AT_END, (one.value, partner.value), max(one.time, partner.time))
            insort(sides[side], element, key=_time)
        return late

    def close(self, state: Any, watermark: int, emit: Emitter) -> None:
        for same, sides in list(state.items()):
            for side, wait in ((_LEFT, self.upper), (_RIGHT, self.lower)):
                gone = bisect_right(sides[side], watermark - wait, key=_time)
                if self._emits_unmatched(side):
                    self._emit_unmatched(side, sides[side][:gone], emit)
                del sides[side][:gone]
            if not sides[_LEFT] and not sides[_RIGHT]:
                del state[same]

    def _emits_unmatched(self, side: int) -> bool:
        """Whether elements of a side without a partner are emitted."""
        return self.variant == "outer" or (self.variant == "left" and side == _LEFT)

    def _emit_unmatched(self, side: int, elements: list[BufferedElement], emit: Emitter) -> None:
        for element in elements:
            if not element.matched:
                emit.key, emit.at_end = element.key, moment_bytes(element.time) + len(emit.values).to_bytes(8, "big")
                emit(AT_END, (element.value, None) if side == _LEFT else (None, element.value), element.time)

    def deadline(self, state: Any) -> int | None:
        """Pairs need no timer. Elements that are buffered only for pairs are removed when other elements arrive."""
        waits = ((_LEFT, self.upper), (_RIGHT, self.lower))
        ends = [
            sides[side][0].time + wait
            for sides in state.values()
            for side, wait in waits
            if self._emits_unmatched(side) and sides[side]
        ]
        return min(ends, default=None)


class SideElement(NamedTuple):
    """An element of one side of a window."""

    side: int
    row_order: bytes
    key: Any
    value: Any


Sides = tuple[list[SideElement], list[SideElement]]
"""The elements of a window, by side."""


@dataclass(frozen=True)
class Pairing:
    """The elements of both sides of a window, which are joined when the window is complete."""

    clock: Type
    bounds: bool
    stamps: bool
    origin: Origin
    key: Type = ANY
    left: Type = ANY
    right: Type = ANY
    """The types of the elements of each side."""

    @property
    def of_elements(self) -> Form:
        forms = [(None, None, form_of(self.key), form_of(side)) for side in (self.left, self.right)]
        sides = [of_parts(parts) or Form(tuple, PLAIN.load) for parts in forms]
        return Form(
            lambda item: sides[item.side].store(item), lambda stored: SideElement(*sides[stored[0]].load(stored))
        )

    @property
    def of_held(self) -> Form | None:
        return of_parts([each(self.of_elements), each(self.of_elements)])

    def first(self, value: SideElement) -> Sides:
        return self.add(([], []), value)

    def add(self, held: Sides, value: SideElement) -> Sides:
        held[value.side].append(value)
        return held

    def give(self, start: int, end: int, row_order: bytes, held: Sides, emit: Emitter) -> None:
        """Emits the pairs of a window. With the same window end, they are in the order of left, then right elements."""
        lefts, rights = held
        for one in lefts:
            for other in rights:
                value: Any = (one.value, other.value)
                if self.bounds:
                    value = Windowed(from_ticks(start, self.clock), from_ticks(end, self.clock), value)
                emit.key, emit.at_end = one.key, moment_bytes(end) + one.row_order + other.row_order
                emit(AT_END, value, end if self.stamps else None)


@dataclass(frozen=True)
class JoinBucket(WindowBucket):
    """Runs a machine with the elements of two sides."""

    def element(self, key: Any, value: Any) -> Any:
        """The pair that an outer join emits for an element without a partner."""
        _, left, right = value
        return super().element(key, (left, right))


@dataclass(frozen=True)
class WindowJoinBucket(JoinBucket):
    """Runs windows with the elements of two sides."""

    def given(self, keys: Sequence[Any], values: Sequence[Any], row_orders: Sequence[Any]) -> Sequence[Any]:
        return [
            SideElement(side, row_order, key, right if side == _RIGHT else left)
            for key, (side, left, right), row_order in zip(keys, values, row_orders, strict=True)
        ]
