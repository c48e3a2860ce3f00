"""Descriptions of windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

from morisot.api.base import check_callable
from morisot.api.checks.public import public
from morisot.api.location import caller
from morisot.api.methods.time import checked_ticks
from morisot.errors import Location, PlanError
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.closure import Closure
from morisot.types.element import DATETIME, Type
from morisot.types.moments import Duration, microseconds
from morisot.types.windows import Accumulator, Assigned, CustomWindow, Tx, Windowed

__all__ = [
    "Accumulator",
    "AllWindow",
    "Assigned",
    "CountWindow",
    "CustomWindow",
    "EventTimeWindow",
    "LastK",
    "ProcessingTimeWindow",
    "TransactionWindow",
    "Tx",
    "WindowDescription",
    "Windowed",
    "described",
]

T = TypeVar("T")


class WindowDescription(Protocol):
    """Defines which elements form windows, independent of a stream."""

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        """The kind of window on a stream whose timestamps are of the type `time`."""


def described(desc: Any, operator: str, time: Type | None) -> plan.WindowKind:
    """The kind of window of a description on a stream."""
    location = caller()
    if isinstance(desc, CustomWindow):
        return plan.CustomKind(desc, Closure(desc.assign, location, operator))
    if isinstance(desc, type) or not hasattr(desc, "kind"):
        raise PlanError(
            f"{operator} needs a description of windows, not {desc!r}",
            location=location,
            advice="for example CountWindow.tumbling(10), EventTimeWindow.sliding('1m', '10s') or LastK(3)",
        )
    kind: plan.WindowKind = desc.kind(operator, time, location)
    return kind


@public("kind")
@dataclass(frozen=True)
class CountWindow:
    """Windows of a number of elements of a key, in stream order."""

    size: int
    slide: int
    exact: bool = True

    @staticmethod
    def sliding(size: int, slide: int, exact: bool = True) -> CountWindow:
        """`size` elements, with a window beginning at every `slide`-th element. A slide larger than the size has gaps.

        With `exact` every window has `size` elements; otherwise the first incomplete one is emitted at the end.
        """
        return CountWindow(checked_count("the size", size), checked_count("the slide", slide), exact)

    @staticmethod
    def tumbling(size: int, exact: bool = True) -> CountWindow:
        """`size` elements, then the next `size` elements, and so on."""
        return CountWindow(checked_count("the size", size), size, exact)

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        return plan.CountKind(self.size, self.slide, self.exact)


@dataclass(frozen=True)
class _Sliding:
    size: Duration
    slide: Duration
    offset: Duration


@dataclass(frozen=True)
class _TimeWindow:
    """The base class of windows of event time and of processing time."""

    shape: _Sliding | Duration
    """The size and slide, or the gap of sessions."""

    @classmethod
    def tumbling(cls, size: Duration, offset: Duration = 0) -> Self:
        """Consecutive intervals of `size`, aligned to the epoch plus `offset`."""
        return cls(
            _Sliding(checked_duration("the size", size), size, checked_duration("the offset", offset, least=None))
        )

    @classmethod
    def sliding(cls, size: Duration, slide: Duration, offset: Duration = 0) -> Self:
        """Intervals of `size`, of which one begins every `slide`. A slide larger than the size leaves gaps."""
        checked_duration("the offset", offset, least=None)
        return cls(_Sliding(checked_duration("the size", size), checked_duration("the slide", slide), offset))

    @classmethod
    def session(cls, gap: Duration) -> Self:
        """Session windows: each element is at most `gap` after the one before it."""
        return cls(checked_duration("the gap", gap))

    def _kind(self, time: Type, location: Location, processing: bool) -> plan.WindowKind:
        if not isinstance(self.shape, _Sliding):
            return plan.SessionKind(checked_ticks("the gap", self.shape, time, location), processing)
        size = checked_ticks("the size", self.shape.size, time, location)
        slide = checked_ticks("the slide", self.shape.slide, time, location)
        offset = checked_ticks("the offset", self.shape.offset, time, location, negative=True)
        return plan.TimeKind(size, slide, offset % slide, processing)


@public("kind", "shape")
class EventTimeWindow(_TimeWindow):
    """Windows of event time."""

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        if time is None:
            raise PlanError(
                f"{operator} with an event-time window needs elements with timestamps, and these have none",
                location=location,
                advice="call add_timestamps(lambda element: …) before it; aggregates and joins end timestamps",
            )
        return self._kind(time, location, processing=False)


@public("kind", "shape")
class ProcessingTimeWindow(_TimeWindow):
    """Windows of processing time. A bounded job processes all elements at one instant."""

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        return self._kind(DATETIME, location, processing=True)


@public("kind")
@dataclass(frozen=True)
class TransactionWindow(Generic[T]):
    """Elements up to one for which `function` returns `Tx.COMMIT`. `Tx.DISCARD` discards them."""

    function: Callable[[T], Tx]

    def __post_init__(self) -> None:
        check_callable(self.function, "TransactionWindow", 1, caller(), advice="it takes an element, without its key")

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        return plan.TransactionKind(Closure(self.function, location, operator))


@public("kind")
@dataclass(frozen=True)
class AllWindow:
    """One window with all elements, of each key."""

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        return plan.AllKind()


@public("kind")
@dataclass(frozen=True)
class LastK:
    """A window for each element: it and the elements before it, `k` at most."""

    k: int

    def __post_init__(self) -> None:
        checked_count("k", self.k)

    def kind(self, operator: str, time: Type | None, location: Location) -> plan.WindowKind:
        return plan.LastKind(self.k)


def checked_count(what: str, number: Any) -> int:
    """A number of elements. Raises an error for other values."""
    if type(number) is not int or number < 1:
        raise PlanError(
            f"{what} of a window counts elements, so it is an int of at least 1, not {number!r}",
            location=caller(),
            advice="for windows of time use EventTimeWindow" if isinstance(number, str | float) else "",
        )
    return number


def checked_duration(what: str, duration: Any, *, least: int | None = 1) -> Duration:
    """A duration. Raises an error for other values, and for one that is not positive."""
    try:
        length = microseconds(duration)
    except ValueError as error:
        raise PlanError(f"{what} of a window: {error}", location=caller()) from None
    if least is not None and length < least:
        raise PlanError(f"{what} of a window must be positive, not {duration!r}", location=caller())
    return duration  # type: ignore[no-any-return]
