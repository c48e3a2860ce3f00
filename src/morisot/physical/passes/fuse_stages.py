"""A column between two operators in Python joins their stage: leaving Python in between would cost more."""

from __future__ import annotations

from collections.abc import Iterable

from morisot.physical.ops import Choice, KernelOp, Reason, StageOp
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise

BETWEEN = Reason(
    "stage",
    "it stands between two functions that run in Python, and leaving Python in between would cost more",
    "make its neighbours columns, or move it before or after them",
)


def fuse_stages(graph: Neighbours) -> dict[Node, Choice]:
    """The choices, with the columns that a stage takes in."""
    return {node: _choice(graph, node) for node in graph.choices}


def _choice(graph: Neighbours, node: Node) -> Choice:
    chosen = graph.choices[node]
    if chosen.kind in (StageOp, KernelOp) or not isinstance(node, Rowwise):
        return chosen
    above = graph.above(node, lambda _: True)
    if _meets_stage(graph, above) and _meets_stage(graph, _rowwise(graph.below(node))):
        return Choice(StageOp, {closure: BETWEEN for _, closure in node.closures})
    return chosen


def _meets_stage(graph: Neighbours, nodes: Iterable[Node]) -> bool:
    """Whether a stage comes before any kernel."""
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
