"""Joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import T, late_handler
from morisot.api.companions import check_times, companion
from morisot.api.join_builder import JoinBuilder
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyingMethods
from morisot.errors import PlanError
from morisot.plan.nodes.join import IntervalJoin, Join, Local, Ship, Variant
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import NONE, Keyed, Tuple, Type, arguments, may_be_equal, with_value
from morisot.types.moments import Duration, ticks

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W")
LATE_PAIR = "the pair (left, None) or (None, right)"
"""The argument of handlers of late elements of joins."""


class _Joins(KeyingMethods[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _keyed_sides(
        self, other: Any, key: Callable[..., Any], other_key: Callable[..., Any], operator: str
    ) -> tuple[Node, Node]:
        companion(self, other, operator)
        left, right = self._key_by(key, operator), other._key_by(other_key, operator)
        return self._context.keyed(left)._node, self._context.keyed(right)._node

    def _join(
        self,
        sides: tuple[Node, Node],
        operator: str,
        variant: Variant,
        ship: Ship | None = None,
        local: Local | None = None,
        *,
        within: Duration | None = None,
        late: Callable[..., Any] | None = None,
    ) -> KeyedStream[Any, Any]:
        left, right = sides
        assert isinstance(left.type, Keyed)
        assert isinstance(right.type, Keyed)
        if within is not None:
            return self._context.keyed(self._join_within(sides, operator, variant, within, late))
        if late is not None:
            raise PlanError(
                f"{operator} has no timers, so it has no late elements",
                location=caller(),
                advice="limit the time distance of partners (within=…), or remove late=",
            )
        if left.time is not None or right.time is not None:
            raise PlanError(
                f"{operator} would lose the timestamps of its elements: which of the two should a pair have?",
                location=caller(),
                advice="limit the time distance of partners (within=…): a pair then has the later one; or call "
                "drop_timestamps() on both streams",
            )
        check_keys(operator, left.type, right.type)
        type_ = joined_type(left.type, right.type, variant)
        node = Join(left, right, variant, ship, local, type=type_, location=caller(), operator=operator)
        return self._context.keyed(node)

    def _join_within(
        self,
        sides: tuple[Node, Node],
        operator: str,
        variant: Variant,
        within: Duration,
        late: Callable[..., Any] | None,
    ) -> Node:
        left, right = sides
        assert isinstance(left.type, Keyed)
        assert isinstance(right.type, Keyed)
        time = check_timed(f"{operator} with within=", left, right)
        distance = bound(operator, "within", within, time)
        if distance < 0:
            raise PlanError(
                f"{operator}: the time distance of partners cannot be {within!r}",
                location=caller(),
                advice="give the largest time distance of partners; use interval_join(…) for one that must be "
                "before or after the other",
            )
        check_keys(operator, left.type, right.type)
        type_ = joined_type(left.type, right.type, variant)
        handler = late_handler(late, operator, LATE_PAIR, keyed=True)
        return IntervalJoin(
            left, right, distance, distance, variant, handler, type=type_, location=caller(), operator=operator
        )

    def _interval_join(self, other: Any, lower: Duration, upper: Duration, late: Callable[..., Any] | None) -> Node:
        right = companion(self, other, "interval_join")
        time = check_timed("interval_join", self._node, right)
        before, after = (bound("interval_join", *each, time) for each in (("lower", lower), ("upper", upper)))
        if before + after < 0:
            raise PlanError(
                f"interval_join: an interval that ends before it begins is empty (lower={lower!r}, upper={upper!r})",
                location=caller(),
                advice="a right element must be between t - lower and t + upper: lower + upper must not be negative",
            )
        ours, theirs = self.type, right.type
        if isinstance(ours, Keyed) and isinstance(theirs, Keyed):
            check_keys("interval_join", ours, theirs)
        pair = Tuple((arguments(ours)[-1], arguments(theirs)[-1]))
        handler = late_handler(late, "interval_join", LATE_PAIR, keyed=self._node.keyed)
        return IntervalJoin(
            self._node, right, before, after, late=handler, type=with_value(ours, pair), location=caller()
        )


def joined_type(left: Keyed, right: Keyed, variant: Variant) -> Type:
    """The type (key, (left, right)). A side that may be missing may be None. The key is the left one if it exists."""
    ours = infer.unify(left.value, NONE) if variant == "outer" else left.value
    theirs = right.value if variant == "inner" else infer.unify(right.value, NONE)
    key = infer.unify(left.key, right.key) if variant == "outer" else left.key
    return Keyed(key, Tuple((ours, theirs)))


def check_keys(operator: str, left: Keyed, right: Keyed) -> None:
    """Raises an error for keys that are never equal."""
    if not may_be_equal(left.key, right.key):
        raise PlanError(
            f"{operator}: a key of type {left.key} never equals one of type {right.key}",
            location=caller(),
            advice="give both streams keys of one type",
        )


def check_timed(operator: str, left: Node, right: Node) -> Type:
    """The type of the timestamps of both sides. Raises an error for a side without them."""
    if left.time is None or right.time is None:
        raise PlanError(
            f"{operator} needs elements with timestamps on both sides",
            location=caller(),
            advice="call add_timestamps(lambda element: …) on both streams; aggregates and joins end them",
        )
    check_times(operator, left, right)
    return left.time


def bound(operator: str, name: str, duration: Duration, time: Type) -> int:
    """A bound in the unit of the timestamps; it may be negative."""
    try:
        number = ticks(duration, time)
    except ValueError as error:
        raise PlanError(f"{operator}: {name}: {error}", location=caller()) from None
    if abs(number) >= 2**61:
        raise PlanError(f"{operator}: {name}={duration!r} is beyond the range of timestamps", location=caller())
    return number


class JoinMethods(_Joins[T]):
    """Joins of plain streams."""

    def join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T, U]]:
        """Each element with each element of the other stream that has an equal key: (key, (left, right)).

        With `within`, only pairs of at most that time distance.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> people, cities = ctx.stream_iter([("ann", "Rome"), ("bob", "Oslo")]), ctx.stream_iter(["Rome", "Bern"])
        >>> people.join(cities, lambda person: person[1], lambda city: city).collect()
        [('Rome', (('ann', 'Rome'), 'Rome'))]
        """
        sides = self._keyed_sides(other, key, other_key, "join")
        return self._join(sides, "join", "inner", within=within, late=late)

    def left_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T, U | None]]:
        """A join that also emits left elements without a partner, with None as right side.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2]).left_join(ctx.stream_iter([20, 21]), lambda n: n, lambda n: n // 10).collect()
        [(1, (1, None)), (2, (2, 20)), (2, (2, 21))]
        """
        sides = self._keyed_sides(other, key, other_key, "left_join")
        return self._join(sides, "left_join", "left", within=within, late=late)

    def outer_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T | None, U | None]]:
        """A join that also emits elements of both sides without a partner, with None as the other side.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2]).outer_join(ctx.stream_iter([2, 3]), lambda n: n, lambda n: n).collect()
        [(1, (1, None)), (2, (2, 2)), (3, (None, 3))]
        """
        sides = self._keyed_sides(other, key, other_key, "outer_join")
        return self._join(sides, "outer_join", "outer", within=within, late=late)

    def join_with(self, other: Stream[U], key: Callable[[T], K], other_key: Callable[[U], K]) -> JoinBuilder[K, T, U]:
        """A join with a chosen strategy: `.ship_…().local_…()`, then `.inner()`, `.left()` or `.outer()`.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> join = ctx.stream_iter([1, 2]).join_with(ctx.stream_iter([2, 3]), lambda n: n, lambda n: n)
        >>> join.ship_broadcast_right().local_hash().inner().collect()
        [(2, (2, 2))]
        """
        sides = self._keyed_sides(other, key, other_key, "join_with")
        return JoinBuilder(lambda variant, ship, local: self._join(sides, "join_with", variant, ship, local))

    def interval_join(
        self,
        other: Stream[U],
        lower: Duration,
        upper: Duration,
        *,
        late: Callable[[tuple[T | None, U | None]], Any] | None = None,
    ) -> Stream[tuple[T, U]]:
        """Each element with those of the other stream from `lower` before its timestamp to `upper` after it.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> left = ctx.stream_iter([10, 20]).add_timestamps(lambda n: n)
        >>> left.interval_join(ctx.stream_iter([8, 13, 19]).add_timestamps(lambda n: n), lower=2, upper=3).collect()
        [(10, 8), (10, 13), (20, 19)]
        """
        return self._context.plain(self._interval_join(other, lower, upper, late))


class KeyedJoinMethods(_Joins[Any], Generic[K, V]):
    """Joins of keyed streams, by their keys."""

    def join(
        self,
        other: KeyedStream[K, W],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, W]]:
        """Each value with each value of the other stream that has an equal key.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> words = ctx.stream_iter(["ab", "c"]).key_by(len)
        >>> words.join(ctx.stream_iter([1, 2]).key_by(lambda n: n)).collect()
        [(2, ('ab', 2)), (1, ('c', 1))]
        """
        return self._join((self._node, companion(self, other, "join")), "join", "inner", within=within, late=late)

    def left_join(
        self,
        other: KeyedStream[K, W],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, W | None]]:
        """A join that also emits left values without a partner, with None as right side."""
        return self._join(
            (self._node, companion(self, other, "left_join")), "left_join", "left", within=within, late=late
        )

    def outer_join(
        self,
        other: KeyedStream[K, W],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V | None, W | None]]:
        """A join that also emits values of both sides without a partner, with None as the other side."""
        return self._join(
            (self._node, companion(self, other, "outer_join")), "outer_join", "outer", within=within, late=late
        )

    def join_with(self, other: KeyedStream[K, W]) -> JoinBuilder[K, V, W]:
        """A join with a chosen strategy: `.ship_…().local_…()`, then `.inner()`, `.left()` or `.outer()`."""
        sides = (self._node, companion(self, other, "join_with"))
        return JoinBuilder(lambda variant, ship, local: self._join(sides, "join_with", variant, ship, local))

    def interval_join(
        self,
        other: KeyedStream[K, W],
        lower: Duration,
        upper: Duration,
        *,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, W]]:
        """Each value with those of its key from `lower` before its timestamp to `upper` after it."""
        return self._context.keyed(self._interval_join(other, lower, upper, late))
