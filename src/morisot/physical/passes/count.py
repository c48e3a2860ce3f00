"""The operators of a streaming query whose elements are counted, for metrics."""

from __future__ import annotations

from collections.abc import Iterable

from morisot.physical.facts import Facts
from morisot.plan.analysis.graph import is_bounded_input
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode


def count(nodes: Iterable[Node], facts: Facts) -> frozenset[Node]:
    """The operators on unbounded input and their bounded inputs, if they are counted. Sinks emit no elements."""
    if not facts.operator_metrics:
        return frozenset()
    unbounded = [node for node in nodes if not node.bounded]
    inputs = (value for node in unbounded for value in node.inputs if is_bounded_input(value, node))
    return frozenset((*inputs, *(node for node in unbounded if not isinstance(node, SinkNode))))
