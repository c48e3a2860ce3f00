"""Bounded jobs: plan, emit, run; where a native form met data it cannot do, plan that part in Python and run again."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from morisot.engines.spark.emit.core.caches import Caches
from morisot.engines.spark.emit.core.emission import Emission, QueryInputs, Resources
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.guards import Operators
from morisot.engines.spark.emit.python.fused_stage import in_worker
from morisot.engines.spark.emit.python.left_out import Ledger
from morisot.engines.spark.emit.sink import as_table
from morisot.engines.spark.failures import (
    SPARK_ERRORS,
    guards_in,
    is_data_error,
    is_lost_worker,
    job_error,
    users_error,
)
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.streaming import kafka
from morisot.engines.spark.terminal.left_out import reported
from morisot.errors import ElementError, JobError, SourceError
from morisot.physical.facts import Facts
from morisot.physical.job import Batch, JobStep, PlannedJob, Query, plan_job, plan_query, plan_resumable, plan_stream
from morisot.physical.plan import Where
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.resumable import ResumablePart
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.files import is_local
from morisot.plan.kafka import without_secrets
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.sink import CollectCount, CollectVec, SinkNode, WriteKafka, WriteSink, WriteTo
from morisot.plan.nodes.source import StreamCsv, StreamJson
from morisot.runtime.file_rows import misfits
from morisot.runtime.tally import Failures, Tally, divert
from morisot.types.element import Type
from morisot.worker.codec.batches import decode
from morisot.worker.codec.ipc import PackBatches, unpack_batch
from morisot.worker.report.signature import Seal

Receiver = Callable[..., None]
"""Takes the elements of a batch; that of a for_each also its number, which it takes for 0 otherwise."""
R = TypeVar("R")
_MOST_LOSSES = 3
"""So often a job is tried again after a Python worker died."""


class LoopRunner(Protocol):
    """Runs the loops of jobs."""

    def run_all(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Run the loops among some steps, and bind their slots in the emission of the plan around them."""


