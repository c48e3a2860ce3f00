"""Methods that add and remove keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from morisot.api.base import OnError, StreamBase, T
from morisot.api.location import caller
from morisot.compile.table.records import is_equal_by_fields
from morisot.errors import PlanError
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Tuple, Type, is_hashable

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream

K = TypeVar("K")
V = TypeVar("V")


class KeyingMethods(StreamBase[T]):
    """Creates the nodes that add keys."""

    def _key_by(self, key: Callable[..., Any], operator: str, returns: Any = None, on_error: OnError = "raise") -> Node:
        (value,) = self._arguments[-1:]
        closure, verdict = self._rowwise(key, operator, (value,), returns)
        check_hashable(verdict.type, f"the key of {operator}", closure.location)
        if not is_equal_by_fields(verdict.type):
            closure, verdict = self._rowwise(key, operator, (value,), object)
        return KeyBy(
            self._node,
            closure,
            type=Keyed(verdict.type, value),
            location=closure.location,
            operator=operator,
            on_error=self._policy(on_error, operator),
        )


def check_hashable(type_: Type, what: str, location: Any) -> None:
    """Raises an error for a type that Python cannot hash."""
    if not is_hashable(type_):
        raise PlanError(
            f"{what} has the type {type_}, which Python cannot hash",
            location=location,
            advice="use a tuple instead of a list, and a frozen dataclass instead of a plain one",
        )


class KeyedMethods(KeyingMethods[T]):
    """Keys for a plain stream."""

    def group_by(self, key: Callable[[T], K], *, returns: Any = None, on_error: OnError = "raise") -> KeyedStream[K, T]:
        """Gives each element the key `key(element)`. The following operators work by key.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).group_by(lambda n: n % 2).collect()
        [(1, 1), (0, 2)]
        """
        return self._context.keyed(self._key_by(key, "group_by", returns, on_error))

    def key_by(self, key: Callable[[T], K], *, returns: Any = None, on_error: OnError = "raise") -> KeyedStream[K, T]:
        """Gives each element the key `key(element)`, without a shuffle."""
        return self._context.keyed(self._key_by(key, "key_by", returns, on_error))


class KeyedKeyedMethods(KeyingMethods[Any], Generic[K, V]):
    """Methods that remove the keys of a stream."""

    def unkey(self) -> Stream[tuple[K, V]]:
        """The (key, value) pairs as a plain stream.

        >>> import morisot as mo
        >>> keyed = mo.StreamContext(engine="reference").stream_iter([1, 2]).group_by(lambda n: n % 2)
        >>> keyed.unkey().map(lambda pair: pair[0] + pair[1]).collect()
        [2, 2]
        """
        return self._context.plain(self._unkey("both", "unkey"))

    def drop_key(self) -> Stream[V]:
        """The values as a plain stream."""
        return self._context.plain(self._unkey("value", "drop_key"))

    def keys(self) -> Stream[K]:
        """The key of each element as a plain stream."""
        return self._context.plain(self._unkey("key", "keys"))

    def _unkey(self, keep: Literal["both", "value", "key"], operator: str) -> Node:
        key, value = self._arguments
        types = {"both": Tuple((key, value)), "key": key, "value": value}
        return Unkey(self._node, keep, type=types[keep], location=caller(), operator=operator)
