"""The windows of a stream, and their aggregates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api import agg
from morisot.api.base import OnError
from morisot.api.checks.public import public
from morisot.api.checks.windows import check_aggregates
from morisot.api.windowed.windows import WindowsBase

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
A = TypeVar("A")
U = TypeVar("U")


@public()
class WindowedStream(WindowsBase, Generic[T]):
    """The windows of a whole stream."""

    def _make(self, method: str, *aggregates: Any, **named: Any) -> Any:
        return self._stream._context.plain(self._window(method, *aggregates, named=named))

    def sum(self, value: Callable[[T], Any] | None = None, *, on_error: OnError = "raise") -> Stream[Any]:
        """The sum of each window's elements, or of a value of each.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3, 4])
        >>> numbers.window_all(mo.CountWindow.tumbling(2)).sum().collect()
        [3, 7]
        """
        return self._tried(value, on_error, "sum")._make("sum", agg.sum(value))  # type: ignore[no-any-return]

    def min(self, value: Callable[[T], Any] | None = None, *, on_error: OnError = "raise") -> Stream[Any]:
        """The smallest element of each window, or its smallest value."""
        return self._tried(value, on_error, "min")._make("min", agg.min(value))  # type: ignore[no-any-return]

    def max(self, value: Callable[[T], Any] | None = None, *, on_error: OnError = "raise") -> Stream[Any]:
        """The largest element of each window, or its largest value."""
        return self._tried(value, on_error, "max")._make("max", agg.max(value))  # type: ignore[no-any-return]

    def min_element(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """The element of each window with the smallest value; of equals the first."""
        return self._tried(value, on_error, "min_element")._make("min_element", agg.min_element(value))  # type: ignore[no-any-return]

    def max_element(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """The element of each window with the largest value; of equals the first."""
        return self._tried(value, on_error, "max_element")._make("max_element", agg.max_element(value))  # type: ignore[no-any-return]

    def max_elements(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """All elements of each window with the largest value, in stream order, each as a result of its own.

        >>> import morisot as mo
        >>> words = mo.StreamContext(engine="reference").stream_iter(["bb", "a", "cc", "d", "e", "f"])
        >>> words.window_all(mo.CountWindow.tumbling(3)).max_elements(len).collect()
        ['bb', 'cc', 'd', 'e', 'f']
        """
        return self._best_elements(value, max, "max_elements", on_error)  # type: ignore[no-any-return]

    def min_elements(self, value: Callable[[T], Any], *, on_error: OnError = "raise") -> Stream[T]:
        """All elements of each window with the smallest value, in stream order, each as a result of its own."""
        return self._best_elements(value, min, "min_elements", on_error)  # type: ignore[no-any-return]

    def count(self) -> Stream[int]:
        """The number of elements of each window."""
        return self._make("count", agg.count())  # type: ignore[no-any-return]

    def mean(self, value: Callable[[T], Any] | None = None, *, on_error: OnError = "raise") -> Stream[float]:
        """The mean of each window's elements, or of a value of each."""
        return self._tried(value, on_error, "mean")._make("mean", agg.mean(value))  # type: ignore[no-any-return]

    def first(self) -> Stream[T]:
        """The first element of each window."""
        return self._make("first", agg.first())  # type: ignore[no-any-return]

    def last(self) -> Stream[T]:
        """The last element of each window."""
        return self._make("last", agg.last())  # type: ignore[no-any-return]

    def fold(
        self, init: A, function: Callable[[A, T], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[A]:
        """The result of `function(accumulator, element)` after a window's last element, from a copy of `init` on."""
        return self._folded("fold", agg.fold(init, function, returns=returns), on_error)  # type: ignore[no-any-return]

    def reduce(self, function: Callable[[T, T], T], *, on_error: OnError = "raise") -> Stream[T]:
        """Like fold, from a window's first element on."""
        return self._folded("reduce", agg.reduce(function), on_error)  # type: ignore[no-any-return]

    def map(self, function: Callable[[list[T]], U], *, returns: Any = None, on_error: OnError = "raise") -> Stream[U]:
        """The result of `function` for the list of a window's elements."""
        return self._mapped(function, returns, on_error)  # type: ignore[no-any-return]

    def aggregate(self, accumulator: Any = None, /, **aggregates: Any) -> Stream[Any]:
        """Several aggregates in one pass, as a record with their names; or one user-defined Accumulator.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3, 4])
        >>> pairs = numbers.window_all(mo.CountWindow.tumbling(2))
        >>> pairs.aggregate(total=mo.agg.sum(), top=mo.agg.max()).collect()
        [Row(total=3, top=2), Row(total=7, top=4)]
        """
        check_aggregates(accumulator, aggregates, f"{self._operator}.aggregate")
        if accumulator is not None:
            return self._make("aggregate", accumulator)  # type: ignore[no-any-return]
        return self._make("aggregate", **aggregates)  # type: ignore[no-any-return]

    def join(
        self,
        other: Stream[U] | WindowedStream[U],
        *,
        late: Callable[[tuple[T | None, U | None]], Any] | None = None,
    ) -> Stream[tuple[T, U]]:
        """The pairs (left, right) of elements in the same window of two streams.

        On unbounded input late elements are passed to `late`, as (left, None) or (None, right).

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> left = ctx.stream_iter([1, 5, 12]).add_timestamps(lambda n: n)
        >>> right = ctx.stream_iter([3, 14]).add_timestamps(lambda n: n)
        >>> left.window_all(mo.EventTimeWindow.tumbling(10)).join(right).collect()
        [(1, 3), (5, 3), (12, 14)]
        """
        return self._stream._context.plain(self._join(other, late))


@public()
class KeyedWindowedStream(WindowsBase, Generic[K, V]):
    """The windows of each key of a stream."""

    def _make(self, method: str, *aggregates: Any, **named: Any) -> Any:
        return self._stream._context.keyed(self._window(method, *aggregates, named=named))

    def sum(self, value: Callable[[V], Any] | None = None, *, on_error: OnError = "raise") -> KeyedStream[K, Any]:
        """The sum of each window's elements, or of a value of each."""
        return self._tried(value, on_error, "sum")._make("sum", agg.sum(value))  # type: ignore[no-any-return]

    def min(self, value: Callable[[V], Any] | None = None, *, on_error: OnError = "raise") -> KeyedStream[K, Any]:
        """The smallest element of each window, or its smallest value."""
        return self._tried(value, on_error, "min")._make("min", agg.min(value))  # type: ignore[no-any-return]

    def max(self, value: Callable[[V], Any] | None = None, *, on_error: OnError = "raise") -> KeyedStream[K, Any]:
        """The largest element of each window, or its largest value."""
        return self._tried(value, on_error, "max")._make("max", agg.max(value))  # type: ignore[no-any-return]

    def min_element(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """The element of each window with the smallest value; of equals the first."""
        return self._tried(value, on_error, "min_element")._make("min_element", agg.min_element(value))  # type: ignore[no-any-return]

    def max_element(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """The element of each window with the largest value; of equals the first."""
        return self._tried(value, on_error, "max_element")._make("max_element", agg.max_element(value))  # type: ignore[no-any-return]

    def max_elements(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """All elements of each window with the largest value, in stream order, each as a result of its own."""
        return self._best_elements(value, max, "max_elements", on_error)  # type: ignore[no-any-return]

    def min_elements(self, value: Callable[[V], Any], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """All elements of each window with the smallest value, in stream order, each as a result of its own."""
        return self._best_elements(value, min, "min_elements", on_error)  # type: ignore[no-any-return]

    def count(self) -> KeyedStream[K, int]:
        """The number of elements of each window."""
        return self._make("count", agg.count())  # type: ignore[no-any-return]

    def mean(self, value: Callable[[V], Any] | None = None, *, on_error: OnError = "raise") -> KeyedStream[K, float]:
        """The mean of each window's elements, or of a value of each."""
        return self._tried(value, on_error, "mean")._make("mean", agg.mean(value))  # type: ignore[no-any-return]

    def first(self) -> KeyedStream[K, V]:
        """The first element of each window."""
        return self._make("first", agg.first())  # type: ignore[no-any-return]

    def last(self) -> KeyedStream[K, V]:
        """The last element of each window."""
        return self._make("last", agg.last())  # type: ignore[no-any-return]

    def fold(
        self, init: A, function: Callable[[A, V], A], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, A]:
        """The result of `function(accumulator, element)` after a window's last element, from a copy of `init` on."""
        return self._folded("fold", agg.fold(init, function, returns=returns), on_error)  # type: ignore[no-any-return]

    def reduce(self, function: Callable[[V, V], V], *, on_error: OnError = "raise") -> KeyedStream[K, V]:
        """Like fold, from a window's first element on."""
        return self._folded("reduce", agg.reduce(function), on_error)  # type: ignore[no-any-return]

    def map(
        self, function: Callable[[list[V]], U], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]:
        """The result of `function` for the list of a window's elements."""
        return self._mapped(function, returns, on_error)  # type: ignore[no-any-return]

    def aggregate(self, accumulator: Any = None, /, **aggregates: Any) -> KeyedStream[K, Any]:
        """Several aggregates in one pass, as a record with their names; or one user-defined Accumulator."""
        check_aggregates(accumulator, aggregates, f"{self._operator}.aggregate")
        if accumulator is not None:
            return self._make("aggregate", accumulator)  # type: ignore[no-any-return]
        return self._make("aggregate", **aggregates)  # type: ignore[no-any-return]

    def join(
        self,
        other: KeyedStream[K, U] | KeyedWindowedStream[K, U],
        *,
        late: Callable[[K, tuple[V | None, U | None]], Any] | None = None,
    ) -> KeyedStream[K, tuple[V, U]]:
        """The pairs (left, right) of elements with the same key, in the same window of two streams.

        On unbounded input late elements are passed to `late`, as key and (left, None) or (None, right).
        """
        return self._stream._context.keyed(self._join(other, late))
