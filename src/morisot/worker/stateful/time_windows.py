"""Windows of time on unbounded input: what is held of each window, until it is complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from morisot.types.element import ANY, Type
from morisot.types.moments import from_ticks
from morisot.types.windows import Windowed
from morisot.worker.aggregate.accumulators import Accumulates, form_in_windows
from morisot.worker.codec.stored import (
    PLAIN,
    Form,
    Layout,
    each,
    form_of,
    form_of_identities,
    of_items,
    of_list,
    of_parts,
    of_values,
)
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import AT_END, Emit
from morisot.worker.stateful.timers import Rows, moment_bytes
from morisot.worker.stateful.windows import results_of


class Holding(Protocol):
    """What is held of a window's elements, and how it becomes results."""

    @property
    def origin(self) -> Origin: ...

    @property
    def of_elements(self) -> Form | None:
        """How elements are stored."""

    @property
    def of_held(self) -> Form | None:
        """How what is held of a window is stored."""

    def first(self, value: Any) -> Any:
        """What is held of a window with one element."""

    def add(self, held: Any, value: Any) -> Any:
        """What is held after one more element."""

    def give(self, start: int, end: int, place: bytes, held: Any, emit: Emit) -> None:
        """Give the results of a window; `place` is that of its first element."""


@dataclass(frozen=True)
class Measuring:
    """What is computed of a window's elements, and how its result is given."""

    measures: tuple[Accumulates, ...]
    row: Callable[..., Any] | None
    """What puts several measures together; None if there is one."""
    clock: Type
    """What the bounds of windows are."""
    bounds: bool
    """Whether results come with them."""
    stamps: bool
    """Whether results have the window's end as timestamp."""
    origin: Origin
    element: Type = ANY

    @property
    def of_elements(self) -> Form | None:
        return form_of(self.element)

    @property
    def of_held(self) -> Form | None:
        return form_in_windows(self.measures)

    def first(self, value: Any) -> list[Any]:
        return [measure.first(value) for measure in self.measures]

    def add(self, parts: list[Any], value: Any) -> list[Any]:
        return [measure.add(part, value) for measure, part in zip(self.measures, parts, strict=True)]

    def give(self, start: int, end: int, place: bytes, parts: list[Any], emit: Emit) -> None:
        """Give the result of a window; those with the same end are in the order of their first elements."""
        value = results_of(self.measures, parts, self.row, self.origin)
        if self.bounds:
            value = Windowed(from_ticks(start, self.clock), from_ticks(end, self.clock), value)
        emit.at_end = moment_bytes(end) + place
        emit(AT_END, value, end if self.stamps else None)


@dataclass(frozen=True)
class Sliding:
    """Stretches of `size`, one beginning at every multiple of `slide` plus `offset`.

    The state has, for each beginning and each key, the key, the place of the first element and what is held; so the
    windows that end together are found together, and a key without open windows is not there.
    """

    size: int
    slide: int
    offset: int
    measuring: Holding
    key: Type = ANY

    @property
    def layout(self) -> Layout:
        held = of_list([form_of(self.key), None, self.measuring.of_held])
        return Layout("time windows", 1, of_values(of_items(form_of_identities(self.key), held)))

    def start(self) -> Any:
        return {}

    def take(self, state: Any, rows: Rows, closed: int | None, emit: Emit) -> list[int]:
        size, slide, offset, add = self.size, self.slide, self.offset, self.measuring.add
        first_open = None if closed is None else closed + 2 - size
        late: list[int] = []
        for number, time in enumerate(rows.times):
            start = time - (time - offset) % slide
            if start <= time - size:
                continue  # it is in the gap between two windows
            if first_open is not None and start < first_open:
                late.append(number)
                continue
            value, same = rows.values[number], rows.identities[number]
            last = time - size if first_open is None else max(time - size, first_open - 1)
            try:
                while start > last:
                    window = state.get(start)
                    if window is None:
                        window = state[start] = {}
                    held = window.get(same)
                    if held is None:
                        window[same] = [rows.keys[number], rows.places[number], self.measuring.first(value)]
                    else:
                        held[2] = add(held[2], value)
                    start -= slide
            except Exception as error:
                raise self.measuring.origin.failed(value, error) from error
        return late

    def close(self, state: Any, mark: int, emit: Emit) -> None:
        for start in sorted(start for start in state if start + self.size - 1 <= mark):
            for key, place, parts in state.pop(start).values():
                emit.key = key
                self.measuring.give(start, start + self.size, place, parts, emit)

    def deadline(self, state: Any) -> int | None:
        return min(state) + self.size - 1 if state else None


