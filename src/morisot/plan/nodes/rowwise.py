"""Operators that process one element at a time. On a keyed stream their functions take (key, value)."""

from __future__ import annotations

from dataclasses import dataclass, field

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.on_error import OnError
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class Rowwise(Node):
    """The base class of row-wise operators. They are fused with adjacent ones, and preserve the order."""

    input: Node
    on_error: OnError = field(default="raise", kw_only=True)

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class Map(Rowwise):
    """Replaces each element by the result of `function`."""

    function: Closure


@dataclass(frozen=True, eq=False)
class Filter(Rowwise):
    """The elements for which `predicate` is true."""

    predicate: Closure


@dataclass(frozen=True, eq=False)
class FlatMap(Rowwise):
    """Replaces each element by the items of the result of `function`."""

    function: Closure


@dataclass(frozen=True, eq=False)
class FilterMap(Rowwise):
    """Replaces each element by the result of `function`, and drops it if that is None."""

    function: Closure


@dataclass(frozen=True, eq=False)
class Flatten(Rowwise):
    """Replaces each element by its items."""


@dataclass(frozen=True, eq=False)
class Inspect(Rowwise):
    """Calls `function` on each element for its effect. The stream is unchanged."""

    function: Closure


@dataclass(frozen=True, eq=False)
class MapMemo(Rowwise):
    """Like map, but each worker caches the results of its last `capacity` distinct keys."""

    function: Closure
    key: Closure | None
    capacity: int


@dataclass(frozen=True, eq=False)
class MapAsync(Rowwise):
    """Replaces each element by the result of a coroutine. Several run at once. The order is preserved."""

    function: Closure
    concurrency: int
