"""The description of a streaming query, for the classes that run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.streaming.sinks import SinkWriter
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.node import Node
from morisot.plan.snapshots import Snapshots
from morisot.runtime.tally import Tally


@dataclass(frozen=True)
class QuerySpec:
    """A query group, its writers, and its checkpoint."""

    runner: BatchRunner
    group: Group
    writers: Sequence[SinkWriter]
    """The writers, in the order of the group's sinks."""
    checkpoint: Checkpoint
    trigger: Trigger
    snapshots: Snapshots | None = None
    counted: frozenset[Node] = frozenset()
    """The operators whose skipped elements this query counts. Queries that share an operator each run it."""
    report: Callable[[Tally], None] = lambda _: None
    """Called at the end with the skipped elements."""
    reader: str = "query"
    """The name of the query in the channels that it reads."""
    counts_operators: bool = False

    @property
    def restart(self) -> str | int | None:
        """The snapshot to resume from; None: start from scratch."""
        return None if self.snapshots is None else self.snapshots.restart

    @property
    def name(self) -> str:
        return "-".join(sink.operator for sink in self.group.sinks)
