"""Where elements are and how they travel: what these operators change is never the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise


@dataclass(frozen=True)
class BatchMode:
    """How many elements the functions that run in Python take at a time.

    >>> BatchMode.fixed(500)
    BatchMode(kind='fixed', size=500, milliseconds=None)
    """

    kind: Literal["fixed", "adaptive"]
    size: int
    milliseconds: int | None = None

    @classmethod
    def fixed(cls, size: int) -> BatchMode:
        """At most `size` elements."""
        return cls("fixed", size)

    @classmethod
    def adaptive(cls, size: int, milliseconds: int) -> BatchMode:
        """At most `size` elements, and no waiting for more than these milliseconds for a batch to fill."""
        return cls("adaptive", size, milliseconds)


@dataclass(frozen=True, eq=False)
class Shuffle(Node):
    """The elements evenly over the partitions."""

    input: Node


@dataclass(frozen=True, eq=False)
class Parallelism(Node):
    """The elements in `n` partitions, so that `n` tasks do what follows."""

    input: Node
    n: int


@dataclass(frozen=True, eq=False)
class RepartitionBy(Node):
    """The elements of a key in one place."""

    input: Node


@dataclass(frozen=True, eq=False)
class Broadcast(Rowwise):
    """A stream to be sent to every task as a whole, where it is a side of a join."""


@dataclass(frozen=True, eq=False)
class Batched(Rowwise):
    """A stream whose functions in Python take so many elements at a time from here on."""

    mode: BatchMode


@dataclass(frozen=True, eq=False)
class Cache(Node):
    """A stream that is computed once and kept for whatever reads it later."""

    input: Node
    only_bounded: ClassVar[str] = "what has no end is never all there to be kept"
    observes_order: ClassVar[bool] = True
    """Nobody knows yet whether a later reader depends on the order, so it is kept with the elements."""