@dataclass
class Demotions:
    """The operators that run in Python from now on, because their native form failed on the data."""

    nodes: set[Node] = field(default_factory=set)
    operators: Operators = field(default_factory=Operators)
    """By which numbers guards name operators."""

    @property
    def now(self) -> frozenset[Node]:
        """Those of this moment."""
        return frozenset(self.nodes)

    def failing(self, error: BaseException, optimistic: set[Node]) -> set[Node]:
        """The operator whose guard stopped the job; all optimistic ones if Spark's own error does not tell."""
        named = {self.operators.named_in(message) for message in guards_in(error)}
        return {node for node in named if node in optimistic and node not in self.nodes} or optimistic

    def attribute(self, origins: Mapping[Node, Node]) -> None:
        """Let the demotion of an operator hold for the one of the user's that it stood for."""
        self.nodes |= {origins[node] for node in self.nodes if node in origins}

    def add(self, nodes: set[Node]) -> bool:
        """Remember them; whether any is new."""
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

    def planned(self, *roots: Node, where: Where = "batch", given: Iterable[Node] = ()) -> PlannedJob:
        """The job that computes some roots, by what is known now of the session and of the data."""
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
        return Facts(not is_classic(self.spark), operator_metrics, retained=retained)

    def _retains(self, node: Cache) -> bool:
        return self.caches is not None and self.caches.get(node, self.demotions.now) is not None

    def emission(
        self, job: PlannedJob, *, given: Mapping[Node, Frame] | None = None, query: QueryInputs | None = None
    ) -> Emission:
        """What makes the frames of a job; its loops have not run yet."""
        resources = Resources(
            self.spark, self.parallelism, self.ledger, self.caches, self.seal, self.demotions.operators
        )
        return Emission(resources, job.plan, given=given, query=query)

    def run_loops(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Run the loops among some steps, and bind their slots."""
        self.loops.run_all(steps, emission)

    def apart(self) -> BatchRunner:
        """The same runner with counts of its own."""
        return dataclasses.replace(self, tally=Tally())

    def run(self, node: Node, action: Callable[[Emission, Frame], R]) -> R:
        """The action on the node's frame, tried again with the optimistic operators in Python on a data error."""
        losses = 0
        while True:
            job = self.planned(node)
            emission = self.emission(job)
            try:
                self.run_loops(job.steps, emission)
                result = action(emission, emission.frame(node))
            except SPARK_ERRORS as error:
                losses = self.retry_or_raise(emission, error, losses)
            else:
                self.conclude(reported(self.ledger, emission))
                return result
            finally:
                self._release(emission)

    def _release(self, emission: Emission) -> None:
        emission.release()
        self.ledger.take(emission.run)  # nobody asks any more what a run that failed left out

    def conclude(self, failures: Failures) -> None:
        """The job has succeeded: count what was left out, and call the handlers of what was diverted."""
        self.tally.replace(failures)
        divert(failures)

    def retry_or_raise(self, emission: Emission, error: BaseException, losses: int) -> int:
        """Return how many workers the job has lost if another try makes sense; else raise what the user should read.

        Spark runs a task of a local session once. A worker that the system ended for lack of memory, or that did not
        start in time on a busy machine, says nothing about the job.
        """
        if losses < _MOST_LOSSES and is_lost_worker(error) and users_error(error, emission.seals) is None:
            return losses + 1
        self.demote_or_raise(emission, error)
        return losses

    def demote_or_raise(self, emission: Emission, error: BaseException, nodes: Iterable[Node] = ()) -> None:
        """Return if another try makes sense; otherwise raise what the user should read.

        `nodes` are those that had a part in it, if they are more than the emission's.
        """
        nodes = tuple(nodes) or emission.nodes
        theirs = users_error(error, emission.seals)
        if isinstance(theirs, SourceError):
            raise located(theirs, nodes) from None
        if theirs is not None:
            raise theirs from theirs.__cause__
        if is_data_error(error) and self.demotions.add(self.demotions.failing(error, emission.optimistic)):
            return
        failure = job_error(error)
        raise type(failure)(without_secrets(str(failure), nodes)) from None

    def collect(self, node: Node) -> list[Any]:
        return self.run(node, lambda _, frame: elements(frame.untimed().df, node.type))

    def execute(self, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        """Run all sinks; what several of them read is computed once."""
        waiting = dict(receivers)
        delivered = {sink: Delivered() for sink in waiting}
        losses = 0
        failures: dict[Node, tuple[int, Sequence[ElementError]]] = {}
        while waiting:
            job = self.planned(*waiting)
            emission = self.emission(job)
            try:
                for step in job.steps:
                    self.run_loops((step,), emission)
                    for sink in sinks_of(step):
                        self._run_sink(sink, waiting[sink], emission, delivered[sink])
                        del waiting[sink]
            except SPARK_ERRORS as error:
                losses = self.retry_or_raise(emission, error, losses)
            finally:
                # an operator that a second try runs again is counted anew
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
        if isinstance(sink, CollectCount):
            receiver([frame.df.count()])
        elif isinstance(sink, CollectVec | WriteTo) or emission.optimistic:
            # delivered in one go: a native form may still fail on the last element
            receiver(elements(frame.df, sink.type))
        else:
            for batch in delivered.new(packed_batches(frame.df), sink):
                receiver(decode(unpack_batch(batch).columns, sink.type))


def sinks_of(step: JobStep) -> list[SinkNode]:
    """The sinks that a step computes."""
    return [root for root in step.roots if isinstance(root, SinkNode)] if isinstance(step, Batch) else []


def elements(df: DataFrame, type_: Type) -> list[Any]:
    """The Python elements of a frame, in order."""
    return decode(df.toArrow().combine_chunks().columns, type_)


def packed_batches(df: DataFrame) -> Iterator[bytes]:
    """The rows of a frame batch by batch, so that this process never holds them all."""
    packed = df.mapInArrow(in_worker(PackBatches()), "batch BINARY")
    return (bytes(row[0]) for row in packed.toLocalIterator(prefetchPartitions=True))


class Delivered:
    """The batches that a receiver has got so far. A second try passes over them if it computes the same ones."""

    def __init__(self) -> None:
        self._digests: list[bytes] = []

    def new(self, batches: Iterable[bytes], sink: SinkNode) -> Iterator[bytes]:
        """The batches that follow those delivered before, each remembered when it is asked for."""
        before = list(self._digests)
        for number, batch in enumerate(batches):
            digest = hashlib.sha256(batch).digest()
            if number >= len(before):
                self._digests.append(digest)
                yield batch
            elif digest != before[number]:
                raise JobError(
                    f"A Python worker of Spark died after {sink.title} had got a part of its elements, and the second "
                    "try computes others: the job cannot tell which are missing."
                    "\n  What to do: run the job again; make its functions give the same for the same elements, or "
                    "write to files"
                )


def located(error: SourceError, nodes: Iterable[Node]) -> SourceError:
    """The error with the row's line, which Spark does not know: for local files, plain Python finds it."""
    for node in nodes:
        if isinstance(node, StreamCsv | StreamJson) and node.on_error == "raise" and is_local(node.path):
            found = next(misfits(node), None)
            if found is not None:
                return found
    return error


def to_arrow(runner: BatchRunner, node: Node) -> pa.Table:
    """The elements as an Arrow table, a column a field."""
    return runner.run(node, lambda _, frame: as_table(frame).toArrow())
