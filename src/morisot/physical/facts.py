"""What planning has to know of the session: gathered before, so that planning itself asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from morisot.plan.nodes.iterate import Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache


@dataclass(frozen=True)
class Facts:
    """What only the session knows. The defaults are what `explain()` assumes while there is none."""

    connect: bool = False
    """Whether the session is one of Spark Connect, which has no plans of Spark's own in this process."""
    operator_metrics: bool = False
    """Whether a query counts what each operator gives."""
    assumed: bool = False
    """Whether nobody has looked: there is no session yet."""
    retained: frozenset[Node] = frozenset()
    """The streams that an earlier run has computed and `cache()` retains."""

    def assumptions(self, nodes: Iterable[Node]) -> Iterator[str]:
        """What is assumed of a session that is not there yet, as far as the plan of some operators depends on it."""
        nodes = tuple(nodes)
        if self.assumed and any(isinstance(node, Loop) for node in nodes):
            yield "a classic Spark session"
        if self.assumed and any(isinstance(node, Cache) for node in nodes):
            yield "nothing cached"


DEFAULT = Facts(assumed=True)