class Session:
    """Elements that belong together: they are held, because two sessions may turn out to be one."""

    __slots__ = ("first", "items", "key", "last", "place")

    def __init__(self, key: Any, place: bytes, time: int, item: tuple[int, Any]) -> None:
        self.key = key
        self.place = place
        self.first = time
        self.last = time
        self.items = [item]

    def stored(self, key: Form, items: Form) -> tuple[Any, ...]:
        return key.store(self.key), self.place, self.first, self.last, items.store(self.items)

    @classmethod
    def loaded(cls, stored: tuple[Any, ...], key: Form, items: Form) -> Session:
        of_key, place, first, last, content = stored
        session = cls(key.load(of_key), place, first, (0, None))
        session.last, session.items = last, items.load(content)
        return session

    def absorb(self, other: Session) -> None:
        """Take the elements of a later session, in the stream's order."""
        if other.items[0][0] < self.items[0][0]:
            self.key, self.place = other.key, other.place
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        in_order = self.items[-1][0] < other.items[0][0]
        self.items += other.items
        if not in_order:
            self.items.sort(key=lambda item: item[0])


@dataclass(frozen=True)
class Sessions:
    """Elements of which each comes at most `gap` after the one before it.

    The state is how many elements came, and the open sessions of each key in the order of time.
    """

    gap: int
    measuring: Holding
    key: Type = ANY

    @property
    def layout(self) -> Layout:
        key, items = form_of(self.key) or PLAIN, each(of_parts([None, self.measuring.of_elements])) or PLAIN
        session = Form(lambda session: session.stored(key, items), lambda stored: Session.loaded(stored, key, items))
        return Layout("sessions", 1, of_list([None, of_items(form_of_identities(self.key), each(session))]))

    def start(self) -> Any:
        return [0, {}]

    def take(self, state: Any, rows: Rows, closed: int | None, emit: Emit) -> list[int]:
        count, sessions = state
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time + self.gap <= closed:
                late.append(number)
                continue
            session = Session(rows.keys[number], rows.places[number], time, (count + number, rows.values[number]))
            self._insert(sessions.setdefault(rows.identities[number], []), session)
        state[0] = count + len(rows.times)
        return late

    def _insert(self, sessions: list[Session], new: Session) -> None:
        """Put a session among the others of its key; those it touches become one with it."""
        begin = len(sessions)
        while begin and sessions[begin - 1].last >= new.first - self.gap:
            begin -= 1
        end = begin
        while end < len(sessions) and sessions[end].first <= new.last + self.gap:
            end += 1
        if begin == end:
            sessions.insert(begin, new)
            return
        one, *others = sessions[begin:end]
        for other in others:
            one.absorb(other)
        one.absorb(new)
        sessions[begin:end] = [one]

    def close(self, state: Any, mark: int, emit: Emit) -> None:
        sessions = state[1]
        for same in [same for same, own in sessions.items() if own[0].last + self.gap <= mark]:
            own = sessions[same]
            while own and own[0].last + self.gap <= mark:
                self._give(own.pop(0), emit)
            if not own:
                del sessions[same]

    def _give(self, session: Session, emit: Emit) -> None:
        parts: Any = None
        for index, (_, value) in enumerate(session.items):
            try:
                parts = self.measuring.add(parts, value) if index else self.measuring.first(value)
            except Exception as error:
                raise self.measuring.origin.failed(value, error) from error
        emit.key = session.key
        self.measuring.give(session.first, session.last + self.gap, session.place, parts, emit)

    def deadline(self, state: Any) -> int | None:
        sessions = state[1]
        return min(own[0].last for own in sessions.values()) + self.gap if sessions else None
