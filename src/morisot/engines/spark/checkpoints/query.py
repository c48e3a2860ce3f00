"""The checkpoint of a streaming query: Spark's files, and a description of the plan.

A micro-batch that Spark has committed is a snapshot. Its number is in `offsets` (the offsets of the sources) and in
`commits`; the states of operators are numbered one higher. To restore a snapshot, everything later is removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morisot.engines.spark.checkpoints.ownership import Hold
from morisot.engines.spark.checkpoints.rescaling import Rescaling
from morisot.engines.spark.checkpoints.sink_records import SinkFiles
from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.internals import query_log, spark_log
from morisot.engines.spark.internals.restore_failures import refuse_unreadable
from morisot.engines.spark.io.output_directory import OutputDirectory
from morisot.errors import ConfigError, PlanError, SinkError, SnapshotError
from morisot.plan.analysis.fingerprint import Description, differences
from morisot.plan.nodes.sink import SinkNode, WriteSink
from morisot.plan.snapshots import Snapshot
from morisot.private import private_directory
from morisot.runtime.metrics import StateMetrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPERATORS = "operators.json"


class Checkpoint:
    """The directories of the sinks of one streaming query.

    Each of them has the plan, so that a change of the query group of a sink is noticed. The first by name has the
    other files.
    """

    def __init__(
        self, directories: Mapping[SinkNode, Path], *, keep: int | None = None, hold: Hold | None = None
    ) -> None:
        by_name = sorted(directories.items(), key=lambda item: item[1])
        self.sinks = [sink for sink, _ in by_name]
        """Sorted by name, which does not change when lines of the program move."""
        self._by_sink = directories
        self._directories = list(dict.fromkeys(directory for _, directory in by_name))
        self.names = [directory.name for directory in self._directories]
        self.keep = keep
        """The number of retained snapshots; None: the checkpoint is removed at the end of the job."""
        directory = self._directory = self._directories[0]
        self._spark = directory / "spark"
        self._sizes = directory / "sizes"
        self._restoring_file = directory / "going-back"
        self._sources = directory / "sources.json"
        self._operators = directory / _OPERATORS
        self._end = directory / "end.json"
        self.rescaling = Rescaling(self._spark, directory / "rescaled.json")
        self.idle_inputs = directory / "told"
        """The directory through which idle inputs get the watermark of the others. It is not used after a restart."""
        self.bounded_inputs = directory / "ended"
        """The directory of copies of the query's bounded inputs."""
        self._hold = hold
        """The lock of the snapshot directory, while the query may write to it."""
        self._resumed_from: int | None = None
        """The last micro-batch of the job that wrote the checkpoint; None if the query starts from scratch."""
        self._written = [OutputDirectory(sink) for sink in self.sinks if isinstance(sink, WriteSink)]

    @property
    def location(self) -> str:
        """The checkpoint location for Spark."""
        return str(self._spark)

    # -- the start ----------------------------------------------------------------------------------------------------

    def can_resume(self, restart: str | int | None) -> bool:
        """Whether there is a checkpoint, and `restart` allows to resume."""
        return restart is not None and any(_saved_in(each) is not None for each in self._directories)

    def begin(self, plan: Description) -> None:
        """Prepares a start from scratch."""
        for directory in self._directories:  # also directories of sinks that were in other query groups
            shutil.rmtree(directory / "spark", ignore_errors=True)
            shutil.rmtree(directory / "sizes", ignore_errors=True)
            shutil.rmtree(directory / "ended", ignore_errors=True)
            for name in ("going-back", "sources.json", "end.json", "rescaled.json"):
                (directory / name).unlink(missing_ok=True)
        self._save_plan(plan)

    def resume(self, plan: Description, restart: str | int | None, *, replays_input: bool = True) -> None:
        """Prepares a start from a snapshot. Raises an error for a program or files with which the query cannot resume.

        Input files of a micro-batch that is replayed must be unchanged, unless the caller ensures it.
        """
        self._refuse_changes(plan)
        restoring: int | None = read_record(self._restoring_file, "restore", lambda: None)
        if restoring is not None:  # a program was killed while it restored a snapshot
            self._restore(restoring)
        if isinstance(restart, int):
            self.refuse_missing(restart)
            self._restore(restart)
        query_log.check(self._spark, self._logs_of_files, ignored=self.idle_inputs, replays_input=replays_input)
        committed = self._delivered()
        if committed:
            for written in self._written:
                written.refuse_lost(committed[-1], without=self.rescaling.added)
            for written in self._written:
                written.remove_uncommitted()
        self._save_plan(plan)
        self._resumed_from = self._latest()

    def refuse_unreadable(self, failure: BaseException) -> None:
        """Raises an error if a query failed because it cannot resume: it has run no micro-batch since its start."""
        if self._resumed_from is not None and self._resumed_from == self._latest():
            refuse_unreadable(failure, self.location)

    @property
    def latest_name(self) -> str | None:
        """The last committed micro-batch with the name of its job; None if there is none."""
        return f"{self.names[0]}:{self._latest()}" if self.has_begun else None

    def note_operators(self, operators: Sequence[Mapping[str, str]]) -> None:
        """Stores which operators have a state, for readers without the program."""
        write_record(self._operators, "operators", list(operators))

    def settings(self, default: Mapping[str, int]) -> Mapping[str, int]:
        """The settings on which the states depend, which are fixed when a job starts from scratch."""
        saved = _saved_in(self._directory)
        return default if saved is None else saved["settings"]

    def rescale(self, spark: SparkSession, partitions: int, operators: Callable[[], Sequence[str]]) -> bool:
        """Changes the number of state partitions, if it differs. Returns False if a micro-batch is open."""
        self.rescaling.finish(spark)
        if self.rescaling.partitions() not in (None, partitions):
            if self.rescaling.has_open_batch:
                return False
            self.rescaling.change(spark, partitions, operators)
        for written in self._written:
            written.skip(spark, self.rescaling.added)
        return True

    def _latest(self) -> int:
        """The last committed micro-batch; -1 if there is none."""
        return max(query_log.done(self._spark), default=-1)

    def _save_plan(self, plan: Description) -> None:
        content = {**plan, "sinks": self.names}
        for directory in self._directories:
            try:
                private_directory(directory)
                write_record(_plan_in(directory), "plan", content)
            except OSError as error:
                raise SinkError(f"snapshots cannot be written to {directory}: {error.strerror}") from None

    def _refuse_changes(self, plan: Description) -> None:
        for directory, sink in zip(self._directories, self.sinks, strict=False):
            saved = _saved_in(directory)
            changes = [] if saved is None else differences(saved, plan)
            if not changes:
                continue
            raise PlanError(
                f"{sink.operator} cannot resume from the snapshots in {directory}, because the program has "
                f"changed: {'; '.join(changes)}",
                location=sink.location,
                advice="run the program that made them, or start from scratch with restart=None; operators that had a "
                "name(…) from the first start may change their functions",
            )

    def refuse_missing(self, number: int) -> None:
        """Raises an error for a snapshot that does not exist."""
        there = self.numbers()
        if number not in there:
            known = f"there are {', '.join(map(str, there))}" if there else "there is none yet"
            names = " and ".join(self.names)
            raise ConfigError(f"restart is {number}: {names} has no such snapshot in {self._directory}; {known}.")

    # -- restoring ----------------------------------------------------------------------------------------------------

    def _restore(self, number: int) -> None:
        """Removes everything after a snapshot. A record with its number exists until that is complete."""
        write_record(self._restoring_file, "restore", number)
        offsets = query_log.offsets(self._spark, number)
        for written in self._written:
            written.restore(number)
        for log, last in self._logs_of_files(offsets):
            spark_log.cut(log, last)
        query_log.cut(self._spark, number)
        self.rescaling.forget_after(number)
        self._end.unlink(missing_ok=True)
        self._restoring_file.unlink()

    def plan_empty_batch(self) -> None:
        """Lets a query that resumes start with a micro-batch without elements, because timers may have expired.

        Spark plans such a micro-batch by itself, but only after one that has run since the start.
        """
        query_log.plan_empty_batch(self._spark)

    # -- the sources --------------------------------------------------------------------------------------------------

    def note_sources(self, numbers: Sequence[int]) -> None:
        """Stores the number of each source of a query that is about to start."""
        write_record(self._sources, "sources", list(numbers))

    def _log_of(self, index: int) -> Path:
        """The log of the source with an index in the offsets. A source that is read twice has two indexes."""
        numbers = read_record(self._sources, "sources")
        return query_log.source_log(self._spark, numbers[index] if index < len(numbers) else index)

    def _logs_of_files(self, offsets: Sequence[Any]) -> list[tuple[Path, int]]:
        """The logs of the sources that read files, and the offset of each."""
        reached = enumerate(map(query_log.file_offset, offsets))
        return [(self._log_of(index), last) for index, last in reached if last is not None]

    # -- the end of the sources ---------------------------------------------------------------------------------------

    def plan_end(self) -> int:
        """Stores the number of the next micro-batch as the end of the sources. Called while no query runs."""
        number = max(query_log.started(self._spark), default=-1) + 1
        write_record(self._end, "end", number)
        return number

    @property
    def has_started(self) -> bool:
        """Whether a micro-batch was started."""
        return bool(query_log.started(self._spark))

    @property
    def has_begun(self) -> bool:
        """Whether a micro-batch is committed."""
        return self._latest() >= 0

    @property
    def planned_end(self) -> int | None:
        """The micro-batch at the end of the sources, if it is not committed yet."""
        number = self._noted_end()
        return number if number is not None and number > self._latest() else None

    @property
    def has_ended(self) -> bool:
        """Whether the end of the sources is committed, and there were no elements after it."""
        number, latest = self._noted_end(), self._latest()
        if number is None or latest < number:
            return False
        started = query_log.started(self._spark)
        return number in started and query_log.offsets(self._spark, number) == query_log.offsets(self._spark, latest)

    def _noted_end(self) -> int | None:
        number: int | None = read_record(self._end, "end", lambda: None)
        return number

    # -- sinks ------------------------------------------------------------------------------------------------------

    def records_of(self, sink: SinkNode) -> SinkFiles:
        """The record of a two-phase sink: in its own directory, or in a common one without snapshots."""
        together = [each for each in self.sinks if self._by_sink[each] == self._by_sink[sink]]
        return SinkFiles(self._by_sink[sink] / f"sink-{together.index(sink)}")

    def completed(self) -> list[int]:
        """The committed micro-batches of the job that are retained, whose snapshots are complete."""
        added = self.rescaling.added
        return [number for number in query_log.done(self._spark) if number not in added]

    def newest(self) -> tuple[int, int]:
        """The last micro-batch that was started, and the last committed one; -1 if there is none."""
        return max(query_log.started(self._spark), default=-1), max(self.completed(), default=-1)

    # -- snapshots ----------------------------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """The snapshots from which a job can resume. Spark also reads the one before it."""
        committed = self._committed()
        return [each for each in self._delivered() if (each == 0 or each - 1 in committed) and self._is_complete(each)]

    def _committed(self) -> list[int]:
        started = set(query_log.started(self._spark))
        return [number for number in query_log.done(self._spark) if number in started]

    def _delivered(self) -> list[int]:
        """The committed micro-batches without those that changed the number of state partitions."""
        added = self.rescaling.added
        return [number for number in self._committed() if number not in added]

    def _is_complete(self, number: int) -> bool:
        try:
            files = self._logs_of_files(query_log.offsets(self._spark, number))
        except (FileNotFoundError, SnapshotError):  # the running job has removed it meanwhile, or it is damaged
            return False
        return all(spark_log.reaching(log, last) is not None for log, last in files) and all(
            written.can_restore(number) for written in self._written
        )

    def snapshots(self) -> list[Snapshot]:
        """The snapshots from which a job can resume, for each sink."""
        numbers = self.numbers()
        found = (self._snapshot(number, name) for name in self.names for number in numbers)
        return [snapshot for snapshot in found if snapshot is not None]

    def _snapshot(self, number: int, name: str) -> Snapshot | None:
        """A snapshot; None if the running job has removed it meanwhile, or it is damaged."""
        try:
            when, offsets = query_log.started_at(self._spark, number), query_log.offsets(self._spark, number)
        except (FileNotFoundError, SnapshotError):
            return None
        return Snapshot(number, name, when, tuple(offsets), self._sizes_at(number))

    def files_read(self, directory: str, sources: Iterable[Mapping[str, Any]] | None = None) -> set[str]:
        """The names of the files of a directory that were read: all, or those in a progress report."""
        ranges = self._all_read() if sources is None else self._read_in(sources)
        files = (file for log, first, last in ranges for file in query_log.files_read(log, first, last))
        return {file.name for file in files if str(file.parent) == directory}

    def _all_read(self) -> list[tuple[Path, int, int]]:
        """The logs of the sources that read files, with the first and the last entry that were read."""
        committed = self._committed()
        offsets = query_log.offsets(self._spark, committed[-1]) if committed else []
        return [(log, 0, last) for log, last in self._logs_of_files(offsets)]

    def _read_in(self, sources: Iterable[Mapping[str, Any]]) -> list[tuple[Path, int, int]]:
        """The same for the micro-batch of a progress report."""
        ranges = enumerate(map(query_log.range_read, sources))
        return [(self._log_of(index), *read) for index, read in ranges if read is not None]

    def note_sizes(self, number: int, state: Mapping[str, StateMetrics]) -> None:
        """Stores the sizes of the states, as long as the snapshot exists."""
        if self.keep is None or not state:
            return
        private_directory(self._sizes)
        write_record(self._sizes_of(number), "state sizes", state)
        for file in self._sizes.glob("*.json"):
            if int(file.stem) <= number - max(self.keep, 2) - 1:
                file.unlink(missing_ok=True)

    def _sizes_at(self, number: int) -> Mapping[str, Mapping[str, int]]:
        """The sizes of the states. They are informative only, so a damaged file is not an error."""
        try:
            found: Mapping[str, Mapping[str, int]] = read_record(self._sizes_of(number), "state sizes", dict)
        except SnapshotError:
            return {}
        return found

    def _sizes_of(self, number: int) -> Path:
        return self._sizes / f"{number}.json"

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Called when the job has ended. A checkpoint without snapshots is removed."""
        try:
            if self.keep is None:
                self.clean()
            elif self._committed():
                for written in self._written:
                    written.remove_uncommitted()
        finally:
            self.release()

    def release(self) -> None:
        """Called when the query has ended, or did not start: others may write to the directory."""
        if self._hold is not None:
            self._hold.release()

    def clean(self) -> None:
        """Removes the checkpoint."""
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)


def saved_operators(directory: Path) -> Iterator[tuple[Path, list[dict[str, str]]]]:
    """The queries below a directory of snapshots, each with its operators that have a state."""
    for file in sorted(directory.glob(f"streams/*/{_OPERATORS}")):
        yield file.parent / "spark", read_record(file, "operators")


def was_alone(directory: Path) -> bool:
    """Whether a sink has snapshots here of a query that served no other sink."""
    saved = _saved_in(directory)
    return saved is not None and len(saved.get("sinks", [directory.name])) == 1


def _saved_in(directory: Path) -> Description | None:
    """The saved plan. Raises an error if there are files of Spark without a plan."""
    known = (directory / "spark").exists()
    saved: Description | None = read_record(_plan_in(directory), "plan", None if known else lambda: None)
    return saved


def _plan_in(directory: Path) -> Path:
    return directory / "plan.json"
