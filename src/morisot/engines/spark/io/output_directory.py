"""The output directories of unbounded jobs, which are restored to the content of a snapshot.

Spark's file sink lists the files of each micro-batch in a log, `_spark_metadata`. Spark reads only listed files. Other
readers see every file, so files of a killed job that are not listed are removed. Running values are written into a
directory for each micro-batch.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from morisot.engines.spark.internals import file_sink, file_sink_log, spark_log
from morisot.engines.spark.internals.file_sink_log import LoggedFile
from morisot.engines.spark.internals.streaming import add_nothing
from morisot.errors import SinkError
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.files import is_local
from morisot.plan.nodes.sink import WriteSink
from morisot.runtime.snapshot_errors import damaged, missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH, _UNFINISHED = re.compile(r"batch=(\d+)"), "_writing-"
_RESTORE = "restore the output of the job from a backup, or start from scratch with restart=None"


def batch_in(directory: str, batch: int) -> str:
    """The directory of a micro-batch of running values."""
    return f"{directory}/batch={batch}"


def unfinished_in(directory: str, batch: int) -> str:
    """The temporary name of the directory while it is written."""
    return f"{directory}/{_UNFINISHED}{batch}"


class OutputDirectory:
    """The output of a sink, if it is on this machine's disks."""

    def __init__(self, sink: WriteSink) -> None:
        self._sink = sink
        self.is_local = is_local(sink.path)
        self._directory = Path(sink.path)
        self._log = file_sink_log.log_in(self._directory)
        self._running = any(map(gives_running_values, walk(sink)))
        """Whether each micro-batch has its own directory."""

    @property
    def exists(self) -> bool:
        return self._directory.is_dir()

    def skip(self, spark: SparkSession, numbers: Iterable[int]) -> None:
        """Notes in the log that some micro-batches have no elements, unless it has later entries."""
        last = max(spark_log.numbers(self._log), default=-1) if self.is_local and self._log.is_dir() else None
        if last is not None:
            for number in numbers:
                if number > last:
                    add_nothing(spark, self._log, number)

    def refuse_lost(self, committed: int, *, without: Collection[int] = ()) -> None:
        """Raises an error if results of committed micro-batches are missing; some of them have no elements."""
        if not self.is_local:
            return
        if not self.exists:
            raise SinkError(
                f"{self._sink.operator} ({self._sink.location}): {self._sink.path!r}, which the job has written "
                "before, is gone; start from scratch with Snapshots(…, restart=None)"
            )
        if self._log.is_dir():
            for file in file_sink_log.listed(self._log, committed, advice=_RESTORE):
                self._refuse_lost_file(file)
        elif self._running:
            there = {directory.name for directory in self._directory.glob("batch=*")}
            expected = (f"batch={number}" for number in range(committed + 1) if number not in without)
            lost = next((name for name in expected if name not in there), None)
            if lost is not None:
                raise missing(self._directory / lost, advice=_RESTORE)
        else:
            raise missing(self._log, advice=_RESTORE)

    def _refuse_lost_file(self, listed: LoggedFile) -> None:
        file = self._directory / listed.name
        if not listed.is_added:
            return
        if not file.is_file():
            raise missing(file, advice=_RESTORE)
        if listed.size is not None and file.stat().st_size != listed.size:
            raise damaged(file, f"it does not have its {listed.size} bytes", advice=_RESTORE)

    def can_restore(self, number: int) -> bool:
        """Whether the content after a micro-batch is still known."""
        return self.is_local and (not self._log.is_dir() or spark_log.reaching(self._log, number) is not None)

    def restore(self, number: int) -> None:
        """Removes the output of later micro-batches."""
        spark_log.cut(self._log, number)
        for directory in self._directory.glob("batch=*"):
            found = _BATCH.fullmatch(directory.name)
            if found and int(found[1]) > number:
                shutil.rmtree(directory, ignore_errors=True)
        self.remove_uncommitted()

    def remove_uncommitted(self) -> None:
        """Removes files that do not belong to a committed micro-batch."""
        if not self.is_local or not self.exists:
            return
        for unfinished in self._directory.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(unfinished, ignore_errors=True)
        if not self._log.is_dir():
            return
        listed = self._listed()
        for file in file_sink.part_files(self._directory):
            if file.is_file() and file.name not in listed:
                spark_log.remove(file)

    def _listed(self) -> set[str]:
        return {each.name for each in file_sink_log.listed(self._log, -1, advice=_RESTORE)}
