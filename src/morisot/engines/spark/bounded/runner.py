"""Bounded jobs: plan, emit, run. If a native form fails on the data, its operator is demoted, and the job repeated."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from morisot.engines.spark.emit.core.caches import Caches
from morisot.engines.spark.emit.core.emission import Emission, QueryInputs, Resources
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import Operators
from morisot.engines.spark.emit.python.fused_stage import in_worker
from morisot.engines.spark.emit.python.left_out import Ledger
from morisot.engines.spark.emit.sink import as_table, shown
from morisot.engines.spark.failures import (
    SPARK_ERRORS,
    guards_in,
    is_data_error,
    is_lost_worker,
    is_read_error,
    job_error,
    users_error,
)
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.replicas.server import ReplicaServer
from morisot.engines.spark.session.addresses import driver_host
from morisot.engines.spark.session.interrupt import is_ending, was_interrupted
from morisot.engines.spark.session.jvm_death import caused_by_death
from morisot.engines.spark.streaming import kafka
from morisot.engines.spark.terminal.left_out import reported
from morisot.errors import ElementError, JobError, MorisotError
from morisot.physical.facts import Facts
from morisot.physical.job import Batch, JobStep, PlannedJob, Query, plan_job, plan_query, plan_resumable, plan_stream
from morisot.physical.plan import Where
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.resumable import ResumablePart
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.kafka import without_secrets
from morisot.plan.life_cycle import has_life_cycle
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.sink import CollectCount, CollectVec, SinkNode, WriteKafka, WriteSink, WriteTo
from morisot.plan.nodes.source import StreamOffsets
from morisot.plan.nodes.state import Apply
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.retries import JobFailure, Retries, retry_message
from morisot.runtime.tally import Failures, Tally, divert, say
from morisot.types.element import Type
from morisot.worker.codec.batches import decode
from morisot.worker.codec.ipc import PackBatches, unpack_batch
from morisot.worker.report.signature import Seal

Receiver = Callable[..., None]
"""Receives the elements of a batch; that of a for_each also its number, by default 0."""
R = TypeVar("R")
_MOST_LOSSES = 3
"""The number of retries of a job after a Python worker died."""


@runtime_checkable
class FrameReceiver(Protocol):
    """A receiver that may have its elements already, or take rows instead of elements."""

    @property
    def has_all(self) -> bool: ...

    @property
    def takes_frames(self) -> bool: ...

    def take(self, rows: DataFrame, emission: Emission) -> None:
        """Takes the rows of the elements."""


class LoopRunner(Protocol):
    """Runs the loops of jobs."""

    def run_all(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Runs the loops among some steps, and binds their slots in the emission of the outer plan."""

    @property
    def last_snapshot(self) -> int:
        """The number of the last snapshot that a loop has saved."""
        ...


@dataclass
class Demotions:
    """The demoted operators, whose native form failed on the data."""

    nodes: set[Node] = field(default_factory=set)
    guards: set[Node] = field(default_factory=set)
    """The operators for which the rung `guard` failed. They select elements by their next rung, which is native."""
    operators: Operators = field(default_factory=Operators)
    """The numbers of operators in guards."""

    @property
    def now(self) -> frozenset[Node]:
        """The operators that are demoted now."""
        return frozenset(self.nodes)

    def note(self, error: BaseException, emission: Emission) -> bool:
        """Demotes what a guard names, and otherwise all optimistic operators. Returns whether any demotion is new.

        If Spark could not read a file, these are the sources of files that it reads. A rung fails only by its guard.
        """
        optimistic, sources = emission.optimistic, emission.native_sources
        named = [found for message in guards_in(error) if (found := self.operators.named_in(message)) is not None]
        rungs = {node for node, of_rung in named if of_rung and node in optimistic}
        if rungs:
            new = rungs - self.guards
            self.guards |= rungs
            return bool(new)
        guarded = {node for node, _ in named if node in optimistic | sources and node not in self.nodes}
        return self.add(guarded or (sources if is_read_error(error) else optimistic - emission.guarded))

    def attribute(self, origins: Mapping[Node, Node]) -> None:
        """Transfers demotions of replacements to the user's operators."""
        self.nodes |= {origins[node] for node in self.nodes if node in origins}

    def add(self, nodes: set[Node]) -> bool:
        """Adds operators. Returns whether any is new."""
        new = nodes - self.nodes
        self.nodes |= new
        return bool(new)


