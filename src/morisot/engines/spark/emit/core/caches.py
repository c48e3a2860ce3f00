"""Streams that `cache()` retains from run to run, in Spark's cache."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.node import Node
from morisot.worker.report.signature import Seal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unpersist(df: DataFrame) -> None:
    """Unpersists a frame.

    Then Spark plans the persisted frames that read it once more, which raises what their data raises. Neither they nor
    this frame are persisted any longer.
    """
    with contextlib.suppress(PySparkException):
        df.unpersist()


@dataclass(frozen=True)
class CachedFrame:
    """A persisted frame, and the upstream operators that ran natively although they may fail."""

    frame: Frame
    optimistic: frozenset[Node]
    seal: Seal
    """The key of the job that created it: its tasks may run again in a later job."""


@dataclass
class Caches:
    """The cached streams of an engine. Spark computes each when it is first read."""

    _frames: dict[Node, CachedFrame] = field(default_factory=dict)

    def get(self, node: Node, demoted: frozenset[Node]) -> CachedFrame | None:
        """The cached frame of a stream. One with an operator that was demoted since is released and computed again."""
        found = self._frames.get(node)
        if found is not None and found.optimistic & demoted:
            self.release(node)
            return None
        return found

    @property
    def seals(self) -> list[Seal]:
        """The keys of the jobs whose tasks may run in another one."""
        return [cached.seal for cached in self._frames.values()]

    def add(self, node: Node, frame: Frame, optimistic: set[Node], seal: Seal) -> None:
        frame.df.persist()
        self._frames[node] = CachedFrame(frame, frozenset(optimistic.intersection(walk(node))), seal)

    def release(self, node: Node) -> None:
        cached = self._frames.pop(node, None)
        if cached is not None:
            unpersist(cached.frame.df)

    def clear(self) -> None:
        """Called when Spark's JVM has ended, and with it all persisted frames."""
        self._frames.clear()

    def release_all(self) -> None:
        for node in list(self._frames):
            self.release(node)
