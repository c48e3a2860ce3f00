"""The facts about the session that planning needs. They are gathered before, so that planning is a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from morisot.plan.nodes.iterate import Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.source import PathSource


@dataclass(frozen=True)
class Facts:
    """Facts about the session. The defaults are what `explain()` assumes if there is no session yet."""

    connect: bool = False
    """Whether the session is one of Spark Connect, whose plans are not accessible in this process."""
    operator_metrics: bool = False
    """Whether a query counts the elements that each operator emits."""
    assumed: bool = False
    """Whether the facts are assumed, because there is no session yet."""
    retained: frozenset[Node] = frozenset()
    """The streams that an earlier run has computed and `cache()` retains."""

    guards: bool = True
    """Whether aggregates may try a form that fails if equal elements differ in a part that is read."""
    failed_guards: frozenset[Node] = frozenset()
    """The operators for which such a form has failed."""

    def assumptions(self, nodes: Iterable[Node]) -> Iterator[str]:
        """The assumptions about a missing session that the plan of some operators depends on."""
        nodes = tuple(nodes)
        if self.assumed and any(isinstance(node, Loop | PathSource) and node.bounded for node in nodes):
            yield "a classic Spark session"
        if self.assumed and any(isinstance(node, Cache) for node in nodes):
            yield "nothing cached"


DEFAULT = Facts(assumed=True)
