"""Operators with user-defined state, for each key or for the whole stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.on_error import OnError
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class Rich(Node):
    """The base class of operators whose `function` takes a state and returns (new state, output), in stream order."""

    input: Node
    init: Any
    function: Closure
    on_error: OnError = field(default="raise", kw_only=True)
    observes_order: ClassVar[bool] = True

    out: ClassVar[Literal["map", "filter_map", "flat_map"]]
    """How the output is emitted: as one element, as one element unless it is None, or its items."""

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    def signature(self, closure: str) -> tuple[Type, ...]:
        from morisot.types import infer

        return (infer.of_state(self.init, self.function.original), *arguments(self.input.type))


@dataclass(frozen=True, eq=False)
class RichMap(Rich):
    """Each element becomes the output."""

    out = "map"


@dataclass(frozen=True, eq=False)
class RichFilterMap(Rich):
    """Each element becomes the output; None drops it."""

    out = "filter_map"


@dataclass(frozen=True, eq=False)
class RichFlatMap(Rich):
    """Each element becomes the items of the output."""

    out = "flat_map"
