"""Which operators of a streaming query are counted, for metrics."""

from __future__ import annotations

from collections.abc import Iterable

from morisot.physical.facts import Facts
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode


def count(nodes: Iterable[Node], facts: Facts) -> frozenset[Node]:
    """The operators on unbounded input, if metrics are wanted; sinks are given what they read."""
    if not facts.operator_metrics:
        return frozenset()
    return frozenset(node for node in nodes if not node.bounded and not isinstance(node, SinkNode))
