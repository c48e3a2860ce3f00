"""Methods that unite and split streams."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from morisot.api.base import OnError, StreamBase, T
from morisot.api.companions import check_times, companion
from morisot.api.location import caller
from morisot.compile.nullness.predicates import where_false, where_true
from morisot.errors import PlanError
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.combine import Branch, Branching, Merge, Route, SplitBy, Zip
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import ANY, BOOL, INT, Keyed, List, Tuple, Type, contains_any, with_value
from morisot.worker.rowwise.branches import MOST_BITS

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

U = TypeVar("U")
K = TypeVar("K")
V = TypeVar("V")


class _Combine(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _merge(self, others: Sequence[Any]) -> Node:
        nodes = (self._node, *(companion(self, other, "merge") for other in others))
        check_times("merge", *nodes)
        type_ = functools.reduce(merged_type, (node.type for node in nodes))
        return Merge(nodes, type=type_, location=caller())

    def _branches(self, numbered: Branching, types: Sequence[Type]) -> list[Node]:
        return [Branch(numbered, number, type=type_, location=numbered.location) for number, type_ in enumerate(types)]

    def _split_by(self, function: Callable[..., Any], n: int, on_error: OnError) -> list[Node]:
        check_branches("split_by", n)
        closure, verdict = self._compiled(self._spread(function), "split_by", self._arguments)
        several = names_several(verdict.type)
        if several is None:
            raise PlanError(
                f"the function of split_by returns {verdict.type}; it must return the number of a branch, or several",
                location=closure.location,
                advice="give an int, or a list, tuple or set of int",
            )
        branch_type = List(INT) if several and n > MOST_BITS else INT
        type_ = with_value(self.type, Tuple((branch_type, self._arguments[-1])))
        return self._branches(
            SplitBy(self._tried(closure, on_error), closure, n, type=type_, location=closure.location, several=several),
            [self.type] * n,
        )

    def _route(self, predicates: Sequence[Callable[..., Any]], on_error: OnError) -> list[Node]:
        if not predicates:
            raise PlanError(
                "route needs a predicate for each of its branches",
                location=caller(),
                advice="pass at least one function of the element",
            )
        predicates = [self._spread(each) for each in predicates]
        closures = tuple(self._compiled(each, "route", self._arguments)[0] for each in predicates)
        type_ = with_value(self.type, Tuple((INT, self._arguments[-1])))
        asked = self._closure(AnyOf(tuple(predicates)), "route", len(self._arguments))
        tried = self._tried(asked, on_error)
        return self._branches(Route(tried, closures, type=type_, location=caller()), routed_types(self.type, closures))


@dataclass(frozen=True)
class AnyOf:
    """Whether one of the predicates is true, called in their order, as route does."""

    predicates: tuple[Callable[..., Any], ...]

    def __call__(self, *element: Any) -> bool:
        return any(predicate(*element) for predicate in self.predicates)


def merged_type(left: Type, right: Type) -> Type:
    """The type that holds the elements of both streams. Raises an error if it is only `object`."""
    if isinstance(left, Keyed) and isinstance(right, Keyed):
        return Keyed(merged_type(left.key, right.key), merged_type(left.value, right.value))
    both = infer.unify(left, right)
    if contains_any(both) and not contains_any(left) and not contains_any(right):
        raise PlanError(
            f"merge cannot combine elements of the types {left} and {right}",
            location=caller(),
            advice="convert them to one type with map(…) first",
        )
    return both


def routed_types(type_: Type, predicates: Sequence[Closure]) -> list[Type]:
    """The types of the branches of a route: a predicate is called if those before it are false."""
    types = []
    for predicate in predicates:
        types.append(where_true(type_, predicate))
        type_ = where_false(type_, predicate)
    return types


def names_several(answer: Type) -> bool | None:
    """Whether results of the type may name several branches, or one; None if they name none."""
    if answer in (INT, BOOL):
        return False
    several = answer == ANY or answer == List(INT)
    several |= isinstance(answer, Tuple) and all(item == INT for item in answer.items)
    return True if several else None


def check_branches(operator: str, n: Any) -> None:
    """Raises an error for an invalid number of branches."""
    if type(n) is not int or n < 1:
        raise PlanError(
            f"{operator} cannot make {n!r} streams", location=caller(), advice="give the number of branches, from 1 on"
        )


class CombineMethods(_Combine[T]):
    """Union and splitting of plain streams."""

    @overload
    def merge(self, *others: Stream[T]) -> Stream[T]: ...
    @overload
    def merge(self, *others: Stream[T] | Stream[T | None]) -> Stream[T | None]: ...
    @overload
    def merge(self: CombineMethods[U | None], *others: Stream[U] | Stream[U | None]) -> Stream[U | None]: ...
    def merge(self, *others: Stream[Any]) -> Stream[Any]:
        """The elements of this stream and of the others.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter([1, 2]).merge(ctx.stream_iter([3]), ctx.stream_iter([4])).collect()
        [1, 2, 3, 4]
        """
        return self._context.plain(self._merge(others))

    def zip(self, other: Stream[U]) -> Stream[tuple[T, U]]:
        """Pairs the n-th elements of the two streams. Elements of the longer one without a partner are dropped.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> ctx.stream_iter("abc").zip(ctx.stream_iter([1, 2])).collect()
        [('a', 1), ('b', 2)]
        """
        right = companion(self, other, "zip")
        check_times("zip", self._node, right)
        return self._context.plain(Zip(self._node, right, type=Tuple((self.type, right.type)), location=caller()))

    def split(self, n: int) -> tuple[Stream[T], ...]:
        """The stream `n` times, each with all elements.

        >>> import morisot as mo
        >>> small, large = mo.StreamContext(engine="reference").stream_iter([1, 20]).split(2)
        >>> small.filter(lambda n: n < 10).collect(), large.filter(lambda n: n >= 10).collect()
        ([1], [20])
        """
        check_branches("split", n)
        return tuple(self._context.plain(self._node) for _ in range(n))

    def split_by(self, function: Callable[[T], Any], n: int, *, on_error: OnError = "raise") -> tuple[Stream[T], ...]:
        """`n` streams: an element is in the one, or in those, whose number `function(element)` returns.

        >>> import morisot as mo
        >>> even, odd = mo.StreamContext(engine="reference").stream_iter([1, 2, 3]).split_by(lambda n: n % 2, 2)
        >>> even.collect(), odd.collect()
        ([2], [1, 3])
        """
        return tuple(map(self._context.plain, self._split_by(function, n, on_error)))

    def route(self, *predicates: Callable[[T], Any], on_error: OnError = "raise") -> tuple[Stream[T], ...]:
        """A stream for each predicate: an element is in the stream of the first predicate that is true, or in none.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter(range(8))
        >>> small, even = numbers.route(lambda n: n < 3, lambda n: n % 2 == 0)
        >>> small.collect(), even.collect()
        ([0, 1, 2], [4, 6])
        """
        return tuple(map(self._context.plain, self._route(predicates, on_error)))


class KeyedCombineMethods(_Combine[Any], Generic[K, V]):
    """Union and splitting of keyed streams. Functions take (key, value)."""

    @overload
    def merge(self, *others: KeyedStream[K, V]) -> KeyedStream[K, V]: ...
    @overload
    def merge(self, *others: KeyedStream[K, V] | KeyedStream[K, V | None]) -> KeyedStream[K, V | None]: ...
    @overload
    def merge(
        self: KeyedCombineMethods[K, U | None], *others: KeyedStream[K, U] | KeyedStream[K, U | None]
    ) -> KeyedStream[K, U | None]: ...
    def merge(self, *others: KeyedStream[Any, Any]) -> KeyedStream[Any, Any]:
        """The elements of this stream and of the others, with their keys."""
        return self._context.keyed(self._merge(others))

    def split(self, n: int) -> tuple[KeyedStream[K, V], ...]:
        """The stream `n` times, each with all elements."""
        check_branches("split", n)
        return tuple(self._context.keyed(self._node) for _ in range(n))

    def split_by(
        self, function: Callable[[K, V], Any], n: int, *, on_error: OnError = "raise"
    ) -> tuple[KeyedStream[K, V], ...]:
        """`n` streams: an element is in the one, or in those, whose number `function(key, value)` returns."""
        return tuple(map(self._context.keyed, self._split_by(function, n, on_error)))

    def route(self, *predicates: Callable[[K, V], Any], on_error: OnError = "raise") -> tuple[KeyedStream[K, V], ...]:
        """A stream for each predicate: an element is in the stream of the first predicate that is true, or in none."""
        return tuple(map(self._context.keyed, self._route(predicates, on_error)))
