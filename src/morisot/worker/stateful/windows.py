"""Windows in row order: windowers assign elements to windows, and accumulators aggregate the elements of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from morisot.types.element import Type
from morisot.types.moments import from_ticks, to_ticks
from morisot.types.windows import Assigned, CustomWindow, Tx, Windowed
from morisot.worker.aggregate.accumulators import Accumulates, form_in_windows
from morisot.worker.codec.stored import PLAIN, Form, Layout
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import AT_END, NOT_STARTED, Emitter


class Windower(Protocol):
    """Assigns each element of a key, in row order, to windows, and determines which windows it completes."""

    def start(self) -> Any:
        """The state before the first element."""

    def assign(self, state: Any, value: Any, time: int | None, position: int) -> Assigned:
        """The state after one more element, and the windows of the element."""

    def end(self, state: Any, held: Iterable[Hashable]) -> Iterable[Hashable]:
        """The windows that are complete, of those that are open when the stream ends."""


@dataclass(frozen=True)
class Counted:
    """Windows of a number of elements, named by consecutive numbers."""

    size: int
    slide: int
    exact: bool

    def start(self) -> Any:
        return None

    def assign(self, state: Any, value: Any, time: int | None, position: int) -> Assigned:
        newest = position // self.slide
        oldest = max(0, (position - self.size) // self.slide + 1)
        last = position - self.size + 1
        close = (oldest,) if last >= 0 and last % self.slide == 0 else ()
        return Assigned(state, range(oldest, newest + 1), close)

    def end(self, state: Any, held: Iterable[Hashable]) -> Iterable[Hashable]:
        return () if self.exact else itertools.islice(held, 1)


@dataclass(frozen=True)
class Everything:
    """One window of all elements, complete at the end."""

    def start(self) -> Any:
        return None

    def assign(self, state: Any, value: Any, time: int | None, position: int) -> Assigned:
        return _IN_THE_ONE

    def end(self, state: Any, held: Iterable[Hashable]) -> Iterable[Hashable]:
        return held


_IN_THE_ONE = Assigned(None, (0,))


@dataclass(frozen=True)
class LastFew:
    """A window for each element, which completes it. The element is in the next k - 1 windows, too."""

    k: int

    def start(self) -> Any:
        return None

    def assign(self, state: Any, value: Any, time: int | None, position: int) -> Assigned:
        return Assigned(state, range(position, position + self.k), (position,))

    def end(self, state: Any, held: Iterable[Hashable]) -> Iterable[Hashable]:
        return ()


Transaction = tuple[int, int | None]
"""The open transaction: its number, and the time after which it is complete, if it has one."""


@dataclass(frozen=True)
class Transactions:
    """Windows that a user's function commits or discards."""

    function: Callable[[Any], Any]
    time: Type | None

    def start(self) -> Any:
        return 0, None

    def assign(self, state: Transaction, value: Any, time: int | None, position: int) -> Assigned:
        close: tuple[int, ...] = ()
        number, until = state
        if until is not None and time is not None and time > until:
            close, number, until = (number,), number + 1, None
        verdict = self.function(value)
        if not isinstance(verdict, Tx):
            raise TypeError(f"the function of a transaction window must return a Tx, not {verdict!r}")
        match verdict.action:
            case "commit":
                return Assigned((number + 1, None), (number,), (*close, number))
            case "discard":
                return Assigned((number + 1, None), (number,), close, (number,))
            case "commit_after":
                until = self._ticks(verdict.after)
        return Assigned((number, until), (number,), close)

    def _ticks(self, after: Any) -> int:
        if self.time is None:
            raise ValueError("Tx.commit_after needs a stream with timestamps: call add_timestamps first")
        return to_ticks(after, self.time)

    def end(self, state: Transaction, held: Iterable[Hashable]) -> Iterable[Hashable]:
        _, until = state
        return () if until is None else held


@dataclass(frozen=True)
class Own:
    """Windows of a user's windower."""

    window: CustomWindow[Any, Any]
    time: Type | None

    def start(self) -> Any:
        return self.window.start()

    def assign(self, state: Any, value: Any, time: int | None, position: int) -> Assigned:
        moment = None if time is None or self.time is None else from_ticks(time, self.time)
        return Assigned(*self.window.assign(state, value, moment))

    def end(self, state: Any, held: Iterable[Hashable]) -> Iterable[Hashable]:
        return self.window.end(state)


