"""Many elements to few."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import StreamBase, T
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyedMethods, check_hashable
from morisot.compile.ladder import decide
from morisot.errors import PlanError
from morisot.plan.aggregate import Avg, Count, FoldAssoc, Limit, MaxElement, MinElement, ReduceAssoc, Sum, Unique
from morisot.plan.node import Node
from morisot.types import infer
from morisot.types.element import ANY, BOOL, FLOAT, INT, NONE, Type, with_value

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
A = TypeVar("A")


class _Aggregates(StreamBase[T]):
    """How the nodes are made, for plain and keyed streams alike."""

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
    ) -> Node:
        closure, verdict = self._compiled(value, operator, (self._element,))
        result = self._element if issubclass(node, MinElement | MaxElement) else numeric_result(node, verdict.type)
        type_ = with_value(self.type, result)
        return node(self._node, closure, type=type_, location=closure.location, operator=operator)

    def _reduce_assoc(self, function: Callable[..., Any], operator: str = "reduce_assoc") -> Node:
        element = self._element
        closure, verdict = self._compiled(function, operator, (element, element))
        result = element if verdict.type == element else ANY
        type_ = with_value(self.type, result)
        return ReduceAssoc(self._node, closure, type=type_, location=closure.location, operator=operator)

    def _fold_assoc(
        self, init: Any, local: Callable[..., Any], combine: Callable[..., Any], operator: str = "fold_assoc"
    ) -> Node:
        start = infer.of_value(init)
        local_closure = self._closure(local, operator, 2)
        combine_closure = self._closure(combine, operator, 2)
        keeps_type = (
            start not in (ANY, NONE)
            and start
            == (decide(local_closure, (start, self._element)).type)
            == decide(combine_closure, (start, start)).type
        )
        type_ = with_value(self.type, start if keeps_type else ANY)
        return FoldAssoc(
            self._node, init, local_closure, combine_closure, type=type_, location=caller(), operator=operator
        )

    def _limit(self, n: int, offset: int) -> Node:
        if n < 0 or offset < 0:
            raise PlanError(f"limit({n}, offset={offset}) has a negative number", location=caller())
        return Limit(self._node, n, offset, type=self.type, location=caller())

    def _unique(self) -> Node:
        check_hashable(self.type, "an element given to unique", caller())
        return Unique(self._node, type=self.type, location=caller())


def numeric_result(node: type[Node], value: Type) -> Type:
    """The type of a sum or mean of values; what is not known to be a number may be anything that adds up."""
    if value not in (INT, FLOAT, BOOL):
        return ANY
    return FLOAT if node is Avg or value == FLOAT else INT


class AggregateMethods(_Aggregates[T], KeyedMethods[T]):
    """Aggregates of a plain stream, and the shortcuts that group first."""

    def count(self) -> Stream[int]:
        """How many elements there are; an empty stream gives no result.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter("abc").count().collect()
        [3]
        """
        return self._context.plain(self._count())

    def reduce_assoc(self, function: Callable[[T, T], T]) -> Stream[T]:
        """Combine elements two by two with an associative function, in parallel.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).reduce_assoc(lambda a, b: a + b).collect()
        [6]
        """
        return self._context.plain(self._reduce_assoc(function))

    def fold_assoc(self, init: A, local: Callable[[A, T], A], combine: Callable[[A, A], A]) -> Stream[A]:
        """Fold each partition from `init` with `local`, then merge the results with `combine`."""
        return self._context.plain(self._fold_assoc(init, local, combine))

    def limit(self, n: int, offset: int = 0) -> Stream[T]:
        """The first `n` elements of the whole stream after `offset` of them.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(range(9)).limit(2, offset=3).collect()
        [3, 4]
        """
        return self._context.plain(self._limit(n, offset))

    def unique(self) -> Stream[T]:
        """Each distinct element once."""
        return self._context.plain(self._unique())

    def group_by_count(self, key: Callable[[T], K]) -> KeyedStream[K, int]:
        """How many elements each key has.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter("abca").group_by_count(lambda c: c).collect()
        [('a', 2), ('b', 1), ('c', 1)]
        """
        return self._context.keyed(self._grouped(key, "group_by_count")._count("group_by_count"))

    def group_by_sum(self, key: Callable[[T], K], value: Callable[[T], V]) -> KeyedStream[K, V]:
        """The sum of `value(element)` for each key."""
        return self._context.keyed(self._grouped(key, "group_by_sum")._valued(Sum, value, "group_by_sum"))

    def group_by_avg(self, key: Callable[[T], K], value: Callable[[T], Any]) -> KeyedStream[K, float]:
        """The mean of `value(element)` for each key."""
        return self._context.keyed(self._grouped(key, "group_by_avg")._valued(Avg, value, "group_by_avg"))

    def group_by_min_element(self, key: Callable[[T], K], value: Callable[[T], Any]) -> KeyedStream[K, T]:
        """The element with the smallest `value(element)` of each key; of equals the first."""
        grouped = self._grouped(key, "group_by_min_element")
        return self._context.keyed(grouped._valued(MinElement, value, "group_by_min_element"))

    def group_by_max_element(self, key: Callable[[T], K], value: Callable[[T], Any]) -> KeyedStream[K, T]:
        """The element with the largest `value(element)` of each key; of equals the first."""
        grouped = self._grouped(key, "group_by_max_element")
        return self._context.keyed(grouped._valued(MaxElement, value, "group_by_max_element"))

    def group_by_reduce(self, key: Callable[[T], K], function: Callable[[T, T], T]) -> KeyedStream[K, T]:
        """Combine the elements of each key two by two with an associative function, in parallel."""
        return self._context.keyed(self._grouped(key, "group_by_reduce")._reduce_assoc(function, "group_by_reduce"))

    def group_by_fold(
        self, key: Callable[[T], K], init: A, local: Callable[[A, T], A], combine: Callable[[A, A], A]
    ) -> KeyedStream[K, A]:
        """Fold the elements of each key from `init`, partition by partition, then merge with `combine`."""
        grouped = self._grouped(key, "group_by_fold")
        return self._context.keyed(grouped._fold_assoc(init, local, combine, "group_by_fold"))

    def _grouped(self, key: Callable[[T], Any], operator: str) -> KeyedStream[Any, T]:
        return self._context.keyed(self._key_by(key, operator))


class KeyedAggregateMethods(_Aggregates[Any], Generic[K, V]):
    """Aggregates of a keyed stream: a result for each key."""

    def count(self) -> KeyedStream[K, int]:
        """How many elements each key has."""
        return self._context.keyed(self._count())

    def reduce_assoc(self, function: Callable[[V, V], V]) -> KeyedStream[K, V]:
        """Combine the values of each key two by two with an associative function, in parallel."""
        return self._context.keyed(self._reduce_assoc(function))

    def fold_assoc(self, init: A, local: Callable[[A, V], A], combine: Callable[[A, A], A]) -> KeyedStream[K, A]:
        """Fold the values of each key from `init`, partition by partition, then merge with `combine`."""
        return self._context.keyed(self._fold_assoc(init, local, combine))

    def limit(self, n: int, offset: int = 0) -> KeyedStream[K, V]:
        """The first `n` elements of the whole stream after `offset` of them."""
        return self._context.keyed(self._limit(n, offset))

    def unique(self) -> KeyedStream[K, V]:
        """Each distinct (key, value) once."""
        return self._context.keyed(self._unique())
