"""Timestamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import OnError, StreamBase, T
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import AddTimestamps, DropTimestamps, Reorder
from morisot.types.element import ANY, DATETIME, INT, NONE, Optional, Type
from morisot.types.moments import Duration, ticks

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")


def _advice(type_: Type) -> str:
    """What to do about timestamps of another type."""
    if isinstance(type_, Optional) and type_.inner in (INT, DATETIME):
        return "drop elements without a timestamp first, for example with filter(lambda r: r.time is not None)"
    if type_ == ANY:
        zoned = "convert a datetime with a time zone: t.astimezone(timezone.utc).replace(tzinfo=None)"
        return f"annotate the function, or pass returns=int or returns=datetime; {zoned}"
    return "return an int or a datetime"


class _Time(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _add_timestamps(
        self,
        timestamp: Callable[..., Any],
        *,
        delay: Duration | None,
        watermark: Callable[..., Any] | None,
        idle: Duration | None,
        returns: Any,
        on_error: OnError,
    ) -> Node:
        closure, verdict = self._rowwise(self._spread(timestamp), "add_timestamps", self._arguments, returns)
        if verdict.type not in (INT, DATETIME):
            raise PlanError(
                f"the timestamps given to add_timestamps have the type {verdict.type}; they must be int, which counts "
                "milliseconds, or datetime without a zone",
                location=closure.location,
                advice=_advice(verdict.type),
            )
        if delay is not None and watermark is not None:
            raise PlanError("add_timestamps takes a delay or a watermark function, not both", location=closure.location)
        asserts = None if watermark is None else self._watermark(watermark, verdict.type)
        allowed = None if delay is None else checked_ticks("the delay", delay, verdict.type, closure.location)
        patience = None if idle is None else checked_ticks("idle", idle, INT, closure.location)
        tried = self._tried(closure, on_error)
        return AddTimestamps(
            tried, closure, asserts, allowed, verdict.type, patience, type=self.type, location=closure.location
        )

    def _watermark(self, function: Callable[..., Any], time: Type) -> Closure:
        """The function that returns a watermark. Raises an error if its result is not a timestamp."""
        closure, verdict = self._compiled(function, "add_timestamps", self._arguments)
        if verdict.type not in (time, Optional(time), NONE, ANY):
            raise PlanError(
                f"the watermark given to add_timestamps has the type {verdict.type}, and the timestamps are {time}",
                location=closure.location,
                advice="return a timestamp of the same type, or None for no new watermark",
            )
        return closure

    def _drop_timestamps(self) -> Node:
        checked_time(self._node, "drop_timestamps")
        return DropTimestamps(self._node, type=self.type, location=caller())

    def _reorder(self, late: Callable[..., Any] | None) -> Node:
        checked_time(self._node, "reorder")
        return Reorder(self._node, self._late(late, "reorder"), type=self.type, location=caller())


def checked_time(node: Node, operator: str) -> Type:
    """The type of the timestamps. Raises an error for a stream without them."""
    if node.time is None:
        raise PlanError(
            f"{operator} needs elements with timestamps, and these have none",
            location=caller(),
            advice="call add_timestamps(lambda element: …) before it; aggregates and joins end timestamps",
        )
    return node.time


def checked_ticks(what: str, duration: Duration, time: Type, location: Any, *, negative: bool = False) -> int:
    """A duration in the unit of the timestamps. Raises an error for other values, and for a forbidden negative one."""
    try:
        number = ticks(duration, time)
    except ValueError as error:
        raise PlanError(f"{what}: {error}", location=location) from None
    if number < 0 and not negative:
        raise PlanError(f"{what} is negative: {duration!r}", location=location)
    return number


class TimeMethods(_Time[T]):
    """Timestamps of a plain stream."""

    def add_timestamps(
        self,
        timestamp: Callable[[T], Any],
        *,
        delay: Duration | None = None,
        watermark: Callable[[T], Any] | None = None,
        idle: Duration | None = None,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[T]:
        """Gives each element the timestamp `timestamp(element)`: an int of milliseconds, or a datetime.

        >>> import morisot as mo
        >>> clicks = mo.StreamContext(engine="reference").stream_iter([(30, "c"), (10, "a"), (20, "b")])
        >>> clicks.add_timestamps(lambda click: click[0]).reorder().map(lambda click: click[1]).collect()
        ['a', 'b', 'c']
        """
        node = self._add_timestamps(
            timestamp, delay=delay, watermark=watermark, idle=idle, returns=returns, on_error=on_error
        )
        return self._context.plain(node)

    def drop_timestamps(self) -> Stream[T]:
        """The elements without their timestamps."""
        return self._context.plain(self._drop_timestamps())

    def reorder(self, *, late: Callable[[T], Any] | None = None) -> Stream[T]:
        """The elements in the order of their timestamps. Elements with equal timestamps stay in stream order.

        On unbounded input they are emitted when the watermark passes them. Late elements are passed to `late`.
        """
        return self._context.plain(self._reorder(late))


class KeyedTimeMethods(_Time[Any], Generic[K, V]):
    """Timestamps of a keyed stream."""

    def add_timestamps(
        self,
        timestamp: Callable[[K, V], Any],
        *,
        delay: Duration | None = None,
        watermark: Callable[[K, V], Any] | None = None,
        idle: Duration | None = None,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, V]:
        """Gives each element the timestamp `timestamp(key, value)`: an int of milliseconds, or a datetime."""
        node = self._add_timestamps(
            timestamp, delay=delay, watermark=watermark, idle=idle, returns=returns, on_error=on_error
        )
        return self._context.keyed(node)

    def drop_timestamps(self) -> KeyedStream[K, V]:
        """The elements without their timestamps."""
        return self._context.keyed(self._drop_timestamps())

    def reorder(self, *, late: Callable[[K, V], Any] | None = None) -> KeyedStream[K, V]:
        """The elements in the order of their timestamps. Elements with equal timestamps stay in stream order.

        On unbounded input they are emitted when the watermark passes them. Late elements are passed to `late`.
        """
        return self._context.keyed(self._reorder(late))