@dataclass(frozen=True)
class BatchRunner:
    """Runs bounded plans on one session."""

    spark: SparkSession
    parallelism: int
    demotions: Demotions
    loops: LoopRunner
    ledger: Ledger
    tally: Tally
    caches: Caches | None = None
    seal: Seal = field(default_factory=Seal)
    """The key of the job that this runner runs."""
    servers: list[ReplicaServer] = field(default_factory=list)
    """The servers of the replicas of users' operators."""
    max_retries: int = 0
    """How often a failed job is run again without a new snapshot."""

    def planned(self, *roots: Node, where: Where = "batch", given: Iterable[Node] = ()) -> PlannedJob:
        """The job that computes some roots, planned with the current facts and demotions."""
        return plan_job(roots, self._facts(roots), demoted=self.demotions.now, given=given, where=where)

    def planned_stream(self, node: Node, *, operator_metrics: bool = False) -> PlannedJob:
        """The job of one stream: what `explain()` prints."""
        return plan_stream(node, self._facts((node,), operator_metrics=operator_metrics), self.demotions.now)

    def planned_resumable(self, node: Node, parts: Iterable[ResumablePart]) -> PlannedJob:
        """The job of one bounded stream with snapshots: what `explain()` prints."""
        return plan_resumable(node, parts, self._facts((node,)), self.demotions.now)

    def planned_query(self, group: Group, trigger: Trigger, *, operator_metrics: bool) -> Query:
        """The query that serves a group of sinks."""
        facts = self._facts(group.sinks, operator_metrics=operator_metrics)
        return plan_query(group, trigger, facts, self.demotions.now)

    def _facts(self, roots: Iterable[Node], *, operator_metrics: bool = False) -> Facts:
        cached = (node for node in walk(*roots) if isinstance(node, Cache))
        retained = frozenset(node for node in cached if self._retains(node))
        failed = frozenset(self.demotions.guards)
        return Facts(not is_classic(self.spark), operator_metrics, retained=retained, failed_guards=failed)

    def _retains(self, node: Cache) -> bool:
        return self.caches is not None and self.caches.get(node, self.demotions.now) is not None

    def emission(
        self, job: PlannedJob, *, given: Mapping[Node, Frame] | None = None, query: QueryInputs | None = None
    ) -> Emission:
        """The emission of a job, whose loops have not run yet."""
        resources = Resources(
            self.spark,
            self.parallelism,
            self.ledger,
            self.caches,
            self.seal,
            self.demotions.operators,
            self._replica_server(job),
        )
        return Emission(resources, job.plan, given=given, query=query)

    def _replica_server(self, job: PlannedJob) -> ReplicaServer | None:
        """A server for the replicas of users' operators; None if the job has none."""
        if not any(map(has_callbacks, job.plan.nodes)):
            return None
        server = ReplicaServer(lambda: driver_host(self.spark))
        self.servers.append(server)
        return server

    def run_loops(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Runs the loops among some steps, and binds their slots."""
        self.loops.run_all(steps, emission)

    def with_own_counts(self) -> BatchRunner:
        """A runner of another job, with its own counts."""
        return dataclasses.replace(self, tally=Tally(), seal=Seal())

    def retrying(self, max_retries: int | None) -> BatchRunner:
        """A runner with another number of retries; None: the same runner."""
        return self if max_retries is None else dataclasses.replace(self, max_retries=max_retries)

    def run(self, node: Node, action: Callable[[Emission, Frame], R]) -> R:
        """Runs an action on the node's frame. On a data error it is retried with demoted operators."""
        recovery = Recovery(self)
        while True:
            job = self.planned(node)
            emission = self.emission(job)
            try:
                self.run_loops(job.steps, emission)
                result = action(emission, emission.frame(node))
            except Exception as error:
                recovery.retry_or_raise(emission, error)
            else:
                self.conclude(reported(self.ledger, emission))
                return result
            finally:
                self._release(emission)

    def _release(self, emission: Emission) -> None:
        emission.release()
        self.ledger.take(emission.run)  # reports of a failed run are discarded

    def conclude(self, failures: Failures) -> None:
        """Called when the job has succeeded: counts skipped elements, and calls the handlers of diverted ones."""
        self.tally.replace(failures)
        divert(failures)

    def demote_or_raise(self, emission: Emission, error: BaseException, nodes: Iterable[Node] = ()) -> None:
        """Returns if a retry makes sense; otherwise raises the error for the user.

        `nodes` are the nodes of the job, if they are more than those of the emission.
        """
        nodes = tuple(nodes) or emission.nodes
        theirs = users_error(error, emission.seals)
        if theirs is not None:
            raise theirs from theirs.__cause__
        if (is_data_error(error) or is_read_error(error)) and self.demotions.note(error, emission):
            return
        failure = job_error(error)
        raise type(failure)(without_secrets(str(failure), nodes)) from None

    def collect(self, node: Node) -> list[Any]:
        return self.run(node, lambda _, frame: elements(shown(node, frame).df, node.type))

    def execute(self, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        """Runs all sinks. Shared subplans are computed once."""
        pending = dict(receivers)
        delivered = {sink: Delivered() for sink in pending}
        recovery = Recovery(self)
        failures: dict[Node, tuple[int, Sequence[ElementError]]] = {}
        while pending:
            job = self.planned(*pending)
            emission = self.emission(job)
            try:
                for step in job.steps:
                    self.run_loops((step,), emission)
                    for sink in sinks_of(step):
                        self._run_sink(sink, pending[sink], emission, delivered[sink])
                        ACTIVITY.note_progress()
                        del pending[sink]
            except Exception as error:
                recovery.retry_or_raise(emission, error)
            finally:
                # a retried operator is counted from zero
                failures |= reported(self.ledger, emission)
                emission.release()
        self.conclude(failures)

    def _run_sink(self, sink: SinkNode, receiver: Receiver | None, emission: Emission, delivered: Delivered) -> None:
        frame = emission.frame(sink)
        if isinstance(sink, WriteSink):
            FileOutput(sink).write(frame.df)
            return
        if isinstance(sink, WriteKafka):
            kafka.write(sink, frame.df, emission)
            return
        assert receiver is not None
        taking: object = receiver
        if isinstance(taking, FrameReceiver) and (taking.has_all or taking.takes_frames):
            if not taking.has_all:
                taking.take(emission.persist(sink, frame.df), emission)
        elif isinstance(sink, CollectCount):
            receiver([frame.df.count()])
        elif isinstance(sink, CollectVec | WriteTo) or emission.optimistic or frame.timed:
            # delivered at once, because a native form may fail on the last element, or they are sorted here
            receiver(elements(frame.df, sink.type))
        else:
            for batch in delivered.new(packed_batches(frame.df), sink, self.demotions.now):
                receiver(decode(batch.columns, sink.type))
                ACTIVITY.note_progress()


def has_callbacks(node: Node) -> bool:
    """Whether an object of the user lives in workers, and the driver calls it back."""
    return isinstance(node, Apply) or (isinstance(node, StreamOffsets) and has_life_cycle(node.source))


class Recovery:
    """Decides about the failures of one job."""

    def __init__(self, runner: BatchRunner) -> None:
        self._runner = runner
        self._losses = 0
        self._retries = Retries(runner.max_retries)

    def retry_or_raise(self, emission: Emission, error: Exception) -> None:
        """Returns if the job should run again; else raises the error for the user.

        Spark does not retry tasks of a local session. A worker that the system killed for lack of memory, or that did
        not start in time on a busy machine, is not a failure of the job.
        """
        theirs = users_error(error, emission.seals)
        emission.fail_replicas(theirs or error)
        lost = is_lost_worker(error) and theirs is None
        if lost and self._losses < _MOST_LOSSES:
            self._losses += 1
            return
        try:
            if not isinstance(error, SPARK_ERRORS):
                raise error
            self._runner.demote_or_raise(emission, error)
        except MorisotError as failure:
            self._retry_or_raise(failure, error)

    def _retry_or_raise(self, failure: MorisotError, error: Exception) -> None:
        """Waits, and returns if the retries allow another run. A job that was cancelled has not failed."""
        if is_ending() or was_interrupted(error) or caused_by_death(self._runner.spark, error) is not None:
            raise failure
        number = self._retries.after(JobFailure.of(failure), self._runner.loops.last_snapshot)
        if number is None:
            raise failure
        say([retry_message("the job", failure, number, self._retries)])
        time.sleep(self._retries.delay)


def sinks_of(step: JobStep) -> list[SinkNode]:
    """The sinks that a step computes."""
    return [root for root in step.roots if isinstance(root, SinkNode)] if isinstance(step, Batch) else []


def elements(df: DataFrame, type_: Type) -> list[Any]:
    """The Python elements of a frame, in order: in that of their timestamps, if it has them."""
    table = df.toArrow().combine_chunks()
    if "time" in table.column_names:
        table = table.take(pc.sort_indices(table, sort_keys=[("time", "ascending")])).drop_columns("time")
    return decode(table.columns, type_)


def packed_batches(df: DataFrame) -> Iterator[bytes]:
    """The rows of a frame batch by batch, so that this process never has all of them in memory."""
    packed = df.mapInArrow(in_worker(PackBatches()), "batch BINARY")
    return (bytes(row[0]) for row in packed.toLocalIterator(prefetchPartitions=True))


class Delivered:
    """The batches that a receiver has got so far. A retry skips them if it computes the same ones."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []
        self._rows = 0
        self._demoted: frozenset[Node] = frozenset()

    def new(self, batches: Iterable[bytes], sink: SinkNode, demoted: frozenset[Node]) -> Iterator[pa.RecordBatch]:
        """The batches after those delivered before. Each is recorded when the receiver has taken it.

        After a source was demoted, the elements are the same, in other batches.
        """
        skip = self._rows if demoted != self._demoted else 0
        self._demoted = demoted
        if skip:
            self._digests.clear()
        for packed in batches if skip else self._unseen(batches, sink):
            batch = unpack_batch(packed)
            rest = batch.slice(min(skip, batch.num_rows))
            skip -= batch.num_rows - rest.num_rows
            if rest.num_rows:
                yield rest
                self._rows += rest.num_rows

    def _unseen(self, batches: Iterable[bytes], sink: SinkNode) -> Iterator[bytes]:
        before = list(self._digests)
        for number, batch in enumerate(batches):
            digest = hashlib.sha256(batch).digest()
            if number >= len(before):
                yield batch
                self._digests.append(digest)
            elif digest != before[number]:
                raise JobError(
                    f"A Python worker of Spark died after {sink.title} had got a part of its elements, and the second "
                    "attempt computes others: the missing ones are unknown."
                    "\n  What to do: run the job again; make its functions deterministic, or "
                    "write to files"
                )


def to_arrow(runner: BatchRunner, node: Node) -> pa.Table:
    """The elements as an Arrow table, with a column for each field."""
    return runner.run(node, lambda _, frame: as_table(frame).toArrow())
