"""Where a streaming query keeps how far it is: Spark's own files, and what the plan was.

A micro-batch that Spark has committed is a snapshot. Its number is in `offsets` (how far the sources were read) and
`commits`; the states of operators are numbered one higher. To go back to a snapshot is to forget everything later.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from morisot.engines.spark.checkpoints.ownership import Hold
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


class Checkpoint:
    """The directories of the sinks of one streaming query.

    Each of them holds the plan, so that a sink that is served otherwise than before is noticed. The first by name holds
    everything else.
    """

    def __init__(
        self, directories: Mapping[SinkNode, Path], *, keep: int | None = None, hold: Hold | None = None
    ) -> None:
        by_name = sorted(directories.items(), key=lambda item: item[1])
        self.sinks = [sink for sink, _ in by_name]
        """In an order that does not change when lines of the program move."""
        self._directories = list(dict.fromkeys(directory for _, directory in by_name))
        self.names = [directory.name for directory in self._directories]
        self.keep = keep
        """How many snapshots stay; None: the checkpoint goes with the job."""
        directory = self._directory = self._directories[0]
        self._spark = directory / "spark"
        self._sizes = directory / "sizes"
        self._mark = directory / "going-back"
        self._sources = directory / "sources.json"
        self.idle_inputs = directory / "told"
        """Where idle inputs find the watermark of the others; it is of no use after a restart."""
        self.bounded_inputs = directory / "ended"
        """The copies of the query's bounded inputs."""
        self._hold = hold
        """The lock of the snapshot directory, as long as the query may write to it."""
        self._resumed_from: int | None = None
        """The last micro-batch of the job that made the checkpoint; None if this is a fresh start."""
        self._written = [OutputDirectory(sink) for sink in self.sinks if isinstance(sink, WriteSink)]

    @property
    def location(self) -> str:
        """What Spark is told."""
        return str(self._spark)

    # -- the start ----------------------------------------------------------------------------------------------------

    def can_resume(self, restart: str | int | None) -> bool:
        """Whether there is something to resume, and the user wants that."""
        return restart is not None and any(_saved_in(each) is not None for each in self._directories)

    def begin(self, plan: Description) -> None:
        """Make ready for a start from nothing."""
        for directory in self._directories:  # also where a sink was that was served otherwise before
            shutil.rmtree(directory / "spark", ignore_errors=True)
            shutil.rmtree(directory / "sizes", ignore_errors=True)
            shutil.rmtree(directory / "ended", ignore_errors=True)
            for name in ("going-back", "sources.json"):
                (directory / name).unlink(missing_ok=True)
        self._save_plan(plan)

    def resume(self, plan: Description, restart: str | int | None, *, replays_input: bool = True) -> None:
        """Make ready for a start from a snapshot; refuse a program or files from which no query can resume.

        Files that a micro-batch has read which is done again must be as they were, unless the caller sees to that.
        """
        self._refuse_changes(plan)
        marked: int | None = read_record(self._mark, "restore", lambda: None)
        if marked is not None:  # a program was killed while it went back
            self._go_back(marked)
        if isinstance(restart, int):
            self.refuse_missing(restart)
            self._go_back(restart)
        query_log.check(self._spark, self._logs_of_files, ignored=self.idle_inputs, replays_input=replays_input)
        committed = self._committed()
        if committed:
            for written in self._written:
                written.refuse_lost(committed[-1])
            for written in self._written:
                written.remove_strays()
        self._save_plan(plan)
        self._resumed_from = self._latest()

    def refuse_unreadable(self, failure: BaseException) -> None:
        """Raise if a query failed because it cannot resume from its checkpoint: it has done nothing since."""
        if self._resumed_from is not None and self._resumed_from == self._latest():
            refuse_unreadable(failure, self.location)

    def _latest(self) -> int:
        """The last micro-batch that is committed; -1 if there is none."""
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
                f"{sink.operator} cannot go on from the snapshots in {directory}, because the program has "
                f"changed: {'; '.join(changes)}",
                location=sink.location,
                advice="run the program that made them, or start anew with restart=None; operators that had a name(…) "
                "from the first start may change their functions",
            )

    def refuse_missing(self, number: int) -> None:
        """Refuse to go on from a snapshot that is not there."""
        there = self.numbers()
        if number not in there:
            known = f"there are {', '.join(map(str, there))}" if there else "there is none yet"
            names = " and ".join(self.names)
            raise ConfigError(f"restart is {number}: {names} has no such snapshot in {self._directory}; {known}.")

    # -- going back ---------------------------------------------------------------------------------------------------

    def _go_back(self, number: int) -> None:
        """Forget what came after a snapshot. The mark stays until all of it is gone, however often that takes."""
        write_record(self._mark, "restore", number)
        offsets = query_log.offsets(self._spark, number)
        for written in self._written:
            written.go_back(number)
        for log, last in self._logs_of_files(offsets):
            spark_log.cut(log, last)
        query_log.cut(self._spark, number)
        self._mark.unlink()

    def let_time_pass(self) -> None:
        """Let a query that goes on begin with a micro-batch without elements: what waited for time may be due.

        Spark plans one by itself, but only behind one that it has done since it was started.
        """
        query_log.plan_empty_batch(self._spark)

    # -- the sources --------------------------------------------------------------------------------------------------

    def note_sources(self, numbers: Sequence[int]) -> None:
        """Remember which number each source of a query has that is about to start."""
        write_record(self._sources, "sources", list(numbers))

    def _log_of(self, index: int) -> Path:
        """The log of the source with an index in the offsets; a source that is read twice has two of them."""
        numbers = read_record(self._sources, "sources")
        return query_log.source_log(self._spark, numbers[index] if index < len(numbers) else index)

    def _logs_of_files(self, offsets: Sequence[Any]) -> list[tuple[Path, int]]:
        """The logs of the sources that read files, and how far each was read."""
        reached = enumerate(map(query_log.file_offset, offsets))
        return [(self._log_of(index), last) for index, last in reached if last is not None]

    # -- what is there ------------------------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """The snapshots from which a job can start: where Spark goes on from one it also looks at the one before."""
        committed = self._committed()
        return [each for each in committed if (each == 0 or each - 1 in committed) and self._is_whole(each)]

    def _committed(self) -> list[int]:
        started = set(query_log.started(self._spark))
        return [number for number in query_log.done(self._spark) if number in started]

    def _is_whole(self, number: int) -> bool:
        try:
            files = self._logs_of_files(query_log.offsets(self._spark, number))
        except (FileNotFoundError, SnapshotError):  # the job that runs has dropped it meanwhile, or it is damaged
            return False
        return all(spark_log.reaching(log, last) is not None for log, last in files) and all(
            written.can_go_back(number) for written in self._written
        )

    def snapshots(self) -> list[Snapshot]:
        """The records of the snapshots from which a job can start, those of each sink."""
        numbers = self.numbers()
        found = (self._snapshot(number, name) for name in self.names for number in numbers)
        return [snapshot for snapshot in found if snapshot is not None]

    def _snapshot(self, number: int, name: str) -> Snapshot | None:
        """The record of a snapshot; None if the job that runs has dropped it meanwhile, or it is damaged."""
        try:
            when, offsets = query_log.started_at(self._spark, number), query_log.offsets(self._spark, number)
        except (FileNotFoundError, SnapshotError):
            return None
        return Snapshot(number, name, when, tuple(offsets), self._sizes_at(number))

    def files_read(self, directory: str, sources: Iterable[Mapping[str, Any]] | None = None) -> set[str]:
        """The names of the files of a directory that were read: in all, or in the micro-batch of a progress report."""
        ranges = self._all_read() if sources is None else self._read_in(sources)
        files = (file for log, first, last in ranges for file in query_log.files_read(log, first, last))
        return {file.name for file in files if str(file.parent) == directory}

    def _all_read(self) -> list[tuple[Path, int, int]]:
        """The logs of the sources that read files, with the first and the last entry that micro-batches have read."""
        committed = self._committed()
        offsets = query_log.offsets(self._spark, committed[-1]) if committed else []
        return [(log, 0, last) for log, last in self._logs_of_files(offsets)]

    def _read_in(self, sources: Iterable[Mapping[str, Any]]) -> list[tuple[Path, int, int]]:
        """The same for the micro-batch of a progress report."""
        ranges = enumerate(map(query_log.range_read, sources))
        return [(self._log_of(index), *read) for index, read in ranges if read is not None]

    def note_sizes(self, number: int, state: Mapping[str, StateMetrics]) -> None:
        """Remember how large the states were, as long as the snapshot is there."""
        if self.keep is None or not state:
            return
        private_directory(self._sizes)
        write_record(self._sizes_of(number), "state sizes", state)
        for file in self._sizes.glob("*.json"):
            if int(file.stem) <= number - max(self.keep, 2) - 1:
                file.unlink(missing_ok=True)

    def _sizes_at(self, number: int) -> Mapping[str, Mapping[str, int]]:
        """How large the states were. They are for people: a damaged file costs nobody an answer."""
        try:
            found: Mapping[str, Mapping[str, int]] = read_record(self._sizes_of(number), "state sizes", dict)
        except SnapshotError:
            return {}
        return found

    def _sizes_of(self, number: int) -> Path:
        return self._sizes / f"{number}.json"

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """The job has ended: a checkpoint without snapshots goes."""
        try:
            if self.keep is None:
                self.clean()
            elif self._committed():
                for written in self._written:
                    written.remove_strays()
        finally:
            self.release()

    def release(self) -> None:
        """The query has ended, or did not start: others may write to the directory."""
        if self._hold is not None:
            self._hold.release()

    def clean(self) -> None:
        """Remove everything that was saved."""
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)


def was_alone(directory: Path) -> bool:
    """Whether a sink has snapshots here of a query that served no other."""
    saved = _saved_in(directory)
    return saved is not None and len(saved.get("sinks", [directory.name])) == 1


def _saved_in(directory: Path) -> Description | None:
    """The plan that was saved; refuse what Spark has written for a plan that nobody knows."""
    known = (directory / "spark").exists()
    saved: Description | None = read_record(_plan_in(directory), "plan", None if known else lambda: None)
    return saved


def _plan_in(directory: Path) -> Path:
    return directory / "plan.json"
