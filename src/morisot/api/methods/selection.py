"""Methods that select or sort elements; part of the aggregate family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from morisot.api.base import OnError, StreamBase, T
from morisot.api.checks.windows import check_value
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyedMethods, check_hashable
from morisot.api.methods.rowwise import carried
from morisot.api.methods.time import checked_ticks, checked_time
from morisot.compile.table.records import is_equal_by_fields
from morisot.errors import PlanError
from morisot.plan.late import Late
from morisot.plan.nodes.aggregate import First, Limit, Reduce, SortedBy, Unique, UniqueWithin, WithAggregate
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.keyed import Unkey
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter, Map
from morisot.types.element import Tuple, Type, arguments, with_value
from morisot.types.moments import Duration

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
L = TypeVar("L")
R = TypeVar("R")


class _Selection(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _limit(self, n: int, offset: int) -> Node:
        check_counts("limit", n, offset)
        return Limit(self._node, n, offset, type=self.type, location=caller())

    def _sorted_by(self, key: Callable[..., Any], on_error: OnError) -> Node:
        closure, _ = self._compiled(self._spread(key), "sorted_by", self._arguments)
        return SortedBy(self._tried(closure, on_error), closure, type=self.type, location=closure.location)

    def _sorted_limit_by(self, key: Callable[..., Any], n: int, offset: int, on_error: OnError) -> Node:
        operator = "sorted_limit_by"
        check_counts(operator, n, offset)
        closure, _ = self._compiled(self._spread(key), operator, self._arguments)
        tried = self._tried(closure, on_error)
        return SortedBy(tried, closure, n, offset, type=self.type, location=closure.location, operator=operator)

    def _best_elements(self, value: Callable[..., Any], best: Any, operator: str, on_error: OnError) -> Node:
        """The elements whose value is the largest or smallest: the elements with the extreme value, and a filter."""
        closure, verdict = self._rowwise(value, operator, (self._element,))
        check_value(operator, verdict.type, operator)
        location, keyed = closure.location, self._node.keyed
        of, returns = closure.function, closure.returns

        def own(function: Callable[..., Any], declared: Type | None = None) -> Closure:
            return Closure(function, location, operator, declared)

        def node(cls: type[Any], *arguments: Any, type_: Type) -> Node:
            return cls(*arguments, type=type_, location=location, operator=operator)  # type: ignore[no-any-return]

        tried = self._tried(own((lambda _, element: of(element)) if keyed else of), on_error)
        valued = own((lambda _, element: of(element)) if keyed else of, returns)
        values = node(Map, tried, valued, type_=with_value(self.type, carried(verdict.type)))
        extreme = node(Reduce, values, own(best), type_=values.type)
        pair = Tuple((self._element, arguments(values.type)[-1]))
        both = node(WithAggregate, tried, extreme, type_=with_value(self.type, pair))
        self._context.check(both)
        if keyed:
            is_best, element = own(lambda _, pair: of(pair[0]) == pair[1]), own(lambda _, pair: pair[0], self._element)
        else:
            is_best, element = own(lambda pair: of(pair[0]) == pair[1]), own(lambda pair: pair[0], self._element)
        return node(Map, node(Filter, both, is_best, type_=both.type), element, type_=self.type)

    @property
    def _element(self) -> Type:
        return self._arguments[-1]

    def _unique(self) -> Node:
        check_hashable(self.type, "an element given to unique", caller())
        if not is_equal_by_fields(self.type):
            raise PlanError(
                f"unique compares elements of the type {self.type} by all fields, and the class does not",
                location=caller(),
                advice="use unique_by(…) with the element itself, or with a tuple of the fields to compare",
            )
        return Unique(self._node, type=self.type, location=caller())

    def _unique_within(self, keyed: Node, within: Duration, late: Late | None, operator: str) -> Stream[Any]:
        """Deduplicates within a time distance, by a key that is not the user's."""
        location = caller()
        time = checked_time(keyed, f"{operator} with within=")
        distance = checked_ticks(f"within of {operator}", within, time, location)
        if distance == 0:
            raise PlanError(
                f"{operator} would drop no element: no time distance is less than {within!r}",
                location=location,
                advice='give the time distance within which equal elements are duplicates, such as within="1h"',
            )
        node = UniqueWithin(keyed, distance, late, type=keyed.type, location=location, operator=operator)
        return self._context.keyed(node).drop_key()


def check_late(operator: str, late: Any) -> None:
    """Raises an error for a handler of late elements if there are none."""
    if late is not None:
        raise PlanError(
            f"{operator} has no timers, so it has no late elements",
            location=caller(),
            advice="give the time distance within which equal elements are duplicates (within=…), or remove late=",
        )


def check_counts(operator: str, n: int, offset: int) -> None:
    """Raises an error for invalid numbers of elements."""
    for name, value in (("n", n), ("offset", offset)):
        if type(value) is not int or value < 0:
            raise PlanError(
                f"{operator} needs a whole number of elements, not {name}={value!r}",
                location=caller(),
                advice="give an int that is not negative",
            )


