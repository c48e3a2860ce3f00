"""What tasks left out, on its way to the user's process: an accumulator in which the last report of a place counts.

Spark hands over an accumulator's updates when a task ends, and again when it runs the task again. Adding them up would
count such elements twice; keeping one report for each place does not.
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
"""The local property by which a job that runs for a micro-batch says for which, where Spark does not."""


class Ledger:
    """The reports of the runs of one session."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._rule = LatestReports()

    @functools.cached_property
    def accumulator(self) -> Accumulator[Reports]:
        """One for all runs: Spark never forgets one."""
        try:
            context = self._spark.sparkContext
        except Exception:
            raise EnvironmentProblem(
                "on_error= counts with Spark's accumulators, which a Spark Connect session has not: use a classic "
                "session, or catch the exception in the function itself."
            ) from None
        return context.accumulator({}, self._rule)  # type: ignore[arg-type]

    def take(self, run: str, up_to: int | None = None) -> Reports:
        """Remove and give the reports of a run, of all its micro-batches or those up to one."""
        if "accumulator" not in self.__dict__:
            return {}
        return self._rule.take(self.accumulator.value, run, up_to)


def place() -> Callable[[], tuple[int, int]]:
    """A function that tells a task its micro-batch (-1 for none) and partition, without the worker knowing Spark."""

    def current() -> tuple[int, int]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            return -1, 0
        batch = context.getLocalProperty(MICRO_BATCH) or context.getLocalProperty(names.MICRO_BATCH)
        return int(batch) if batch else -1, context.partitionId()

    return current
