"""Reports of tasks about skipped elements: an accumulator in which the last report with an id counts.

Spark sends an accumulator's updates when a task ends, and again when the task is repeated. Adding them up would count
elements twice; storing one report for each id does not.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from pyspark import Accumulator
from pyspark.sql import SparkSession

from morisot.engines.spark.internals import names
from morisot.errors import EnvironmentProblem
from morisot.worker.report.left_out import LatestReports, Reports

MICRO_BATCH = "morisot.microBatch"
"""The local property with the number of a job's micro-batch, where Spark does not set its own."""


class Ledger:
    """The reports of the runs of one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._rule = LatestReports()

    @functools.cached_property
    def accumulator(self) -> Accumulator[Reports]:
        """One accumulator for all runs, because Spark never removes one."""
        try:
            context = self._spark.sparkContext
        except Exception:
            raise EnvironmentProblem(
                "on_error= counts with Spark's accumulators, which a Spark Connect session lacks: use a classic "
                "session, or catch the exception in the function itself."
            ) from None
        return context.accumulator({}, self._rule)  # type: ignore[arg-type]

    def take(self, run: str, up_to: int | None = None) -> Reports:
        """Removes and returns the reports of a run, of all its micro-batches or of those up to `up_to`."""
        if "accumulator" not in self.__dict__:
            return {}
        return self._rule.take(self.accumulator.value, run, up_to)


def current_task() -> Callable[[], tuple[int, int]]:
    """A function that returns the micro-batch (-1 for none) and partition of a task. Workers do not import Spark."""

    def current() -> tuple[int, int]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            return -1, 0
        batch = context.getLocalProperty(MICRO_BATCH) or context.getLocalProperty(names.MICRO_BATCH)
        return int(batch) if batch else -1, context.partitionId()

    return current
