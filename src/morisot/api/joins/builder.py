"""A join with a strategy: how elements are distributed, the local algorithm, and the variant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.checks.public import public
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.join import Local, Ship, Variant

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream

K = TypeVar("K")
L = TypeVar("L")
R = TypeVar("R")

MakeJoin = Callable[[Variant, Ship, Local], Any]


@public("make")
@dataclass(frozen=True)
class JoinBuilder(Generic[K, L, R]):
    """Two streams to be joined. The next step selects how elements are distributed."""

    make: MakeJoin

    def ship_hash(self) -> ShippedJoin[K, L, R]:
        """Shuffles the elements of both streams by the hash of their keys."""
        return ShippedJoin(self.make, "hash")

    def ship_broadcast_right(self) -> ShippedJoin[K, L, R]:
        """Copies the right stream to all tasks. The left stream is not shuffled. Use it for a small right stream."""
        return ShippedJoin(self.make, "broadcast_right")


@public("make", "ship")
@dataclass(frozen=True)
class ShippedJoin(Generic[K, L, R]):
    """A join with a distribution. The next step selects the local algorithm."""

    make: MakeJoin
    ship: Ship

    def local_hash(self) -> LocalJoin[K, L, R]:
        """A hash table of the right elements of a task, in which left elements are looked up."""
        return LocalJoin(self.make, self.ship, "hash")

    def local_sort_merge(self) -> LocalJoin[K, L, R]:
        """Both sides are sorted by key and merged. Neither has to fit into memory.

        Spark uses a hash table for broadcast elements in any case.
        """
        return LocalJoin(self.make, self.ship, "sort_merge")


@public("local", "make", "ship")
@dataclass(frozen=True)
class LocalJoin(Generic[K, L, R]):
    """A join with a strategy. The last step selects the variant."""

    make: MakeJoin
    ship: Ship
    local: Local

    def inner(self) -> KeyedStream[K, tuple[L, R]]:
        """The pairs."""
        return self.make("inner", self.ship, self.local)  # type: ignore[no-any-return]

    def left(self) -> KeyedStream[K, tuple[L, R | None]]:
        """The pairs, and left elements without a partner, with None."""
        return self.make("left", self.ship, self.local)  # type: ignore[no-any-return]

    def outer(self) -> KeyedStream[K, tuple[L | None, R | None]]:
        """The pairs, and the elements of both sides without a partner, with None."""
        if self.ship == "broadcast_right":
            raise PlanError(
                "an outer join cannot broadcast its right side: no task knows whether a right element has a "
                "partner in another task",
                location=caller(),
                advice="use ship_hash()",
            )
        return self.make("outer", self.ship, self.local)  # type: ignore[no-any-return]