class SelectionMethods(_Selection[T], KeyedMethods[T]):
    """Selection and sorting of a plain stream."""

    def limit(self, n: int, offset: int = 0) -> Stream[T]:
        """The first `n` elements of the whole stream after `offset` of them.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(range(9)).limit(2, offset=3).collect()
        [3, 4]
        """
        return self._context.plain(self._limit(n, offset))

    def sorted_by(self, key: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """The elements of the whole stream in the order of `key(element)`, stably.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(["bb", "a", "cc"]).sorted_by(lambda s: -len(s)).collect()
        ['bb', 'cc', 'a']
        """
        return self._context.plain(self._sorted_by(key, on_error))

    def sorted_limit_by(
        self, key: Callable[[T], Any], n: int, offset: int = 0, *, on_error: OnError = "raise"
    ) -> Stream[T]:
        """The first `n` elements in the order of `key(element)` after `offset` of them.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([5, 1, 4]).sorted_limit_by(lambda n: n, 2).collect()
        [1, 4]
        """
        return self._context.plain(self._sorted_limit_by(key, n, offset, on_error))

    def max_elements(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """All elements with the largest `value(element)`, in stream order. They need a second pass over the stream.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(["bb", "a", "cc"]).max_elements(len).collect()
        ['bb', 'cc']
        """
        return self._context.plain(self._best_elements(value, max, "max_elements", on_error))

    def min_elements(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """All elements with the smallest `value(element)`, in stream order."""
        return self._context.plain(self._best_elements(value, min, "min_elements", on_error))

    def unique(self, *, within: Duration | None = None, late: Callable[[T], Any] | None = None) -> Stream[T]:
        """Each distinct element once; of equal ones the first.

        With `within` an element is dropped only if its time distance to a retained equal one before it is less.

        >>> import morisot as mo
        >>> clicks = mo.StreamContext(engine="reference").stream_iter([("a", 1), ("a", 3), ("a", 12)])
        >>> clicks.add_timestamps(lambda click: click[1]).map(lambda click: click[0]).unique(within=10).collect()
        ['a', 'a']
        """
        if within is None:
            check_late("unique", late)
            return self._context.plain(self._unique())
        check_hashable(self.type, "an element given to unique", caller())
        keyed = self._context.keyed(self._key_by(lambda element: element, "unique"))._node
        return self._unique_within(keyed, within, self._late(late, "unique"), "unique")

    def unique_by(
        self,
        key: Callable[[T], Any],
        *,
        within: Duration | None = None,
        late: Callable[[T], Any] | None = None,
        on_error: OnError = "raise",
    ) -> Stream[T]:
        """The first element of each `key(element)`; with `within`, of those within that time distance.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter(["a", "b", "cc"]).unique_by(len).collect()
        ['a', 'cc']
        """
        keyed = self._context.keyed(self._key_by(key, "unique_by", on_error=on_error))
        if within is not None:
            return self._unique_within(keyed._node, within, self._late(late, "unique_by"), "unique_by")
        check_late("unique_by", late)
        first = First(keyed._node, type=keyed.type, location=keyed._node.location, operator="unique_by")
        return self._context.keyed(first).drop_key()


class KeyedSelectionMethods(_Selection[Any], Generic[K, V]):
    """Selection and sorting of a keyed stream, over all keys."""

    def limit(self, n: int, offset: int = 0) -> KeyedStream[K, V]:
        """The first `n` elements of the whole stream after `offset` of them."""
        return self._context.keyed(self._limit(n, offset))

    @overload
    def sorted_by(self, key: Callable[[K, V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]: ...
    @overload
    def sorted_by(
        self: KeyedSelectionMethods[K, tuple[L, R]], key: Callable[[K, L, R], Any], *, on_error: OnError = "raise"
    ) -> KeyedStream[K, V]: ...
    def sorted_by(self, key: Callable[..., Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """The elements of the whole stream in the order of `key(key, value)`, stably."""
        return self._context.keyed(self._sorted_by(key, on_error))

    def sorted_limit_by(
        self, key: Callable[[K, V], Any], n: int, offset: int = 0, *, on_error: OnError = "raise"
    ) -> KeyedStream[K, V]:
        """The first `n` elements of the whole stream in the order of `key(key, value)` after `offset` of them."""
        return self._context.keyed(self._sorted_limit_by(key, n, offset, on_error))

    def max_elements(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """All elements of each key with the largest `value(element)`, in stream order.

        >>> import morisot as mo
        >>> keyed = mo.StreamContext(engine="reference").stream_iter([3, 5, 4, 6]).group_by(lambda n: n % 2)
        >>> keyed.max_elements(lambda n: n // 2).collect()
        [(1, 5), (0, 6)]
        """
        return self._context.keyed(self._best_elements(value, max, "max_elements", on_error))

    def min_elements(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """All elements of each key with the smallest `value(element)`, in stream order."""
        return self._context.keyed(self._best_elements(value, min, "min_elements", on_error))

    def unique(self, *, within: Duration | None = None, late: Callable[[K, V], Any] | None = None) -> KeyedStream[K, V]:
        """Each distinct (key, value) once; with `within`, only duplicates within that time distance are dropped."""
        if within is None:
            check_late("unique", late)
            return self._context.keyed(self._unique())
        check_hashable(self.type, "an element given to unique", caller())
        pairs = self._context.plain(Unkey(self._node, "both", type=Tuple(self._arguments), location=caller()))
        keyed = self._context.keyed(pairs._key_by(lambda element: element, "unique"))._node
        deduplicated = self._unique_within(keyed, within, self._late(late, "unique"), "unique")
        return deduplicated.key_by(lambda pair: pair[0]).map(lambda _, pair: pair[1])
