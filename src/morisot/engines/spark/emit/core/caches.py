"""What `cache()` keeps from run to run, in Spark's own cache."""

from __future__ import annotations

from dataclasses import dataclass, field

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.worker.report.signature import Seal


@dataclass(frozen=True)
class Kept:
    """A frame in Spark's cache, and the operators before it that ran natively although they may fail."""

    frame: Frame
    optimistic: frozenset[Node]
    seal: Seal
    """The key of the job that made it: its tasks may run again in a later job."""


@dataclass
class Caches:
    """The streams that an engine keeps; Spark computes each when it is first read."""

    _kept: dict[Node, Kept] = field(default_factory=dict)

    def get(self, node: Node, demoted: frozenset[Node]) -> Kept | None:
        """What is kept of a stream; what failed natively is given up, to be made again in Python."""
        found = self._kept.get(node)
        if found is not None and found.optimistic & demoted:
            self.release(node)
            return None
        return found

    @property
    def seals(self) -> list[Seal]:
        """The keys of the jobs whose tasks may run in another one."""
        return [kept.seal for kept in self._kept.values()]

    def keep(self, node: Node, frame: Frame, optimistic: set[Node], seal: Seal) -> None:
        frame.df.persist()
        self._kept[node] = Kept(frame, frozenset(optimistic.intersection(walk(node))), seal)

    def release(self, node: Node) -> None:
        kept = self._kept.pop(node, None)
        if kept is not None:
            kept.frame.df.unpersist()

    def forget(self) -> None:
        """Spark's JVM has ended, and with it what was kept."""
        self._kept.clear()

    def release_all(self) -> None:
        for node in list(self._kept):
            self.release(node)
