"""Who sees the order of elements: the requirements that operators and sinks make of what they read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from morisot.plan.analysis.graph import order_needed, order_observed
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import WriteSink


@dataclass(frozen=True)
class OrderRequirements:
    """The operators whose row order matters, by who depends on it."""

    needed: frozenset[Node]
    """The result of some operator depends on it."""
    seen: frozenset[Node]
    """Some operator, sink or caller can see it."""
    shown: frozenset[Node]
    """As `seen`, without the sinks that write files on unbounded input: those have no order."""


def require(roots: Iterable[Node]) -> OrderRequirements:
    """The requirements of some roots that run together."""
    roots = tuple(roots)
    shown = [root for root in roots if root.bounded or not isinstance(root, WriteSink)]
    return OrderRequirements(order_needed(roots), order_observed(roots), order_observed(shown))