class OpenWindow:
    """An open window: the values of its measures, and its elements' positions and newest timestamp."""

    __slots__ = ("end", "newest", "parts", "start")

    def __init__(self, parts: list[Any], start: int) -> None:
        self.parts = parts
        self.start = start
        self.end = start
        self.newest: int | None = None

    def stored(self, parts: Form) -> tuple[Any, ...]:
        return self.start, self.end, self.newest, parts.store(self.parts)

    @classmethod
    def loaded(cls, stored: tuple[Any, ...], parts: Form) -> OpenWindow:
        start, end, newest, held = stored
        window = cls(parts.load(held), start)
        window.end, window.newest = end, newest
        return window


class KeyWindows:
    """The state of one key: the windower's state, the number of elements, and the open windows in opening order.

    The key, and the row order of its first element, are stored if the end of the stream may complete windows.
    """

    __slots__ = ("count", "first", "key", "of_windower", "open")

    def __init__(self, of_windower: Any) -> None:
        self.of_windower = of_windower
        self.count = 0
        self.key: Any = NOT_STARTED
        self.first = b""
        self.open: dict[Hashable, OpenWindow] = {}

    def stored(self, parts: Form) -> tuple[Any, ...]:
        windows = {name: held.stored(parts) for name, held in self.open.items()}
        return (self.of_windower, self.count, windows, *(() if self.key is NOT_STARTED else (self.key, self.first)))

    @classmethod
    def loaded(cls, stored: tuple[Any, ...], parts: Form) -> KeyWindows:
        of_windower, count, windows, *known = stored
        state = cls(of_windower)
        state.count = count
        state.key, state.first = known or (NOT_STARTED, b"")
        state.open = {name: OpenWindow.loaded(each, parts) for name, each in windows.items()}
        return state


@dataclass(frozen=True)
class Windows:
    """The machine: computes the measures of each window, and emits them when the window is complete."""

    windower: Windower
    measures: tuple[Accumulates, ...]
    row: Callable[..., Any] | None
    """Combines several measures to one result; None if there is one measure."""
    bounds: bool
    """Whether results have the positions of the window's elements."""
    stamps: bool
    """Whether results have the timestamp of the window's newest element."""
    origin: Origin
    keeps_keys: bool = False
    """Whether states have their keys, because the end of the stream may complete windows."""

    @property
    def layout(self) -> Layout:
        parts = form_in_windows(self.measures) or PLAIN
        return Layout(
            "windows", 1, Form(lambda state: state.stored(parts), lambda saved: KeyWindows.loaded(saved, parts))
        )

    def start(self) -> Any:
        try:
            return KeyWindows(self.windower.start())
        except Exception as error:
            raise self.origin.failed(None, error) from error

    def take(
        self, state: KeyWindows, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter
    ) -> Any:
        assign, windows = self.windower.assign, state.open
        if self.keeps_keys:
            state.key = key
        adds = [measure.add for measure in self.measures]
        for index, value in enumerate(values):
            time = times[index] if times else None
            position = state.count
            try:
                state.of_windower, into, close, drop = assign(state.of_windower, value, time, position)
                for name in into:
                    held = windows.get(name)
                    if held is None:
                        held = windows[name] = OpenWindow([measure.first(value) for measure in self.measures], position)
                    else:
                        held.parts = [add(part, value) for add, part in zip(adds, held.parts, strict=True)]
                    held.end = position + 1
                    if time is not None and (held.newest is None or time > held.newest):
                        held.newest = time
            except Exception as error:
                raise self.origin.failed(value, error) from error
            for name in drop:
                windows.pop(name, None)
            for name in close:
                self._emit(windows.pop(name, None), index, emit)
            state.count += 1
        return state

    def end(self, state: KeyWindows, key: Any, emit: Emitter) -> None:
        try:
            names = list(self.windower.end(state.of_windower, state.open))
        except Exception as error:
            raise self.origin.failed(None, error) from error
        for name in names:
            self._emit(state.open.pop(name, None), AT_END, emit)

    def _emit(self, held: OpenWindow | None, index: int, emit: Emitter) -> None:
        if held is None:
            return
        value = results_of(self.measures, held.parts, self.row, self.origin)
        if self.bounds:
            value = Windowed(held.start, held.end, value)
        emit(index, value, held.newest if self.stamps else None)


def results_of(
    measures: Sequence[Accumulates], parts: Sequence[Any], row: Callable[..., Any] | None, origin: Origin
) -> Any:
    """The result of a complete window: that of its measure, or of several measures combined by `row`."""
    results = []
    for measure, part in zip(measures, parts, strict=True):
        try:
            results.append(measure.finish(part))
        except Exception as error:
            raise origin.failed(part, error) from error
    return row(*results) if row else results[0]
