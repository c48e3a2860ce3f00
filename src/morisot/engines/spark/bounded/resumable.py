"""Bounded jobs with snapshots: parts of the plan run as streams, piece by piece, the rest over what those gave.

A job is a directory: each source that is cut, and each part with its checkpoint and what its pieces gave. Everything
stays until the snapshots are removed, so a program that runs again does only what is not there.
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

from morisot.engines.spark.bounded.part_sink import PartWriter, check_pieces
from morisot.engines.spark.bounded.runner import BatchRunner, Receiver
from morisot.engines.spark.bounded.source_splits import CutSource
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
from morisot.plan.analysis.resumable import Cut, KeepPieces, ResumablePart, SavedPieces, cut, substituted
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode, WriteSink, WriteTo
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.private import private_directory
from morisot.runtime.local_files import is_partitioned
from morisot.runtime.sink_protocol import handing_over

_PIECE = re.compile(r"piece-(\d+)")
_NO_LISTS = "spark.sql.streaming.fileStreamSink.ignoreMetadata"


@dataclass(frozen=True)
class Rest:
    """What is left of a job when its parts are done."""

    nodes: Mapping[Node, Node]
    """What to run in the place of each of the plan's nodes, the roots among them."""
    resumes: bool = False
    """Whether an earlier program was killed while it delivered."""

    def receivers(self, given: Mapping[SinkNode, Receiver | None]) -> dict[SinkNode, Receiver | None]:
        """Who gets the elements of each sink: one of the user's is asked what it has, if it may have been given it."""
        found: dict[SinkNode, Receiver | None] = {}
        for sink, receiver in given.items():
            new = self.nodes[sink]
            assert isinstance(new, SinkNode)
            found[new] = handing_over(new, resumes=True) if self.resumes and isinstance(new, WriteTo) else receiver
        return found


class Pieces:
    """The bounded jobs of one engine."""

    def __init__(
        self, settings: Snapshots | None, refuse: Callable[[Node], None], lock: SnapshotLock | None = None
    ) -> None:
        self._settings = settings
        self._lock = lock or SnapshotLock(None)
        self._refuse = refuse
        self._names: Counter[str] = Counter()
        self._jobs: list[PieceJob] = []
        self._failed = False

    def cut(self, roots: Iterable[Node], spark: SparkSession | None) -> Cut | None:
        """Which parts of a plan run in pieces on a session, if it is there yet; None if nothing is saved at all."""
        if self._settings is None:
            return None
        if spark is not None and not is_classic(spark):
            return Cut((), "a session of Spark Connect keeps no pieces; the job")
        if spark is not None and spark.conf.get(_NO_LISTS) == "true":
            return Cut((), f"{_NO_LISTS} hides what pieces are to be read; the job")
        return cut(roots, self._refuse, is_partitioned)

    @contextlib.contextmanager
    def running(self, runner: BatchRunner, operator: str, roots: Iterable[Node]) -> Iterator[Rest]:
        """Run the parts, then let the rest be run. The loops of the rest need the lock as the parts do."""
        with self._lock.held(), self._running(runner, operator, tuple(roots)) as rest:
            yield rest

    @contextlib.contextmanager
    def _running(self, runner: BatchRunner, operator: str, roots: tuple[Node, ...]) -> Iterator[Rest]:
        found = self.cut(roots, runner.spark)
        if self._settings is None or found is None or not found.parts:
            yield Rest({root: root for root in roots})
            return
        job = PieceJob(self._directory(operator, roots), operator, self._settings, runner)
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
        runner.tally.attribute({new: node for node, new in rest.nodes.items()})

    def _directory(self, operator: str, roots: tuple[Node, ...]) -> Path:
        """Where a job is saved: by the name of its first stream, else by its method, and by which of them it is."""
        assert self._settings is not None
        stream = roots[0].inputs[0] if isinstance(roots[0], SinkNode) else roots[0]
        plain = re.sub(r"[^\w.-]+", "-", stream.label or operator)
        self._names[plain] += 1
        name = plain if self._names[plain] == 1 else f"{plain}-{self._names[plain]}"
        return Path(self._settings.path).absolute() / "bounded" / name

    def snapshots(self) -> list[Snapshot]:
        """The pieces that are done, of each part of each job."""
        return [snapshot for job in self._jobs for snapshot in job.snapshots()]

    def close(self) -> None:
        """Remove what was saved if the user wants that and nothing is left to go on from."""
        if self._settings is not None and self._settings.clean_on_exit and not self._failed:
            for job in self._jobs:
                job.clean()
        self._jobs.clear()


