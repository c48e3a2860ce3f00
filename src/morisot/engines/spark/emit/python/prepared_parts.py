"""Prepares a batch for a parallel sink in the workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.shipping import shipping_with
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.errors import PlanError
from morisot.plan.endpoints import SinkPart
from morisot.plan.nodes.sink import WriteTo
from morisot.worker.prepare import PrepareParts

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

_TRIES = 1 << 32
"""The factor of the number of tries in the number of an attempt. Spark numbers the attempts of tasks in a session."""


class PartsOfSink:
    """The sink as workers get it: pickled before it is opened in the driver."""

    def __init__(self, node: WriteTo) -> None:
        self._node = node
        try:
            self._pickled = dumps(node.sink)
        except Exception as error:
            raise PlanError(
                f"workers cannot get {type(node.sink).__name__}, because it cannot be pickled: {error}",
                location=node.location,
                advice="open files and connections in prepare(…), and keep only plain values in the sink",
            ) from error

    def prepare(self, rows: DataFrame, batch: int, tries: int, emission: Emission) -> list[bytes]:
        """Prepares the rows, each partition in a task. Returns the receipts of the successful attempts."""
        node = self._node
        origin = node.operator, node.location
        task = PrepareParts(self._pickled, *origin, node.type, batch, tries * _TRIES, SinkPart, task_numbers())
        with sealing_with(emission.resources.seal), shipping_with(emission.shipping):
            receipts = rows.mapInArrow(in_worker(task), "instance INT, receipt BINARY")
        return [bytes(row.receipt) for row in sorted(receipts.collect(), key=lambda row: row.instance)]


def task_numbers() -> Callable[[], tuple[int, int]]:
    """A function that returns the partition and the attempt of a task, so that the worker package imports no Spark."""

    def current() -> tuple[int, int]:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        return context.partitionId(), context.taskAttemptId()

    return current
