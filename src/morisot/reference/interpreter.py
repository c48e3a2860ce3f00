"""Runs a plan by asking each node what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from morisot.errors import PlanError
from morisot.plan.graph import walk
from morisot.plan.node import Node
from morisot.reference import aggregate, keyed, rowwise, sink, source
from morisot.reference.registry import meaning_of

FAMILIES = (source, rowwise, keyed, aggregate, sink)
"""Importing a family registers its meanings."""


def evaluate(*roots: Node) -> dict[Node, list[Any]]:
    """The elements of every node of the plans; what several read is computed once."""
    results: dict[Node, list[Any]] = {}
    for node in walk(*roots):
        meaning = meaning_of(node)
        if meaning is None or not node.bounded:
            raise PlanError(
                f"{node.operator} does not run on the reference engine",
                location=node.location,
                advice='use StreamContext() with engine="spark"'
                if node.bounded
                else "give it bounded input: the reference engine runs a plan to its end",
            )
        results[node] = list(meaning(node, *(results[value] for value in node.inputs)))
    return results


def elements_of(node: Node) -> Sequence[Any]:
    """The elements of one node."""
    return evaluate(node)[node]
