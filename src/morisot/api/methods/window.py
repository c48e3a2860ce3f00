"""Windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import StreamBase, T
from morisot.api.checks.windows import check_bounds, check_late
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.late import Late
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import Window, WindowJoin, WindowKind, WithoutFailures
from morisot.types.windows import Windowed

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream
    from morisot.api.windowed_stream import KeyedWindowedStream, WindowedStream
    from morisot.api.windows import WindowDescription
    from morisot.types.windows import CustomWindow

K = TypeVar("K")
V = TypeVar("V")


class _Windowing(StreamBase[T]):
    def _with_bounds(self) -> Node:
        from morisot.api.windowed.nodes import bounded_node, bounded_without_failures, elements_of, has_selected

        if isinstance(self._node, WithoutFailures):
            return self._node if self._node.bounds else bounded_without_failures(self._node)
        if has_selected(self._node):
            (window,) = self._node.inputs
            assert isinstance(window, Window)
            return elements_of(bounded_node(window))
        if not isinstance(self._node, Window | WindowJoin):
            raise PlanError(
                f"with_bounds adds the bounds of windows, and {self._node.operator} has none",
                location=caller(),
                advice="call it right after a window's aggregate: window(…).sum().with_bounds()",
            )
        if isinstance(self._node, WindowJoin):
            check_bounds(self._node)
        return self._node if self._node.bounds else bounded_node(self._node)

    def _late_for(self, kind: WindowKind, handler: Callable[..., Any] | None, operator: str) -> Late | None:
        """The handler of late elements. Only windows of event time have any."""
        check_late(kind, handler, operator)
        return self._late(handler, operator)


class WindowMethods(_Windowing[T]):
    """Windows of a whole stream."""

    def window_all(
        self, desc: WindowDescription | CustomWindow[T, Any], *, late: Callable[[T], Any] | None = None
    ) -> WindowedStream[T]:
        """The windows of the stream. An aggregate of them returns a stream.

        On unbounded input late elements are passed to `late`.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3, 4])
        >>> numbers.window_all(mo.CountWindow.sliding(3, 1)).map(lambda window: window).collect()
        [[1, 2, 3], [2, 3, 4]]
        """
        from morisot.api.windowed_stream import WindowedStream
        from morisot.api.windows import described

        kind = described(desc, "window_all", self._node.time)
        return WindowedStream(self, kind, "window_all", late=self._late_for(kind, late, "window_all"))

    if not TYPE_CHECKING:  # a type checker reports the missing attribute, and continues with the next line

        def window(self, desc: Any, *, late: Any = None) -> Any:
            """Raises an error: windows of each key need keys, and this stream has none."""
            raise PlanError(
                "window assigns the elements of each key to windows, and this stream has no keys",
                location=caller(),
                advice="give it keys with group_by(…) first, or use window_all(…) for windows of the whole stream",
            )

    def with_bounds(self) -> Stream[Windowed[Any, T]]:
        """The results of windows as `Windowed(start, end, value)`. It is called directly after the aggregate.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3, 4])
        >>> numbers.window_all(mo.CountWindow.tumbling(2)).sum().with_bounds().collect()
        [Windowed(start=0, end=2, value=3), Windowed(start=2, end=4, value=7)]
        """
        return self._context.plain(self._with_bounds())


class KeyedWindowMethods(_Windowing[Any], Generic[K, V]):
    """Windows of each key."""

    def window(
        self, desc: WindowDescription | CustomWindow[V, Any], *, late: Callable[[K, V], Any] | None = None
    ) -> KeyedWindowedStream[K, V]:
        """The windows of each key. An aggregate of them returns a keyed stream.

        On unbounded input late elements are passed to `late`.
        """
        from morisot.api.windowed_stream import KeyedWindowedStream
        from morisot.api.windows import described

        kind = described(desc, "window", self._node.time)
        return KeyedWindowedStream(self, kind, "window", late=self._late_for(kind, late, "window"))

    if not TYPE_CHECKING:

        def window_all(self, desc: Any, *, late: Any = None) -> Any:
            """Raises an error: this stream has keys, and window_all is for streams without."""
            raise PlanError(
                "window_all assigns the elements of a whole stream to windows, and this one has keys",
                location=caller(),
                advice="use window(…) for windows of each key, or drop_key() or unkey() first",
            )

    def with_bounds(self) -> KeyedStream[K, Windowed[Any, V]]:
        """The results of windows as `Windowed(start, end, value)`. It is called directly after the aggregate."""
        return self._context.keyed(self._with_bounds())
