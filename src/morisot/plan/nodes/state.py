"""Operators with user-defined state, for each key or for the whole stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import FlatMap, Map
from morisot.plan.on_error import OnError
from morisot.types.element import INT, Tuple, Type, arguments


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


@dataclass(frozen=True, eq=False)
class Numbered(Node):
    """Each element with its number in the stream: (number, element), on a keyed stream for the values."""

    input: Node
    observes_order: ClassVar[bool] = True


SENT_TYPES = (INT, INT)
"""The types of the id and the replica of an output, which are before it in a tuple."""


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """The base class of a user's operator with replicas. Its elements are numbered. `process` is the user's method.

    Its outputs are (id, replica, output).
    """

    input: Node
    process: Closure
    replicate: int = field(kw_only=True)
    send: str = field(kw_only=True)
    ordered: bool = field(kw_only=True)
    has_ids: bool = field(default=False, kw_only=True)
    """Whether its elements are (id, replica, element), because the operator or source before has ids."""
    on_error: OnError = field(default="raise", kw_only=True)

    @property
    def output(self) -> Type:
        """The type of the user's outputs."""
        assert isinstance(self.type, Tuple)
        return self.type.items[-1]

    @property
    def sender(self) -> str:
        """The name of the operator before."""
        node = self.input
        while isinstance(node, Numbered | KeyBy | FlatMap | Unkey) and node.location is self.location:
            (node,) = node.inputs
        return node.label or node.operator

    @property
    def leaves_out(self) -> bool:
        return self.on_error != "raise"

    @property
    def keeps_order(self) -> bool:  # type: ignore[override]
        return self.ordered

    @property
    def shown_parameters(self) -> dict[str, str]:
        shown = {"replicate": str(self.replicate), "send": self.send, "ordered": str(self.ordered)}
        return shown if self.on_error == "raise" else shown | {"on_error": repr(self.on_error)}

    @property
    def copies(self) -> int:
        """How often each element is sent."""
        return self.replicate if self.send == "broadcast" else 1


@dataclass(frozen=True, eq=False)
class ApplyOnDemand(Apply):
    """A free replica processes the next elements. Its input is (number, element)."""


@dataclass(frozen=True, eq=False)
class ApplyFixed(Apply):
    """The replica of each element is the key: its input is replica → (number, element). Each may have a key store."""

    stored: bool = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class WithoutIds(Map):
    """The outputs of a user's operator, or the elements of a source, without their ids and replicas."""

    @property
    def shown_parameters(self) -> dict[str, str]:
        return self.input.shown_parameters
