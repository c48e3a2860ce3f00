"""Joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from morisot.api.adapters import of_sides
from morisot.api.base import T, check_callable
from morisot.api.companions import companion
from morisot.api.joins.builder import JoinBuilder
from morisot.api.joins.checks import check_keys, joined_type
from morisot.api.joins.interval import interval_join, join_within
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyingMethods
from morisot.errors import PlanError
from morisot.plan.nodes.join import Join, Local, Ship, Variant
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed
from morisot.types.moments import Duration

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W")
R = TypeVar("R")


class _Joins(KeyingMethods[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _joined(
        self, sides: tuple[Node, Node], variant: Variant, function: Callable[..., Any] | None, **limits: Any
    ) -> KeyedStream[Any, Any]:
        """The pairs of each key, or the results of a function of (left, right)."""
        operator = {"inner": "join", "left": "left_join", "outer": "outer_join"}[variant]
        if function is not None:
            advice = f"{operator}(…, function) calls function(left, right)"
            check_callable(function, operator, 2, caller(), "left and right", advice=advice)
        pairs = self._join(sides, operator, variant, **limits)
        if function is None:
            return pairs
        return self._context.keyed(pairs._map(of_sides(function), None, "raise", operator))

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
            return self._context.keyed(join_within(sides, operator, variant, within, late))
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


class JoinMethods(_Joins[T]):
    """Joins of plain streams."""

    @overload
    def join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T, U]]: ...
    @overload
    def join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[[T, U], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """Each element with each element of the other stream that has an equal key: (key, (left, right)).

        With `function`, the results of `function(left, right)` instead of the pairs. With `within`, only pairs of at
        most that time distance.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> people, cities = ctx.stream_iter([("ann", "Rome"), ("bob", "Oslo")]), ctx.stream_iter(["Rome", "Bern"])
        >>> people.join(cities, lambda person: person[1], lambda city: city).collect()
        [('Rome', (('ann', 'Rome'), 'Rome'))]
        >>> people.join(cities, lambda person: person[1], str, lambda person, city: person[0]).collect()
        [('Rome', 'ann')]
        """
        sides = self._keyed_sides(other, key, other_key, "join")
        return self._joined(sides, "inner", function, within=within, late=late)

    @overload
    def left_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T, U | None]]: ...
    @overload
    def left_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[[T, U | None], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def left_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """A join that also emits left elements without a partner, with None as right side.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2]).left_join(ctx.stream_iter([20, 21]), lambda n: n, lambda n: n // 10).collect()
        [(1, (1, None)), (2, (2, 20)), (2, (2, 21))]
        """
        sides = self._keyed_sides(other, key, other_key, "left_join")
        return self._joined(sides, "left", function, within=within, late=late)

    @overload
    def outer_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[T | None, U | None]]: ...
    @overload
    def outer_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[[T | None, U | None], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def outer_join(
        self,
        other: Stream[U],
        key: Callable[[T], K],
        other_key: Callable[[U], K],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[T | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """A join that also emits elements of both sides without a partner, with None as the other side.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2]).outer_join(ctx.stream_iter([2, 3]), lambda n: n, lambda n: n).collect()
        [(1, (1, None)), (2, (2, 2)), (3, (None, 3))]
        """
        sides = self._keyed_sides(other, key, other_key, "outer_join")
        return self._joined(sides, "outer", function, within=within, late=late)

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
        return self._context.plain(interval_join(self, other, lower, upper, late))


class KeyedJoinMethods(_Joins[Any], Generic[K, V]):
    """Joins of keyed streams, by their keys."""

    @overload
    def join(
        self,
        other: KeyedStream[K, W],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, W]]: ...
    @overload
    def join(
        self,
        other: KeyedStream[K, W],
        function: Callable[[V, W], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def join(
        self,
        other: KeyedStream[K, W],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """Each value with each value of the other stream that has an equal key.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> words = ctx.stream_iter(["ab", "c"]).key_by(len)
        >>> words.join(ctx.stream_iter([1, 2]).key_by(lambda n: n)).collect()
        [(2, ('ab', 2)), (1, ('c', 1))]
        """
        sides = (self._node, companion(self, other, "join"))
        return self._joined(sides, "inner", function, within=within, late=late)

    @overload
    def left_join(
        self,
        other: KeyedStream[K, W],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, W | None]]: ...
    @overload
    def left_join(
        self,
        other: KeyedStream[K, W],
        function: Callable[[V, W | None], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def left_join(
        self,
        other: KeyedStream[K, W],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """A join that also emits left values without a partner, with None as right side."""
        sides = (self._node, companion(self, other, "left_join"))
        return self._joined(sides, "left", function, within=within, late=late)

    @overload
    def outer_join(
        self,
        other: KeyedStream[K, W],
        function: None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V | None, W | None]]: ...
    @overload
    def outer_join(
        self,
        other: KeyedStream[K, W],
        function: Callable[[V | None, W | None], R],
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, R]: ...
    def outer_join(
        self,
        other: KeyedStream[K, W],
        function: Callable[..., Any] | None = None,
        *,
        within: Duration | None = None,
        late: Callable[[K, tuple[V | None, W | None]], Any] | None = None,
    ) -> KeyedStream[K, Any]:
        """A join that also emits values of both sides without a partner, with None as the other side."""
        sides = (self._node, companion(self, other, "outer_join"))
        return self._joined(sides, "outer", function, within=within, late=late)

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
        return self._context.keyed(interval_join(self, other, lower, upper, late))
