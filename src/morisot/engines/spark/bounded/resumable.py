"""Bounded jobs with snapshots: resumable parts run as queries over source splits, then the remaining plan runs.

A job has a directory: with each split source, and each part with its checkpoint and its stored output. It is retained
until the snapshots are removed, so a program that runs again computes only what is missing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from morisot.engines.spark.bounded.part_sink import PartWriter, check_splits
from morisot.engines.spark.bounded.runner import BatchRunner, Receiver
from morisot.engines.spark.bounded.source_splits import SplitSource
from morisot.engines.spark.checkpoints.ownership import SnapshotLock
from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.emit.stateful.keyed_state import BUCKETS_PER_PARTITION
from morisot.engines.spark.emit.stateful.watermark_column import LATEST
from morisot.engines.spark.internals import query_log
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.io.file_output import already_there
from morisot.engines.spark.streaming.query.part import StreamPart
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.errors import JobError, SnapshotError
from morisot.plan.analysis.fingerprint import describe
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.resumable import Cut, ResumablePart, StoredSplits, StoreSplits, cut, substituted
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode, WriteSink, WriteTo
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.private import private_directory
from morisot.runtime.local_files import is_partitioned
from morisot.runtime.sink_protocol import handing_over
from morisot.runtime.snapshot_lag import SnapshotLag

_PIECE = re.compile(r"piece-(\d+)")
_NO_LISTS = "spark.sql.streaming.fileStreamSink.ignoreMetadata"


@dataclass(frozen=True)
class RemainingPlan:
    """The remaining plan of a job, when its parts are complete."""

    nodes: Mapping[Node, Node]
    """The replacement of each node of the plan, including the roots."""
    resumes: bool = False
    """Whether an earlier program was killed while it delivered results."""
    directory: Path | None = None
    """The directory of the job; None if it has none yet."""

    def receivers(self, given: Mapping[SinkNode, Receiver | None]) -> dict[SinkNode, Receiver | None]:
        """The receivers of the sinks. A user-defined sink that may have results of an earlier program resumes."""
        found: dict[SinkNode, Receiver | None] = {}
        for sink, receiver in given.items():
            new = self.nodes[sink]
            assert isinstance(new, SinkNode)
            found[new] = handing_over(new, resumes=True) if self.resumes and isinstance(new, WriteTo) else receiver
        return found


class ResumableJobs:
    """The resumable bounded jobs of one engine."""

    def __init__(
        self, settings: Snapshots | None, refuse: Callable[[Node], None], lock: SnapshotLock | None = None
    ) -> None:
        self._settings = settings
        self._lock = lock or SnapshotLock(None)
        self._refuse = refuse
        self._names: Counter[str] = Counter()
        self._jobs: list[ResumableJob] = []
        self._without_parts: list[Path] = []
        """The directories of jobs that only have records of sinks."""
        self._failed = False

    def cut(self, roots: Iterable[Node], spark: SparkSession | None) -> Cut | None:
        """The resumable parts of a plan, on a session if it exists yet; None without snapshots."""
        if self._settings is None:
            return None
        if spark is not None and not is_classic(spark):
            return Cut((), "a session of Spark Connect does not support resumable parts; the job")
        if spark is not None and spark.conf.get(_NO_LISTS) == "true":
            return Cut((), f"{_NO_LISTS} hides the lists of source splits; the job")
        return cut(roots, self._refuse, is_partitioned)

    @property
    def restart(self) -> str | int | None:
        """The snapshot to resume from; None: start from scratch."""
        return None if self._settings is None else self._settings.restart

    def directory_of(self, rest: RemainingPlan, operator: str, roots: Iterable[Node]) -> Path | None:
        """The directory of a job, also of one without resumable parts; None without snapshots."""
        if rest.directory is not None or self._settings is None:
            return rest.directory
        directory = self._directory(operator, tuple(roots))
        self._without_parts.append(directory)
        return directory

    @contextlib.contextmanager
    def running(self, runner: BatchRunner, operator: str, roots: Iterable[Node]) -> Iterator[RemainingPlan]:
        """Runs the parts, then the block runs the remaining plan. Its loops need the lock like the parts."""
        with self._lock.held(), self._running(runner, operator, tuple(roots)) as rest:
            yield rest

    @contextlib.contextmanager
    def _running(self, runner: BatchRunner, operator: str, roots: tuple[Node, ...]) -> Iterator[RemainingPlan]:
        found = self.cut(roots, runner.spark)
        if self._settings is None or found is None or not found.parts:
            yield RemainingPlan({root: root for root in roots})
            return
        job = ResumableJob(self._directory(operator, roots), operator, self._settings, runner)
        self._jobs.append(job)
        try:
            job.refuse_existing(roots)
            rest = job.rest(roots, {part.end: job.run(part) for part in found.parts})
            yield rest
        except BaseException:
            self._failed = True
            raise
        finally:
            runner.demotions.attribute(job.origins)
        job.finish()
        runner.tally.attribute(job.origins)

    def _directory(self, operator: str, roots: tuple[Node, ...]) -> Path:
        """The directory of a job: by the name of its first stream, else by its method, and by a number."""
        assert self._settings is not None
        stream = roots[0].inputs[0] if isinstance(roots[0], SinkNode) else roots[0]
        plain = re.sub(r"[^\w.-]+", "-", stream.label or operator)
        self._names[plain] += 1
        name = plain if self._names[plain] == 1 else f"{plain}-{self._names[plain]}"
        return Path(self._settings.path).absolute() / "bounded" / name

    def snapshots(self) -> list[Snapshot]:
        """The completed splits of each part of each job."""
        return [snapshot for job in self._jobs for snapshot in job.snapshots()]

    def close(self) -> None:
        """Removes the snapshots if the user requests it, and no job is left to resume."""
        if self._settings is not None and self._settings.clean_on_exit and not self._failed:
            for job in self._jobs:
                job.clean()
            for directory in self._without_parts:
                shutil.rmtree(directory, ignore_errors=True)
        self._jobs.clear()


class ResumableJob:
    """One run of some bounded sinks."""

    def __init__(self, directory: Path, operator: str, settings: Snapshots, runner: BatchRunner) -> None:
        self._directory = directory
        self._operator = operator
        self._settings = settings
        self._runner = runner
        self._delivering = directory / "delivering.json"
        self._sources: dict[Node, SplitSource] = {}
        self._checkpoints: list[Checkpoint] = []
        self.origins: dict[Node, Node] = {}
        """The operators of the bounded plan, by the operators that replace them."""
        if settings.restart is None:
            self.clean()

    # -- the parts ----------------------------------------------------------------------------------------------------

    def run(self, part: ResumablePart) -> StoredSplits:
        """Runs the remaining splits of a part. Returns its stored output."""
        source = self._source(part.source)
        directory = self._directory / f"part-{len(self._checkpoints)}"
        twins = part.over(source.node)
        self.origins |= {twin: node for node, twin in twins.items()}
        output = directory / "pieces"
        sink = part.sink(twins[part.end], str(output), self._operator)
        checkpoint = Checkpoint({sink: directory}, keep=self._settings.keep)
        checkpoint.names = [f"{self._directory.name}/{part.end.label or part.end.operator}"]
        self._checkpoints.append(checkpoint)
        restart = self._settings.restart if checkpoint.can_resume(self._settings.restart) else "latest"
        # Compared before the source is read: another program may have other elements.
        if checkpoint.can_resume(restart):
            checkpoint.resume(describe_part(sink, self._runner), "latest", replays_input=False)
        source.prepare()
        done = directory / "done"
        if isinstance(restart, int):
            done.unlink(missing_ok=True)
        number = splits_done(done)
        if number is None:
            check_splits(output, max(query_log.done(Path(checkpoint.location)), default=-1) + 1)
            number = self._run_splits(sink, checkpoint, source, restart)
            write_record(done, "part done", number)
        else:
            check_splits(output, number)
        return part.saved(sink)

    def _source(self, source: Node) -> SplitSource:
        if source not in self._sources:
            directory = self._directory / f"input-{len(self._sources)}"
            self._sources[source] = SplitSource(source, directory, self._settings, self._runner)
        return self._sources[source]

    def _run_splits(
        self, sink: StoreSplits, checkpoint: Checkpoint, source: SplitSource, restart: str | int | None
    ) -> int:
        """Runs the remaining splits. Returns the number of all splits."""
        output = Path(sink.directory)
        private_directory(output)
        seconds = self._settings.split_seconds
        if seconds is None:
            source.list_rest()
            self._stream(sink, checkpoint, restart)
        else:
            self._stream_by_time(sink, checkpoint, source, restart, seconds)
        spark = Path(checkpoint.location)
        refuse_unread(query_log.source_log(spark, 0), source.files)
        done = query_log.done(spark)
        waits = any(node.has_timers and not node.bounded for node in walk(sink))
        if done and waits and query_log.watermark(spark, done[-1]) < LATEST:  # the watermark is not at its maximum yet
            query_log.set_next_watermark(spark, done[-1], LATEST)
            source.add_end()
            self._stream(sink, checkpoint, "latest")
        last = max(query_log.done(spark), default=-1)
        for split in output.iterdir():  # left by a job that restored an earlier snapshot
            found = _PIECE.fullmatch(split.name)
            if found is None or int(found[1]) > last:
                shutil.rmtree(split, ignore_errors=True)
        return last + 1

    def _stream(self, sink: StoreSplits, checkpoint: Checkpoint, restart: str | int | None) -> None:
        """Runs the listed splits."""
        with self._streaming(sink, checkpoint, restart, Trigger(once=True)) as part:
            part.join(None)

    def _stream_by_time(
        self, sink: StoreSplits, checkpoint: Checkpoint, source: SplitSource, restart: str | int | None, seconds: float
    ) -> None:
        """Runs one split after the other, each sized to take `seconds`, by the duration of the one before."""
        with self._streaming(sink, checkpoint, restart, Trigger()) as part:
            part.catch_up()  # splits that an earlier program had listed
            size, lag = 1, SnapshotLag(self._operator, seconds)
            while part.error is None and source.list_more(size):
                began = time.monotonic()
                part.catch_up()
                lag.note(time.monotonic() - began)
                size = next_size(size, time.monotonic() - began, seconds)
            part.stop()

    @contextlib.contextmanager
    def _streaming(
        self, sink: StoreSplits, checkpoint: Checkpoint, restart: str | int | None, trigger: Trigger
    ) -> Iterator[StreamPart]:
        settings = dataclasses.replace(self._settings, restart=restart)  # type: ignore[arg-type]
        group, writers = Group(sink, (sink,)), [PartWriter(sink)]
        part = StreamPart(QuerySpec(self._runner, group, writers, checkpoint, trigger, snapshots=settings))
        part.start()
        try:
            yield part
        except BaseException:
            part.stop()
            raise
        if part.error is not None:
            raise part.error from part.error.__cause__

    # -- the remaining plan -------------------------------------------------------------------------------------------

    def refuse_existing(self, roots: Iterable[Node]) -> None:
        """Raises an error for an existing output directory before the job runs, unless this job has written it."""
        own = self._own_directories()
        for sink in new_directories(roots):
            path = Path(sink.path).absolute()
            if path.exists() and str(path) not in own:
                raise already_there(sink)

    def _own_directories(self) -> list[str]:
        """The output directories that an earlier run of this job had begun to write."""
        own: list[str] = read_record(self._delivering, "delivery", list)
        return own

    def rest(self, roots: tuple[Node, ...], saved: Mapping[Node, StoredSplits]) -> RemainingPlan:
        """The remaining plan. This job may replace a directory that its earlier run has begun to write."""
        resumes, own = self._delivering.exists(), self._own_directories()
        new = substituted(roots, saved)
        for sink in new_directories(roots):
            path = str(Path(sink.path).absolute())
            if path in own:
                new[sink] = dataclasses.replace(new[sink], mode="overwrite")  # type: ignore[call-arg]
            else:
                own.append(path)
        write_record(self._delivering, "delivery", own)
        self.origins |= {replacement: node for node, replacement in new.items()}
        return RemainingPlan(new, resumes, self._directory)

    def finish(self) -> None:
        """Called when all results have been delivered."""
        self._delivering.unlink(missing_ok=True)

    def snapshots(self) -> list[Snapshot]:
        return [snapshot for checkpoint in self._checkpoints for snapshot in checkpoint.snapshots()]

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def next_size(size: int, took: float, seconds: float) -> int:
    """The number of small splits that take `seconds`, if `size` of them took `took`; it grows by a limited factor.

    >>> [next_size(8, took, 10.0) for took in (0.1, 5.0, 10.0, 40.0, 900.0)]
    [32, 16, 8, 2, 1]
    """
    return max(1, min(int(size * seconds / took) if took else 4 * size, 4 * size))


def splits_done(done: Path) -> int | None:
    """The number of splits of a complete part; None if it is not complete, or unknown."""
    try:
        number: int | None = read_record(done, "part done", lambda: None)
    except SnapshotError:
        return None
    return number


def new_directories(roots: Iterable[Node]) -> list[WriteSink]:
    """The sinks that write directories on this machine that must not exist."""
    return [sink for sink in roots if isinstance(sink, WriteSink) and sink.mode == "error" and is_local(sink.path)]


def refuse_unread(log: Path, files: int) -> None:
    """Raises an error if Spark has read only a part of the input, because the missing part would not be noticed."""
    read = query_log.number_of_files(log)
    if read != files:
        raise JobError(f"Spark has read {read} of the {files} files of a resumable job; run it without snapshots=…")


def describe_part(sink: StoreSplits, runner: BatchRunner) -> dict[str, object]:
    """The description of a part, with which later programs are compared."""
    return describe(sink, parallelism=runner.parallelism, buckets=BUCKETS_PER_PARTITION)
