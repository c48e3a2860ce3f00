"""Where elements are and how they travel; no result depends on it."""

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


class PlacementMethods(StreamBase[T]):
    """What plain and keyed streams alike can say about where their elements are."""

    def shuffle(self) -> Self:
        """Spread the elements evenly over the partitions.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).shuffle().map(lambda n: n * 2).collect()
        [2, 4]
        """
        return self._same(Shuffle(self._node, type=self.type, location=caller()))

    def parallelism(self, n: int) -> Self:
        """Let `n` tasks do what follows, until elements are moved again."""
        if not is_count(n):
            raise PlanError(
                f"{n!r} tasks cannot do anything", location=caller(), advice="give parallelism(…) an int from 1 on"
            )
        return self._same(Parallelism(self._node, n, type=self.type, location=caller()))

    def broadcast(self) -> Self:
        """Send the whole stream to every task where it is a side of a join; for a small stream."""
        return self._same(Broadcast(self._node, type=self.type, location=caller()))

    def batch_mode(self, mode: BatchMode) -> Self:
        """Let functions that run in Python take so many elements at a time from here on."""
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
        """Compute the stream once, when it is first read, and keep it for what reads it later.

        It is kept until the context is closed, or `uncache()`.
        """
        return self._same(Cache(self._node, type=self.type, location=caller()))

    def uncache(self) -> None:
        """Give up what `cache()` keeps; a later reader computes it again."""
        if not isinstance(self._node, Cache):
            raise PlanError(
                "this stream is not kept: it is not what cache() gave",
                location=caller(),
                advice="keep the stream in a variable: `kept = stream.cache()`, later `kept.uncache()`",
            )
        self._context.engine.uncache(self._node)

    def _same(self, node: Node) -> Self:
        return type(self)(self._context, node)


def is_count(n: Any) -> bool:
    return type(n) is int and n >= 1


class PartitionMethods(PlacementMethods[T], KeyingMethods[T]):
    """Where the elements of a plain stream are."""

    def repartition_by(self, key: Callable[[T], K], *, returns: Any = None) -> KeyedStream[K, T]:
        """Give each element the key `key(element)` and bring the elements of a key to one place.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).repartition_by(lambda n: n % 2).collect()
        [(1, 1), (0, 2)]
        """
        keyed = self._context.keyed(self._key_by(key, "repartition_by", returns))
        location = keyed._node.location
        return self._context.keyed(RepartitionBy(keyed._node, type=keyed.type, location=location))


class KeyedPartitionMethods(PlacementMethods[Any], Generic[K, T]):
    """Where the elements of a keyed stream are."""
