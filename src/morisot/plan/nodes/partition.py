"""Operators that change partitioning and batching, and never the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise


@dataclass(frozen=True)
class BatchMode:
    """How many elements a stage processes at a time.

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
        """At most `size` elements, and at most these milliseconds until a batch is processed."""
        return cls("adaptive", size, milliseconds)


@dataclass(frozen=True, eq=False)
class Shuffle(Node):
    """Distributes the elements evenly over the partitions."""

    input: Node


@dataclass(frozen=True, eq=False)
class Parallelism(Node):
    """Distributes the elements over `n` partitions, so that `n` tasks run the following operators."""

    input: Node
    n: int


@dataclass(frozen=True, eq=False)
class RepartitionBy(Node):
    """Distributes the elements by key, so that each key is in one partition."""

    input: Node


@dataclass(frozen=True, eq=False)
class Ordered(Node):
    """The elements in the order of the stream, also after operators that give it up. It moves no rows itself."""

    input: Node
    observes_order: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Broadcast(Rowwise):
    """A stream that is copied to every task if it is a side of a join."""


@dataclass(frozen=True, eq=False)
class Batched(Rowwise):
    """Sets how many elements the following stages process at a time."""

    mode: BatchMode


@dataclass(frozen=True, eq=False)
class Cache(Node):
    """A stream that is computed once and persisted for later readers."""

    input: Node
    only_bounded: ClassVar[str] = "an unbounded stream is never complete, so it cannot be persisted"
    observes_order: ClassVar[bool] = True
    """True, because a later reader may depend on the row order."""
