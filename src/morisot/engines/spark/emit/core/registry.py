"""The registry of emission functions, one for each kind of physical operator and node."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from morisot.physical.ops import Physical
from morisot.plan.nodes.node import Node

if TYPE_CHECKING:
    from morisot.engines.spark.emit.frames.frame import Frame

Emit = Callable[..., "Frame"]
"""(node, emission, *frames of the inputs) -> frame; of a fusing operator (node, emission, frame, steps) -> frame"""

_EMITS: dict[tuple[type[Physical], type[Node]], Emit] = {}
E = TypeVar("E", bound=Callable[..., Any])


def emits(kind: type[Physical], *node_types: type[Node]) -> Callable[[E], E]:
    """Registers the emission of nodes that run as a kind of physical operator."""

    def register(emit: E) -> E:
        for node_type in node_types:
            assert (kind, node_type) not in _EMITS, f"{node_type.__name__} is emitted as {kind.__name__} already"
            _EMITS[kind, node_type] = emit
        return emit

    return register


def emit_of(kind: type[Physical], node_type: type[Node]) -> Emit | None:
    """The function that emits a node as a kind of physical operator, if there is one."""
    return _EMITS.get((kind, node_type))


def emitted_as(node_type: type[Node]) -> set[type[Physical]]:
    """The kinds of physical operators that a node can be emitted as."""
    return {kind for kind, emitted in _EMITS if emitted is node_type}
