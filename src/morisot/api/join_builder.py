"""A join with its strategy: how elements come together, how they find each other, and which of them are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.join import Local, Ship, Variant

if TYPE_CHECKING:
    from morisot.api.keyed_stream import KeyedStream

K = TypeVar("K")
L = TypeVar("L")
R = TypeVar("R")

MakeJoin = Callable[[Variant, Ship, Local], Any]


@dataclass(frozen=True)
class JoinBuilder(Generic[K, L, R]):
    """Two streams to be joined; next, how their elements come together."""

    make: MakeJoin

    def ship_hash(self) -> ShippedJoin[K, L, R]:
        """Elements of both streams move, by the hash of their key."""
        return ShippedJoin(self.make, "hash")

    def ship_broadcast_right(self) -> ShippedJoin[K, L, R]:
        """All elements of the right stream go to wherever left ones are, and those stay; for a small right stream."""
        return ShippedJoin(self.make, "broadcast_right")


@dataclass(frozen=True)
class ShippedJoin(Generic[K, L, R]):
    """Elements come together; next, how they find each other."""

    make: MakeJoin
    ship: Ship

    def local_hash(self) -> LocalJoin[K, L, R]:
        """The right elements of a task are put into a hash table, in which the left ones are looked up."""
        return LocalJoin(self.make, self.ship, "hash")

    def local_sort_merge(self) -> LocalJoin[K, L, R]:
        """Both are sorted by key and merged, which needs no memory for either.

        Spark puts broadcast elements into a hash table all the same: nothing else is made for them.
        """
        return LocalJoin(self.make, self.ship, "sort_merge")


@dataclass(frozen=True)
class LocalJoin(Generic[K, L, R]):
    """All is decided but which elements are kept."""

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
                "an outer join cannot broadcast its right side: no task would know that a right element found no "
                "partner anywhere",
                location=caller(),
                advice="use ship_hash()",
            )
        return self.make("outer", self.ship, self.local)  # type: ignore[no-any-return]
