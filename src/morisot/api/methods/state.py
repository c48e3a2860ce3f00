"""Operators with user-defined state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import OnError, StreamBase, T
from morisot.plan.nodes.node import Node, snake_case
from morisot.plan.nodes.state import Rich, RichFilterMap, RichFlatMap, RichMap
from morisot.types import infer
from morisot.types.element import ANY, List, Tuple, Type, with_value

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")
U = TypeVar("U")
S = TypeVar("S")


class _State(StreamBase[T]):
    """Creates the nodes, for plain and keyed streams."""

    def _rich(
        self, node: type[Rich], init: Any, function: Callable[..., Any], *, returns: Any, on_error: OnError
    ) -> Node:
        operator = snake_case(node.__name__)
        start = infer.of_state(init, function)
        closure, verdict = self._compiled(function, operator, (start, *self._arguments))
        given = output_type(start, verdict.type)
        match node.out:
            case "map":
                output = given
            case "filter_map":
                output = infer.without_none(given)
            case "flat_map":
                output = given.item if isinstance(given, List) else ANY
        if returns is not None:
            output = infer.of_annotation(returns)
        return node(
            self._node,
            init,
            closure,
            type=with_value(self.type, output),
            location=closure.location,
            on_error=self._policy(on_error, operator),
        )


def output_type(start: Type, answer: Type) -> Type:
    """The type of the output, if the state is known to have the type of its initial value."""
    match answer:
        case Tuple((state, output)) if start in (state, ANY):
            return output
    return ANY


class StateMethods(_State[T]):
    """Functions with one state for the whole stream, in stream order."""

    def rich_map(
        self, init: S, function: Callable[[S, T], tuple[S, U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> Stream[U]:
        """Replaces each element by the output of `function(state, element)`, which returns (new state, output).

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([1, 2, 3])
        >>> numbers.rich_map(0, lambda total, n: (total + n, total + n)).collect()
        [1, 3, 6]
        """
        return self._context.plain(self._rich(RichMap, init, function, returns=returns, on_error=on_error))

    def rich_filter_map(
        self,
        init: S,
        function: Callable[[S, T], tuple[S, U | None]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Like rich_map. An output that is None drops the element.

        >>> import morisot as mo
        >>> numbers = mo.StreamContext(engine="reference").stream_iter([3, 1, 4, 2])
        >>> numbers.rich_filter_map(0, lambda top, n: (max(top, n), n if n > top else None)).collect()
        [3, 4]
        """
        return self._context.plain(self._rich(RichFilterMap, init, function, returns=returns, on_error=on_error))

    def rich_flat_map(
        self,
        init: S,
        function: Callable[[S, T], tuple[S, Iterable[U]]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> Stream[U]:
        """Like rich_map. Each element is replaced by the items of the output.

        >>> import morisot as mo
        >>> letters = mo.StreamContext(engine="reference").stream_iter("ab")
        >>> letters.rich_flat_map(1, lambda n, c: (n + 1, [c] * n)).collect()
        ['a', 'b', 'b']
        """
        return self._context.plain(self._rich(RichFlatMap, init, function, returns=returns, on_error=on_error))


class KeyedStateMethods(_State[Any], Generic[K, V]):
    """Functions with a state for each key, called on the values of a key in stream order."""

    def rich_map(
        self, init: S, function: Callable[[S, K, V], tuple[S, U]], *, returns: Any = None, on_error: OnError = "raise"
    ) -> KeyedStream[K, U]:
        """Replaces each value by the output of `function(state, key, value)`, which returns (new state, output)."""
        return self._context.keyed(self._rich(RichMap, init, function, returns=returns, on_error=on_error))

    def rich_filter_map(
        self,
        init: S,
        function: Callable[[S, K, V], tuple[S, U | None]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Like rich_map. An output that is None drops the element."""
        return self._context.keyed(self._rich(RichFilterMap, init, function, returns=returns, on_error=on_error))

    def rich_flat_map(
        self,
        init: S,
        function: Callable[[S, K, V], tuple[S, Iterable[U]]],
        *,
        returns: Any = None,
        on_error: OnError = "raise",
    ) -> KeyedStream[K, U]:
        """Like rich_map. Each value is replaced by the items of the output."""
        return self._context.keyed(self._rich(RichFlatMap, init, function, returns=returns, on_error=on_error))
