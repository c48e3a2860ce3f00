"""Fuses a column between two stages into the stage, because leaving Python in between would cost more."""

from __future__ import annotations

from collections.abc import Iterable

from morisot.physical.ops import Choice, KernelOp, Reason, StageOp
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise

BETWEEN = Reason(
    "stage",
    "it is between two functions that run in Python, and leaving Python in between would cost more",
    "write the adjacent functions so that they have column forms, or move it before or after them",
)


def fuse_stages(graph: Neighbours) -> dict[Node, Choice]:
    """The choices, with columns that are fused into stages."""
    return {node: _choice(graph, node) for node in graph.choices}


def _choice(graph: Neighbours, node: Node) -> Choice:
    chosen = graph.choices[node]
    if chosen.kind in (StageOp, KernelOp) or not isinstance(node, Rowwise):
        return chosen
    above = graph.above(node, lambda _: True)
    if _reaches_stage(graph, above) and _reaches_stage(graph, _rowwise(graph.below(node))):
        return Choice(StageOp, {closure: BETWEEN for _, closure in node.closures})
    return chosen


def _reaches_stage(graph: Neighbours, nodes: Iterable[Node]) -> bool:
    """Whether there is a stage before any kernel."""
    for each in nodes:
        kind = graph.choices[each].kind if each in graph.choices else None
        if kind is StageOp:
            return True
        if kind is KernelOp:
            return False
    return False


def _rowwise(nodes: Iterable[Node]) -> Iterable[Node]:
    for each in nodes:
        if not isinstance(each, Rowwise):
            return
        yield each
