"""Row-wise operators."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from morisot.api.base import OnError, StreamBase, T
from morisot.api.location import caller
from morisot.compile.nullness.predicates import where_true
from morisot.errors import PlanError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter, FilterMap, FlatMap, Flatten, Inspect, Map, MapAsync, MapMemo
from morisot.types import infer
from morisot.types.element import ANY, NONE, Dict, List, Optional, Type, with_value

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")
L = TypeVar("L")
R = TypeVar("R")

_CONCURRENCY = 64


class _Rowwise(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _map(self, function: Callable[..., Any], returns: Any, on_error: OnError, operator: str = "map") -> Node:
        closure, verdict = self._rowwise(self._spread(function), operator, self._arguments, returns)
        type_, policy = with_value(self.type, carried(verdict.type)), self._policy(on_error, operator)
        return Map(self._node, closure, type=type_, location=closure.location, operator=operator, on_error=policy)

    def _filter(self, predicate: Callable[..., Any], on_error: OnError) -> Node:
        closure, _ = self._compiled(self._spread(predicate), "filter", self._arguments)
        type_, policy = where_true(self.type, closure), self._policy(on_error, "filter")
        return Filter(self._node, closure, type=type_, location=closure.location, on_error=policy)

    def _flat_map(self, function: Callable[..., Any], returns: Any, on_error: OnError) -> Node:
        function = self._spread(function)
        declared = items_declared(function, returns)
        closure, verdict = self._rowwise(function, "flat_map", self._arguments, declared, "items")
        item = verdict.type.item if isinstance(verdict.type, List) else ANY
        type_, policy = with_value(self.type, carried(item)), self._policy(on_error, "flat_map")
        return FlatMap(self._node, closure, type=type_, location=closure.location, on_error=policy)

    def _filter_map(self, function: Callable[..., Any], returns: Any, on_error: OnError) -> Node:
        declared = None if returns is None else Optional(infer.without_none(infer.of_annotation(returns)))
        closure, verdict = self._rowwise(self._spread(function), "filter_map", self._arguments, declared, "optional")
        value = infer.without_none(verdict.type)
        type_, policy = with_value(self.type, carried(value)), self._policy(on_error, "filter_map")
        return FilterMap(self._node, closure, type=type_, location=closure.location, on_error=policy)

    def _flatten(self) -> Node:
        value = self._arguments[-1]
        match value:
            case List(item):
                inner = item
            case _ if value == ANY:
                inner = ANY
            case _:
                raise PlanError(
                    f"flatten needs elements that are lists, not {value}",
                    location=caller(),
                    advice="use flat_map with a function that returns the items",
                )
        return Flatten(self._node, type=with_value(self.type, carried(inner)), location=caller())

    def _inspect(self, function: Callable[..., Any], on_error: OnError) -> Node:
        closure, _ = self._compiled(self._spread(function), "inspect", self._arguments)
        policy = self._policy(on_error, "inspect")
        return Inspect(self._node, closure, type=self.type, location=closure.location, on_error=policy)

    def _map_memo(
        self,
        operator: str,
        function: Callable[..., Any],
        key: Any,
        capacity: int,
        returns: Any,
        on_error: OnError,
    ) -> Node:
        closure, verdict = self._rowwise(self._spread(function), operator, self._arguments, returns)
        if type(capacity) is not int or capacity < 1:
            raise PlanError(f"{operator} cannot cache {capacity!r} results", location=closure.location)
        by_element = operator == "map_memo"
        key_closure = None if by_element else self._closure(self._spread(key), operator, len(self._arguments))
        type_ = with_value(self.type, carried(verdict.type))
        return MapMemo(
            self._node,
            closure,
            key_closure,
            capacity,
            type=type_,
            location=closure.location,
            operator=operator,
            on_error=self._policy(on_error, operator),
        )

    def _map_async(self, function: Callable[..., Any], concurrency: int, returns: Any, on_error: OnError) -> Node:
        closure = self._closure(function, "map_async", len(self._arguments), returns)
        if not inspect.iscoroutinefunction(function):
            raise PlanError(
                "map_async needs a coroutine function",
                location=closure.location,
                advice="write `async def`, or use map",
            )
        value = closure.returns or infer.of_return(function) or ANY
        type_ = with_value(self.type, carried(value))
        policy = self._policy(on_error, "map_async")
        return MapAsync(self._node, closure, concurrency, type=type_, location=closure.location, on_error=policy)


def carried(type_: Type) -> Type:
    """The type of the columns of an element: None alone is stored as `object`."""
    return ANY if type_ == NONE else type_


def items_declared(function: Callable[..., Any], returns: Any) -> Type | None:
    """The type of the items. `returns=` of flat_map is that type, an annotation is the type of the iterable."""
    if returns is not None:
        return List(infer.of_annotation(returns))
    annotation = infer.return_hint(function).get("return")
    item = infer.item_of(annotation)
    return None if item == ANY or isinstance(infer.of_annotation(annotation), Dict) else List(item)


class RowwiseMethods(_Rowwise[T]):
    """Row-wise operators of a plain stream."""

    def map(self, function: Callable[[T], U], *, returns: Any = None, on_error: OnError = "raise") -> Stream[U]:
        """Replaces each element by the result of `function`.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).map(lambda n: n * 10).collect()
        [10, 20]
        """
        return self._context.plain(self._map(function, returns, on_error))

    def filter(self, predicate: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """The elements for which `predicate` is true.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).filter(lambda n: n % 2).collect()
        [1, 3]
        """
        return self._context.plain(self._filter(predicate, on_error))

    def flat_map(
        self, function: Callable[[T], Iterable[U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[U]:
        """Replaces each element by the items of the result of `function`. `returns` is the type of an item.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(["a b", "c"]).flat_map(lambda s: s.split()).collect()
        ['a', 'b', 'c']
        """
        return self._context.plain(self._flat_map(function, returns, on_error))

    def filter_map(
        self, function: Callable[[T], U | None], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[U]:
        """Replaces each element by the result of `function`, and drops it if that is None.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2, 3]).filter_map(lambda n: n * 2 if n != 2 else None).collect()
        [2, 6]
        """
        return self._context.plain(self._filter_map(function, returns, on_error))

    def flatten(self: _Rowwise[list[U]]) -> Stream[U]:
        """Replaces each element by its items.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([[1, 2], [], [3]]).flatten().collect()
        [1, 2, 3]
        """
        return self._context.plain(self._flatten())

    def inspect(self, function: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """Calls `function` on each element for its effect, in the worker. The stream is unchanged."""
        return self._context.plain(self._inspect(function, on_error))

    def map_memo(
        self, function: Callable[[T], U], capacity: int = 1024, *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[U]:
        """Like map, but each worker caches the results of its last `capacity` distinct elements."""
        return self._context.plain(self._map_memo("map_memo", function, None, capacity, returns, on_error))

    def map_memo_by(
        self,
        function: Callable[[T], U],
        key: Callable[[T], Any],
        capacity: int = 1024,
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Like map, but each worker caches the results of its last `capacity` distinct `key(element)`."""
        return self._context.plain(self._map_memo("map_memo_by", function, key, capacity, returns, on_error))

    def map_async(
        self,
        function: Callable[[T], Awaitable[U]],
        *,
        concurrency: int = _CONCURRENCY,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Replaces each element by the result of a coroutine. Up to `concurrency` run at once. Order is preserved."""
        return self._context.plain(self._map_async(function, concurrency, returns, on_error))


class KeyedRowwiseMethods(_Rowwise[Any], Generic[K, V]):
    """Row-wise operators of a keyed stream: functions take (key, value), and keys are unchanged.

    Behind a join a function may take (key, left, right) instead.
    """

    @overload
    def map(
        self, function: Callable[[K, V], U], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]: ...
    @overload
    def map(
        self: KeyedRowwiseMethods[K, tuple[L, R]],
        function: Callable[[K, L, R], U],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]: ...
    def map(
        self, function: Callable[..., Any], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, Any]:
        """Replaces each value by the result of `function(key, value)`.

        >>> import morisot as mo
        >>> keyed = mo.StreamContext(engine="reference").stream_iter([1, 2]).group_by(lambda n: n % 2)
        >>> keyed.map(lambda k, n: k + 10 * n).collect()
        [(1, 11), (0, 20)]
        """
        return self._context.keyed(self._map(function, returns, on_error))

    @overload
    def filter(self, predicate: Callable[[K, V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]: ...
    @overload
    def filter(
        self: KeyedRowwiseMethods[K, tuple[L, R]], predicate: Callable[[K, L, R], Any], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, V]: ...
    def filter(self, predicate: Callable[..., Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """The elements for which `predicate(key, value)` is true."""
        return self._context.keyed(self._filter(predicate, on_error))

    @overload
    def flat_map(
        self, function: Callable[[K, V], Iterable[U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]: ...
    @overload
    def flat_map(
        self: KeyedRowwiseMethods[K, tuple[L, R]],
        function: Callable[[K, L, R], Iterable[U]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]: ...
    def flat_map(
        self, function: Callable[..., Iterable[Any]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, Any]:
        """Replaces each value by the items of the result of `function(key, value)`, all with its key."""
        return self._context.keyed(self._flat_map(function, returns, on_error))

    @overload
    def filter_map(
        self, function: Callable[[K, V], U | None], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]: ...
    @overload
    def filter_map(
        self: KeyedRowwiseMethods[K, tuple[L, R]],
        function: Callable[[K, L, R], U | None],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]: ...
    def filter_map(
        self, function: Callable[..., Any], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, Any]:
        """Replaces each value by the result of `function(key, value)`, and drops the element if that is None."""
        return self._context.keyed(self._filter_map(function, returns, on_error))

    def flatten(self) -> KeyedStream[K, Any]:
        """Replaces each value by its items, all with its key."""
        return self._context.keyed(self._flatten())

    def inspect(self, function: Callable[[K, V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """Calls `function(key, value)` on each element for its effect."""
        return self._context.keyed(self._inspect(function, on_error))

    def map_memo(
        self, function: Callable[[K, V], U], capacity: int = 1024, *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]:
        """Like map, but each worker caches the results of its last `capacity` distinct (key, value)."""
        return self._context.keyed(self._map_memo("map_memo", function, None, capacity, returns, on_error))

    def map_memo_by(
        self,
        function: Callable[[K, V], U],
        key: Callable[[K, V], Any],
        capacity: int = 1024,
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Like map, but each worker caches the results of its last `capacity` distinct `key(key, value)`."""
        return self._context.keyed(self._map_memo("map_memo_by", function, key, capacity, returns, on_error))

    def map_async(
        self,
        function: Callable[[K, V], Awaitable[U]],
        *,
        concurrency: int = _CONCURRENCY,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Replaces each value by the result of a coroutine for (key, value)."""
        return self._context.keyed(self._map_async(function, concurrency, returns, on_error))
