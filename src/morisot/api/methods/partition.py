"""Operators that change partitioning and batching, and never the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.base import StreamBase, T
from morisot.api.location import caller
from morisot.api.methods.keyed import KeyingMethods
from morisot.errors import PlanError
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, BatchMode, Broadcast, Cache, Parallelism, RepartitionBy, Shuffle

if TYPE_CHECKING:
    from typing import Self

    from morisot.api.keyed_stream import KeyedStream

K = TypeVar("K")


class CommonPartitionMethods(StreamBase[T]):
    """Partitioning methods of plain and keyed streams."""

    def shuffle(self) -> Self:
        """Distributes the elements evenly over the partitions.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).shuffle().map(lambda n: n * 2).collect()
        [2, 4]
        """
        return self._same(Shuffle(self._node, type=self.type, location=caller()))

    def parallelism(self, n: int) -> Self:
        """Runs the following operators in `n` tasks, up to the next shuffle."""
        if not is_count(n):
            raise PlanError(
                f"parallelism cannot be {n!r}", location=caller(), advice="give parallelism(…) an int from 1 on"
            )
        return self._same(Parallelism(self._node, n, type=self.type, location=caller()))

    def broadcast(self) -> Self:
        """Copies the stream to every task if it is a side of a join. Use it for a small stream."""
        return self._same(Broadcast(self._node, type=self.type, location=caller()))

    def batch_mode(self, mode: BatchMode) -> Self:
        """Sets how many elements the following stages process at a time."""
        if not isinstance(mode, BatchMode):
            raise PlanError(
                f"batch_mode takes a BatchMode, not {mode!r}",
                location=caller(),
                advice="give BatchMode.fixed(n) or BatchMode.adaptive(n, milliseconds)",
            )
        waits = mode.milliseconds is None or is_count(mode.milliseconds)
        if not is_count(mode.size) or not waits:
            raise PlanError(
                f"there is no batch of {mode.size!r} elements"
                if waits
                else f"a batch cannot wait for {mode.milliseconds!r} milliseconds",
                location=caller(),
                advice="give BatchMode.fixed(n) or BatchMode.adaptive(n, milliseconds) whole numbers from 1 on",
            )
        return self._same(Batched(self._node, mode, type=self.type, location=caller(), operator="batch_mode"))

    def cache(self) -> Self:
        """Computes the stream once, when it is first read, and persists it for later readers.

        It is persisted until `uncache()`, or until the context is closed.
        """
        return self._same(Cache(self._node, type=self.type, location=caller()))

    def uncache(self) -> None:
        """Removes the persisted elements. A later reader computes them again."""
        if not isinstance(self._node, Cache):
            raise PlanError(
                "this stream is not cached: it is not the result of cache()",
                location=caller(),
                advice="store the stream in a variable: `cached = stream.cache()`, later `cached.uncache()`",
            )
        self._context.engine.uncache(self._node)

    def _same(self, node: Node) -> Self:
        return type(self)(self._context, node)


def is_count(n: Any) -> bool:
    return type(n) is int and n >= 1


class PartitionMethods(CommonPartitionMethods[T], KeyingMethods[T]):
    """Partitioning of a plain stream."""

    def repartition_by(self, key: Callable[[T], K], *, returns: Any = None) -> KeyedStream[K, T]:
        """Gives each element the key `key(element)`, and distributes the elements by key.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).repartition_by(lambda n: n % 2).collect()
        [(1, 1), (0, 2)]
        """
        keyed = self._context.keyed(self._key_by(key, "repartition_by", returns))
        location = keyed._node.location
        return self._context.keyed(RepartitionBy(keyed._node, type=keyed.type, location=location))


class KeyedPartitionMethods(CommonPartitionMethods[Any], Generic[K, T]):
    """Partitioning of a keyed stream."""
