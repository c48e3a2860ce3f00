"""Aggregates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import OnError, StreamBase, T
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyedMethods
from morisot.compile.choose import verdict_of
from morisot.plan.nodes.aggregate import (
    Avg,
    Count,
    Fold,
    FoldAssoc,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
    Sum,
    WithAggregate,
)
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import ANY, BOOL, FLOAT, INT, NONE, Tuple, Type, arguments, with_value

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class _Aggregates(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    @property
    def _element(self) -> Type:
        return self._arguments[-1]

    def _count(self, operator: str = "count") -> Node:
        return Count(self._node, type=with_value(self.type, INT), location=caller(), operator=operator)

    def _valued(
        self,
        node: type[Sum | Avg | MinElement | MaxElement],
        value: Callable[..., Any],
        operator: str,
        on_error: OnError,
    ) -> Node:
        closure, verdict = self._rowwise(value, operator, (self._element,))
        result = self._element if issubclass(node, MinElement | MaxElement) else numeric_result(node, verdict.type)
        type_, policy = with_value(self.type, result), self._policy(on_error, operator)
        return node(self._node, closure, type=type_, location=closure.location, operator=operator, on_error=policy)

    def _reduce_assoc(self, function: Callable[..., Any], operator: str = "reduce_assoc") -> Node:
        element = self._element
        closure, verdict = self._compiled(function, operator, (element, element))
        type_ = with_value(self.type, infer.reduced(element, verdict.type))
        return ReduceAssoc(self._node, closure, type=type_, location=closure.location, operator=operator)

    def _fold_assoc(
        self,
        init: Any,
        local: Callable[..., Any],
        combine: Callable[..., Any],
        on_error: OnError,
        operator: str = "fold_assoc",
        returns: Any = None,
    ) -> Node:
        start = self._start(init, local, returns, operator)
        local_closure = self._closure(local, operator, 2, returns)
        combine_closure = self._closure(combine, operator, 2, returns)
        keeps_type = (
            start not in (ANY, NONE)
            and start
            == (verdict_of(local_closure, (start, self._element)).type)
            == verdict_of(combine_closure, (start, start)).type
        )
        type_ = with_value(self.type, start if keeps_type else ANY)
        return FoldAssoc(
            self._node,
            init,
            local_closure,
            combine_closure,
            type=type_,
            location=caller(),
            operator=operator,
            on_error=self._policy(on_error, operator),
        )

    def _fold(
        self, init: Any, function: Callable[..., Any], on_error: OnError, operator: str = "fold", returns: Any = None
    ) -> Node:
        start = self._start(init, function, returns, operator)
        closure, verdict = self._compiled(function, operator, (start, self._element), returns)
        keeps_type = start not in (ANY, NONE) and verdict.type == start
        type_ = with_value(self.type, start if keeps_type else ANY)
        policy = self._policy(on_error, operator)
        return Fold(
            self._node, init, closure, type=type_, location=closure.location, operator=operator, on_error=policy
        )

    def _reduce(self, function: Callable[..., Any], on_error: OnError, operator: str = "reduce") -> Node:
        element = self._element
        closure, verdict = self._compiled(function, operator, (element, element))
        type_ = with_value(self.type, infer.reduced(element, verdict.type))
        policy = self._policy(on_error, operator)
        return Reduce(self._node, closure, type=type_, location=closure.location, operator=operator, on_error=policy)

    def _with(self, aggregate: Node) -> Node:
        pair = Tuple((self._element, arguments(aggregate.type)[-1]))
        type_ = with_value(self.type, pair)
        return WithAggregate(
            self._node, aggregate, type=type_, location=aggregate.location, operator=aggregate.operator
        )


def numeric_result(node: type[Node], value: Type) -> Type:
    """The type of a sum or mean of values; `object` if they are not known to be numbers. With None it fails."""
    number = infer.without_none(value)
    if number not in (INT, FLOAT, BOOL):
        return ANY
    return FLOAT if node is Avg or number == FLOAT else INT


class AggregateMethods(_Aggregates[T], KeyedMethods[T]):
    """Aggregates of a plain stream, and the shortcuts that group first."""

    def count(self) -> Stream[int]:
        """The number of elements. An empty stream has no result.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter("abc").count().collect()
        [3]
        """
        return self._context.plain(self._count())

    def reduce_assoc(self, function: Callable[[T, T], T]) -> Stream[T]:
        """Combines elements pairwise with an associative function, in parallel.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).reduce_assoc(lambda a, b: a + b).collect()
        [6]
        """
        return self._context.plain(self._reduce_assoc(function))

    def fold_assoc(
        self,
        init: A,
        local: Callable[[A, T], A],
        combine: Callable[[A, A], A],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[A]:
        """Fold each partition from `init` with `local`, then merge the results with `combine`."""
        return self._context.plain(self._fold_assoc(init, local, combine, on_error, returns=returns))

    def fold(
        self, init: A, function: Callable[[A, T], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[A]:
        """The result of a loop `accumulator = function(accumulator, element)` over the stream.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).fold("", lambda s, n: s + str(n)).collect()
        ['123']
        """
        return self._context.plain(self._fold(init, function, on_error, returns=returns))

    def reduce(self, function: Callable[[T, T], T], *, on_error: OnError = "raise") -> Stream[T]:
        """Like fold, from the first element on.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([5, 2, 1]).reduce(lambda a, b: a - b).collect()
        [2]
        """
        return self._context.plain(self._reduce(function, on_error))

    def fold_scan(
        self, init: A, function: Callable[[A, T], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[tuple[T, A]]:
        """Each element with the result of the fold over all of them, which needs a second pass.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).fold_scan(0, lambda a, n: a + n).collect()
        [(1, 3), (2, 3)]
        """
        return self._context.plain(self._with(self._fold(init, function, on_error, "fold_scan", returns)))

    def reduce_scan(self, function: Callable[[T, T], T], *, on_error: OnError = "raise") -> Stream[tuple[T, T]]:
        """Each element with the result of the reduce over all of them, which needs a second pass.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).reduce_scan(lambda a, b: max(a, b)).collect()
        [(1, 2), (2, 2)]
        """
        return self._context.plain(self._with(self._reduce(function, on_error, "reduce_scan")))

    def group_by_count(self, key: Callable[[T], K], *, on_error: OnError = "raise") -> KeyedStream[K, int]:
        """The number of elements of each key.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter("abca").group_by_count(lambda c: c).collect()
        [('a', 2), ('b', 1), ('c', 1)]
        """
        return self._context.keyed(self._grouped(key, "group_by_count", on_error)._count("group_by_count"))

    def group_by_sum(
        self, key: Callable[[T], K], value: Callable[[T], V], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, V]:
        """The sum of `value(element)` for each key."""
        grouped = self._grouped(key, "group_by_sum", on_error)
        return self._context.keyed(grouped._valued(Sum, value, "group_by_sum", on_error))

    def group_by_avg(
        self, key: Callable[[T], K], value: Callable[[T], Any], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, float]:
        """The mean of `value(element)` for each key."""
        grouped = self._grouped(key, "group_by_avg", on_error)
        return self._context.keyed(grouped._valued(Avg, value, "group_by_avg", on_error))

    def group_by_min_element(
        self, key: Callable[[T], K], value: Callable[[T], Any], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, T]:
        """The element with the smallest `value(element)` of each key; of equals the first."""
        grouped = self._grouped(key, "group_by_min_element", on_error)
        return self._context.keyed(grouped._valued(MinElement, value, "group_by_min_element", on_error))

    def group_by_max_element(
        self, key: Callable[[T], K], value: Callable[[T], Any], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, T]:
        """The element with the largest `value(element)` of each key; of equals the first."""
        grouped = self._grouped(key, "group_by_max_element", on_error)
        return self._context.keyed(grouped._valued(MaxElement, value, "group_by_max_element", on_error))

    def group_by_reduce(self, key: Callable[[T], K], function: Callable[[T, T], T]) -> KeyedStream[K, T]:
        """Combines the elements of each key pairwise with an associative function, in parallel."""
        return self._context.keyed(self._grouped(key, "group_by_reduce")._reduce_assoc(function, "group_by_reduce"))

    def group_by_fold(
        self,
        key: Callable[[T], K],
        init: A,
        local: Callable[[A, T], A],
        combine: Callable[[A, A], A],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, A]:
        """Fold the elements of each key from `init`, partition by partition, then merge with `combine`."""
        grouped = self._grouped(key, "group_by_fold", on_error)
        return self._context.keyed(grouped._fold_assoc(init, local, combine, on_error, "group_by_fold", returns))

    def _grouped(self, key: Callable[[T], Any], operator: str, on_error: OnError = "raise") -> KeyedStream[Any, T]:
        return self._context.keyed(self._key_by(key, operator, on_error=on_error))


class KeyedAggregateMethods(_Aggregates[Any], Generic[K, V]):
    """Aggregates of a keyed stream: a result for each key."""

    def count(self) -> KeyedStream[K, int]:
        """The number of elements of each key."""
        return self._context.keyed(self._count())

    def reduce_assoc(self, function: Callable[[V, V], V]) -> KeyedStream[K, V]:
        """Combines the values of each key pairwise with an associative function, in parallel."""
        return self._context.keyed(self._reduce_assoc(function))

    def fold_assoc(
        self,
        init: A,
        local: Callable[[A, V], A],
        combine: Callable[[A, A], A],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, A]:
        """Fold the values of each key from `init`, partition by partition, then merge with `combine`."""
        return self._context.keyed(self._fold_assoc(init, local, combine, on_error, returns=returns))

    def fold(
        self, init: A, function: Callable[[A, V], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, A]:
        """The result of a loop `accumulator = function(accumulator, value)` over the values of each key."""
        return self._context.keyed(self._fold(init, function, on_error, returns=returns))

    def reduce(self, function: Callable[[V, V], V], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """Like fold, from the first value of each key on."""
        return self._context.keyed(self._reduce(function, on_error))

    def fold_scan(
        self, init: A, function: Callable[[A, V], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, tuple[V, A]]:
        """Each value with the result of the fold over all values of its key, which needs a second pass."""
        return self._context.keyed(self._with(self._fold(init, function, on_error, "fold_scan", returns)))

    def reduce_scan(self, function: Callable[[V, V], V], *, on_error: OnError = "raise") -> KeyedStream[K, tuple[V, V]]:
        """Each value with the result of the reduce over all values of its key, which needs a second pass."""
        return self._context.keyed(self._with(self._reduce(function, on_error, "reduce_scan")))
