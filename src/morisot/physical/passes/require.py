"""Requirements of operators and sinks on the row order of their inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from morisot.plan.analysis.graph import order_needed, order_observed
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import WriteSink


@dataclass(frozen=True)
class OrderRequirements:
    """The operators whose row order matters, by the readers that depend on it."""

    needed: frozenset[Node]
    """The result of an operator depends on it."""
    seen: frozenset[Node]
    """An operator, a sink or the caller observes it."""
    shown: frozenset[Node]
    """Like `seen`, without sinks that write files on unbounded input, which have no order."""


def require(roots: Iterable[Node]) -> OrderRequirements:
    """The requirements of some roots that run together."""
    roots = tuple(roots)
    shown = [root for root in roots if root.bounded or not isinstance(root, WriteSink)]
    return OrderRequirements(order_needed(roots), order_observed(roots), order_observed(shown))
