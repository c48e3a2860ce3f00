"""Time windows on unbounded input: aggregated or buffered until the watermark completes them."""

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
from morisot.worker.stateful.machine import AT_END, Emitter
from morisot.worker.stateful.timers import TimedRows, moment_bytes
from morisot.worker.stateful.windows import results_of


class Holding(Protocol):
    """How the content of a window is stored, and how its results are emitted."""

    @property
    def origin(self) -> Origin: ...

    @property
    def of_elements(self) -> Form | None:
        """The stored form of elements."""

    @property
    def of_held(self) -> Form | None:
        """The stored form of the content of a window."""

    def first(self, value: Any) -> Any:
        """The content of a window with one element."""

    def add(self, held: Any, value: Any) -> Any:
        """The content after one more element."""

    def give(self, start: int, end: int, row_order: bytes, held: Any, emit: Emitter) -> None:
        """Emits the results of a window. `row_order` is that of its first element."""


@dataclass(frozen=True)
class Measuring:
    """The accumulators of a window, and how its result is emitted."""

    measures: tuple[Accumulates, ...]
    row: Callable[..., Any] | None
    """Combines several measures to one result; None if there is one measure."""
    clock: Type
    """The type of the bounds of windows."""
    bounds: bool
    """Whether results have the bounds."""
    stamps: bool
    """Whether results have the end of the window as timestamp."""
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

    def give(self, start: int, end: int, row_order: bytes, parts: list[Any], emit: Emitter) -> None:
        """Emits the result of a window. Windows with the same end are in the order of their first elements."""
        value = results_of(self.measures, parts, self.row, self.origin)
        if self.bounds:
            value = Windowed(from_ticks(start, self.clock), from_ticks(end, self.clock), value)
        emit.at_end = moment_bytes(end) + row_order
        emit(AT_END, value, end if self.stamps else None)


@dataclass(frozen=True)
class Sliding:
    """Windows of `size`, of which one begins at every multiple of `slide` plus `offset`.

    The state has, for each window start and each key, the key, the row order of the first element and the content. So
    windows with the same end are stored together, and a key without open windows takes no space.
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

    def take(self, state: Any, rows: TimedRows, closed: int | None, emit: Emitter) -> list[int]:
        size, slide, offset, add = self.size, self.slide, self.offset, self.measuring.add
        first_open = None if closed is None else closed + 2 - size
        late: list[int] = []
        for number, time in enumerate(rows.times):
            start = time - (time - offset) % slide
            if start <= time - size:
                continue  # the timestamp is in the gap between two windows
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
                        window[same] = [rows.keys[number], rows.row_orders[number], self.measuring.first(value)]
                    else:
                        held[2] = add(held[2], value)
                    start -= slide
            except Exception as error:
                raise self.measuring.origin.failed(value, error) from error
        return late

    def close(self, state: Any, watermark: int, emit: Emitter) -> None:
        for start in sorted(start for start in state if start + self.size - 1 <= watermark):
            for key, row_order, parts in state.pop(start).values():
                emit.key = key
                self.measuring.give(start, start + self.size, row_order, parts, emit)

    def deadline(self, state: Any) -> int | None:
        return min(state) + self.size - 1 if state else None


class Session:
    """The elements of a session window. They are buffered, because a later element may merge two sessions."""

    __slots__ = ("first", "items", "key", "last", "row_order")

    def __init__(self, key: Any, row_order: bytes, time: int, item: tuple[int, Any]) -> None:
        self.key = key
        self.row_order = row_order
        self.first = time
        self.last = time
        self.items = [item]

    def stored(self, key: Form, items: Form) -> tuple[Any, ...]:
        return key.store(self.key), self.row_order, self.first, self.last, items.store(self.items)

    @classmethod
    def loaded(cls, stored: tuple[Any, ...], key: Form, items: Form) -> Session:
        of_key, row_order, first, last, content = stored
        session = cls(key.load(of_key), row_order, first, (0, None))
        session.last, session.items = last, items.load(content)
        return session

    def absorb(self, other: Session) -> None:
        """Adds the elements of a later session, in row order."""
        if other.items[0][0] < self.items[0][0]:
            self.key, self.row_order = other.key, other.row_order
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        in_order = self.items[-1][0] < other.items[0][0]
        self.items += other.items
        if not in_order:
            self.items.sort(key=lambda item: item[0])


@dataclass(frozen=True)
class Sessions:
    """Session windows: each element is at most `gap` after the one before it.

    The state is the number of elements, and the open sessions of each key in the order of time.
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

    def take(self, state: Any, rows: TimedRows, closed: int | None, emit: Emitter) -> list[int]:
        count, sessions = state
        late: list[int] = []
        for number, time in enumerate(rows.times):
            if closed is not None and time + self.gap <= closed:
                late.append(number)
                continue
            session = Session(rows.keys[number], rows.row_orders[number], time, (count + number, rows.values[number]))
            self._insert(sessions.setdefault(rows.identities[number], []), session)
        state[0] = count + len(rows.times)
        return late

    def _insert(self, sessions: list[Session], new: Session) -> None:
        """Inserts a session among the others of its key, and merges it with those that it overlaps."""
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

    def close(self, state: Any, watermark: int, emit: Emitter) -> None:
        sessions = state[1]
        for same in [same for same, own in sessions.items() if own[0].last + self.gap <= watermark]:
            own = sessions[same]
            while own and own[0].last + self.gap <= watermark:
                self._emit(own.pop(0), emit)
            if not own:
                del sessions[same]

    def _emit(self, session: Session, emit: Emitter) -> None:
        parts: Any = None
        for index, (_, value) in enumerate(session.items):
            try:
                parts = self.measuring.add(parts, value) if index else self.measuring.first(value)
            except Exception as error:
                raise self.measuring.origin.failed(value, error) from error
        emit.key = session.key
        self.measuring.give(session.first, session.last + self.gap, session.row_order, parts, emit)

    def deadline(self, state: Any) -> int | None:
        sessions = state[1]
        return min(own[0].last for own in sessions.values()) + self.gap if sessions else None
