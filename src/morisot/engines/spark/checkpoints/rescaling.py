"""A checkpoint with another number of state partitions: a stopped job resumes with another parallelism.

Keys are hashed to buckets, whose number is fixed for a checkpoint. Spark moves the buckets to other partitions, in a
micro-batch without elements. It needs a checkpoint without an open micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.internals import query_log
from morisot.engines.spark.internals.streaming import NotRepartitioned, repartition
from morisot.errors import SnapshotError
from morisot.runtime import faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Rescaling:
    """The changes of the number of state partitions of one query."""

    def __init__(self, query: Path, record: Path) -> None:
        self._query = query
        self._record = record
        """A file with the numbers of the micro-batches that Spark has added."""

    @property
    def added(self) -> list[int]:
        """The retained micro-batches that changed the number of partitions. They have no elements."""
        started = set(query_log.started(self._query))
        return [number for number in self._noted() if number in started]

    def _noted(self) -> list[int]:
        found: list[int] = read_record(self._record, "rescaled", list)
        return found

    def forget_after(self, number: int) -> None:
        """Called when a job resumes from a snapshot: later micro-batches will have elements."""
        noted = self._noted()
        kept = [each for each in noted if each <= number]
        if kept != noted:
            write_record(self._record, "rescaled", kept)

    def partitions(self) -> int | None:
        """The number of state partitions; None if there are no states."""
        started = query_log.started(self._query)
        return query_log.partitions(self._query, started[-1]) if started else None

    @property
    def has_open_batch(self) -> bool:
        """Whether a micro-batch was started and not committed: Spark finishes it with the number it had."""
        return max(query_log.started(self._query)) > max(query_log.done(self._query), default=-1)

    def finish(self, spark: SparkSession) -> None:
        """Finishes a change that was interrupted: the program was killed meanwhile."""
        started = query_log.started(self._query)
        if started and started[-1] in self._noted() and self.has_open_batch:
            partitions = query_log.partitions(self._query, started[-1])
            assert partitions is not None, "Spark writes the new number first"
            repartition(spark, self._query, partitions)

    def change(self, spark: SparkSession, partitions: int, operators: Callable[[], Sequence[str]]) -> None:
        """Changes the number of partitions. Raises an error that names the operators if Spark refuses."""
        before, number = self.partitions(), max(query_log.done(self._query)) + 1
        write_record(self._record, "rescaled", [*self.added, number])
        try:
            with faults.around("state repartition", number):
                repartition(spark, self._query, partitions)
        except NotRepartitioned as error:
            self.forget_after(number - 1)
            raise SnapshotError(
                f"Spark cannot change the parallelism from {before} to {partitions} for the state of "
                f"{' and '.join(operators())}: {error}",
                advice=f"resume with parallelism={before}, or start from scratch with restart=None",
            ) from None
