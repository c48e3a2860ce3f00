"""Operators that look at one element at a time. On a keyed stream their functions take (key, value)."""

from __future__ import annotations

from dataclasses import dataclass, field

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.on_error import OnError
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class Rowwise(Node):
    """The root of the row-wise operators: they fuse with their neighbours and keep the stream's order."""

    input: Node
    on_error: OnError = field(default="raise", kw_only=True)

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class Map(Rowwise):
    """Each element becomes what `function` gives for it."""

    function: Closure


@dataclass(frozen=True, eq=False)
class Filter(Rowwise):
    """Keep the elements for which `predicate` is true."""

    predicate: Closure


@dataclass(frozen=True, eq=False)
class FlatMap(Rowwise):
    """Each element becomes the items of what `function` gives for it."""

    function: Closure


@dataclass(frozen=True, eq=False)
class FilterMap(Rowwise):
    """Each element becomes what `function` gives for it; None drops it."""

    function: Closure


@dataclass(frozen=True, eq=False)
class Flatten(Rowwise):
    """Each element becomes its items."""


@dataclass(frozen=True, eq=False)
class Inspect(Rowwise):
    """Call `function` on each element for its effect; the stream stays as it is."""

    function: Closure


@dataclass(frozen=True, eq=False)
class MapMemo(Rowwise):
    """Like map, but each worker remembers the results of its last `capacity` distinct keys."""

    function: Closure
    key: Closure | None
    capacity: int


@dataclass(frozen=True, eq=False)
class MapAsync(Rowwise):
    """Each element becomes what the coroutine gives; many run at once, the order is kept."""

    function: Closure
    concurrency: int
