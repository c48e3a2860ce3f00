"""What planning has to know of the session: gathered before, so that planning itself asks nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from morisot.plan.nodes.node import Node


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

    def assumptions(self) -> Iterator[str]:
        """The facts as `explain()` prints them where they are assumed."""
        yield "a Spark Connect session" if self.connect else "a classic Spark session"
        yield f"{len(self.retained)} cached streams" if self.retained else "nothing cached"


DEFAULT = Facts(assumed=True)