class PieceJob:
    """One run of some bounded sinks."""

    def __init__(self, directory: Path, operator: str, settings: Snapshots, runner: BatchRunner) -> None:
        self._directory = directory
        self._operator = operator
        self._settings = settings
        self._runner = runner
        self._delivering = directory / "delivering.json"
        self._sources: dict[Node, CutSource] = {}
        self._checkpoints: list[Checkpoint] = []
        self.origins: dict[Node, Node] = {}
        """The operators of the bounded plan by those that run in their stead."""
        if settings.restart is None:
            self.clean()

    # -- the parts ----------------------------------------------------------------------------------------------------

    def run(self, part: ResumablePart) -> SavedPieces:
        """Do what is not done of a part; what its pieces gave."""
        source = self._source(part.source)
        directory = self._directory / f"part-{len(self._checkpoints)}"
        twins = part.over(source.node)
        self.origins |= {twin: node for node, twin in twins.items()}
        kept = directory / "pieces"
        sink = part.sink(twins[part.end], str(kept), self._operator)
        checkpoint = Checkpoint({sink: directory}, keep=self._settings.keep)
        checkpoint.names = [f"{self._directory.name}/{part.end.label or part.end.operator}"]
        self._checkpoints.append(checkpoint)
        restart = self._settings.restart if checkpoint.can_resume(self._settings.restart) else "latest"
        if checkpoint.can_resume(restart):  # before its elements are looked at: another program may read others
            checkpoint.resume(describe_part(sink, self._runner), "latest", replays_input=False)
        source.prepare()
        done = directory / "done"
        if isinstance(restart, int):
            done.unlink(missing_ok=True)
        number = pieces_done(done)
        if number is None:
            check_pieces(kept, max(query_log.done(Path(checkpoint.location)), default=-1) + 1)
            number = self._run_pieces(sink, checkpoint, source, restart)
            write_record(done, "part done", number)
        else:
            check_pieces(kept, number)
        return part.saved(sink)

    def _source(self, source: Node) -> CutSource:
        if source not in self._sources:
            directory = self._directory / f"input-{len(self._sources)}"
            self._sources[source] = CutSource(source, directory, self._settings, self._runner)
        return self._sources[source]

    def _run_pieces(
        self, sink: KeepPieces, checkpoint: Checkpoint, source: CutSource, restart: str | int | None
    ) -> int:
        """Do what is not done; how many pieces there are."""
        kept = Path(sink.directory)
        private_directory(kept)
        seconds = self._settings.piece_seconds
        if seconds is None:
            source.list_rest()
            self._stream(sink, checkpoint, restart)
        else:
            self._stream_by_time(sink, checkpoint, source, restart, seconds)
        spark = Path(checkpoint.location)
        refuse_unread(query_log.source_log(spark, 0), source.files)
        done = query_log.done(spark)
        waits = any(node.awaits_time and not node.bounded for node in walk(sink))
        if done and waits and query_log.watermark(spark, done[-1]) < LATEST:  # not all time has passed
            query_log.set_next_watermark(spark, done[-1], LATEST)
            source.add_end()
            self._stream(sink, checkpoint, "latest")
        last = max(query_log.done(spark), default=-1)
        for piece in kept.iterdir():  # what a job left that went back to an earlier piece
            found = _PIECE.fullmatch(piece.name)
            if found is None or int(found[1]) > last:
                shutil.rmtree(piece, ignore_errors=True)
        return last + 1

    def _stream(self, sink: KeepPieces, checkpoint: Checkpoint, restart: str | int | None) -> None:
        """Do the pieces that are listed."""
        with self._streaming(sink, checkpoint, restart, Trigger(once=True)) as part:
            part.join(None)

    def _stream_by_time(
        self, sink: KeepPieces, checkpoint: Checkpoint, source: CutSource, restart: str | int | None, seconds: float
    ) -> None:
        """Do one piece after the other, each as large as to take so many seconds by what the one before took."""
        with self._streaming(sink, checkpoint, restart, Trigger()) as part:
            part.catch_up()  # what an earlier program had listed
            size = 1
            while part.error is None and source.list_more(size):
                began = time.monotonic()
                part.catch_up()
                size = next_size(size, time.monotonic() - began, seconds)
            part.stop()

    @contextlib.contextmanager
    def _streaming(
        self, sink: KeepPieces, checkpoint: Checkpoint, restart: str | int | None, trigger: Trigger
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

    # -- the rest -----------------------------------------------------------------------------------------------------

    def refuse_existing(self, roots: Iterable[Node]) -> None:
        """Refuse to write where something is, before anything is computed, unless this job has written it."""
        own = self._own_directories()
        for sink in new_directories(roots):
            path = Path(sink.path).absolute()
            if path.exists() and str(path) not in own:
                raise already_there(sink)

    def _own_directories(self) -> list[str]:
        """What an earlier program was about to write for this job when it ended."""
        own: list[str] = read_record(self._delivering, "delivery", list)
        return own

    def rest(self, roots: tuple[Node, ...], saved: Mapping[Node, SavedPieces]) -> Rest:
        """What is left to do. A directory that an earlier program has begun to write is this job's to write."""
        resumes, own = self._delivering.exists(), self._own_directories()
        new = substituted(roots, saved)
        for sink in new_directories(roots):
            path = str(Path(sink.path).absolute())
            if path in own:
                new[sink] = dataclasses.replace(new[sink], mode="overwrite")  # type: ignore[call-arg]
            else:
                own.append(path)
        write_record(self._delivering, "delivery", own)
        self.origins |= {new: node for node, new in new.items()}
        return Rest(new, resumes)

    def finish(self) -> None:
        """Everything has been delivered."""
        self._delivering.unlink(missing_ok=True)

    def snapshots(self) -> list[Snapshot]:
        return [snapshot for checkpoint in self._checkpoints for snapshot in checkpoint.snapshots()]

    def clean(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def next_size(size: int, took: float, seconds: float) -> int:
    """How many small pieces take so many seconds, if `size` of them took others; never many more than those.

    >>> [next_size(8, took, 10.0) for took in (0.1, 5.0, 10.0, 40.0, 900.0)]
    [32, 16, 8, 2, 1]
    """
    return max(1, min(int(size * seconds / took) if took else 4 * size, 4 * size))


def pieces_done(done: Path) -> int | None:
    """How many pieces a part has that is done; None if it is not, or nobody knows: then Spark finds nothing to do."""
    try:
        number: int | None = read_record(done, "part done", lambda: None)
    except SnapshotError:
        return None
    return number


def new_directories(roots: Iterable[Node]) -> list[WriteSink]:
    """The sinks that write directories on this machine which must not be there."""
    return [sink for sink in roots if isinstance(sink, WriteSink) and sink.mode == "error" and is_local(sink.path)]


def refuse_unread(log: Path, files: int) -> None:
    """Refuse to go on with a part of the input: whatever Spark left out, nobody would see that it is missing."""
    read = query_log.number_of_files(log)
    if read != files:
        raise JobError(f"Spark has read {read} of the {files} files of a job in pieces; run it without snapshots=…")


def describe_part(sink: KeepPieces, runner: BatchRunner) -> dict[str, object]:
    """What a part is, for later programs to be compared with."""
    return describe(sink, parallelism=runner.parallelism, buckets=BUCKETS_PER_PARTITION)
