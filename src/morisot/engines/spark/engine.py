"""The Spark engine: the engine interface, on a Spark session."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from morisot.config import Config
from morisot.engines.spark.bounded import runner as batch
from morisot.engines.spark.bounded.resumable import ResumableJobs
from morisot.engines.spark.bounded.runner import BatchRunner, Demotions, Receiver
from morisot.engines.spark.bounded.two_phase import two_phase_sinks
from morisot.engines.spark.checkpoints.ownership import Hold, SnapshotLock
from morisot.engines.spark.emit.core import families
from morisot.engines.spark.emit.core.caches import Caches
from morisot.engines.spark.emit.core.emission import Emission, QueryInputs
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.python.left_out import Ledger
from morisot.engines.spark.emit.sink import as_table
from morisot.engines.spark.emit.sources.row_types import row_type
from morisot.engines.spark.internals import plans
from morisot.engines.spark.internals.causes import keep_causes_of_connect
from morisot.engines.spark.internals.sessions import is_classic, is_connect
from morisot.engines.spark.loops.runner import Loops, without_running
from morisot.engines.spark.session.activity import engine_state
from morisot.engines.spark.session.addresses import runs_here
from morisot.engines.spark.session.jvm_death import is_dead, reporting_death
from morisot.engines.spark.session.query_settings import PARTITIONS
from morisot.engines.spark.session.running import running
from morisot.engines.spark.session.scratch import scratch
from morisot.engines.spark.session.session import borrow_session, check_session, return_session
from morisot.engines.spark.streaming.job import Job, Part, ThreadPart
from morisot.engines.spark.streaming.launch import Streams, refuse_one_sink
from morisot.engines.spark.terminal import job_table
from morisot.engines.spark.terminal.left_out import reported
from morisot.engines.spark.terminal.progress import progress
from morisot.errors import Location, PlanError, SnapshotError
from morisot.physical.facts import DEFAULT
from morisot.physical.job import PlannedJob, plan_resumable, plan_stream
from morisot.physical.refusals import refuse_unbounded
from morisot.plan.analysis.graph import bounded_inputs, walk
from morisot.plan.analysis.resumable import Cut
from morisot.plan.kafka import without_secrets
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode
from morisot.plan.nodes.state import ApplyOnDemand
from morisot.plan.snapshots import Snapshots
from morisot.runtime.activity import ACTIVITY, EngineState
from morisot.runtime.metrics import LoopMetrics
from morisot.runtime.tally import Tally, is_diverting, say
from morisot.types.element import Record
from morisot.worker.files.format import Kind

assert families.FAMILIES, "importing the families registers their emission functions"


class SparkEngine:
    """Runs plans on Spark. The session is created when it is first needed."""

    def __init__(
        self,
        config: Config,
        spark: SparkSession | None = None,
        snapshots: Snapshots | None = None,
        lock: SnapshotLock | None = None,
    ) -> None:
        self._config = config
        self._spark = spark
        self._borrowed: SparkSession | None = None
        self._checked = False
        self._asked: Callable[[], EngineState | None] | None = None
        """Asks the JVM for its state, for a supervisor."""
        self._demotions = Demotions()
        self._snapshots = snapshots
        self._lock = lock or SnapshotLock(None if snapshots is None else snapshots.path)
        self._streams = Streams(snapshots, self._report, self._lock, counts_operators=config.operator_metrics)
        self._loops = Loops(snapshots)
        self._resumable = ResumableJobs(snapshots, refuse_unbounded, self._lock)
        self._tally = Tally()
        self._ledger: Ledger | None = None
        self._handed_out: list[Emission] = []
        """Emissions of DataFrames that the user runs."""
        self._caches = Caches()
        self._reading: list[Hold] = []
        """The lock of the snapshots, held for DataFrames that the user runs, which may read them."""

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            self._spark = self._borrowed = borrow_session(self._config)
        if not self._checked:
            with reporting_death(self._spark):
                check_session(self._spark)
            if not is_classic(self._spark):
                keep_causes_of_connect()
            self._checked = True
            self._asked = ACTIVITY.engine = functools.partial(engine_state, self._spark)
        return self._spark

    @property
    def parallelism(self) -> int:
        if self._config.parallelism is not None:
            return self._config.parallelism
        return partitions_of(self.spark)

    @property
    def demoted(self) -> frozenset[Node]:
        """The operators that were demoted at run time."""
        return frozenset(self._demotions.nodes)

    def job(self, node: Node) -> PlannedJob:
        """The planned job of a stream, with default facts if there is no session yet."""
        found = self._cut(node)
        if found is not None and found.parts:
            if self._spark is None:
                return plan_resumable(node, found.parts, demoted=self.demoted)
            return self._runner().planned_resumable(node, found.parts)
        if self._spark is None:
            facts = dataclasses.replace(DEFAULT, operator_metrics=self._config.operator_metrics)
            return plan_stream(node, facts, self.demoted)
        return self._planned(self._runner(), node)

    def _planned(self, runner: BatchRunner, node: Node) -> PlannedJob:
        return runner.planned_stream(node, operator_metrics=self._config.operator_metrics)

    @property
    def tally(self) -> Tally:
        """The elements that operators skipped in their last runs."""
        for emission in self._handed_out:
            reports = reported(self.ledger, emission)
            if any(count for count, _ in reports.values()):
                self._tally.replace(reports)
        return self._tally

    @property
    def ledger(self) -> Ledger:
        """The accumulator to which tasks report skipped elements."""
        if self._ledger is None:
            self._ledger = Ledger(self.spark)
        return self._ledger

    def _runner(self) -> BatchRunner:
        runner = BatchRunner(
            self.spark, self.parallelism, self._demotions, self._loops, self.ledger, self._tally, self._caches
        )
        return runner.retrying(self._config.max_retries)

    @contextlib.contextmanager
    def _action(self) -> Iterator[BatchRunner]:
        """Lets Ctrl-C end the actions of the block, and reports the end of Spark's JVM."""
        spark = self.spark
        with running(spark), ACTIVITY.working():
            yield self._runner()

    def collect(self, node: Node) -> list[Any]:
        with (
            self._action() as runner,
            self._reporting((node,)),
            self._progress("collect"),
            self._resumable.running(runner, "collect", (node,)) as rest,
        ):
            return runner.collect(rest.nodes[node])

    def to_arrow(self, node: Node) -> Any:
        with (
            self._action() as runner,
            self._reporting((node,)),
            self._progress("to_arrow"),
            self._resumable.running(runner, "to_arrow", (node,)) as rest,
        ):
            return batch.to_arrow(runner, rest.nodes[node])

    def to_dataframe(self, node: Node) -> DataFrame:
        with self._action() as runner:
            return self._to_dataframe(runner, node)

    def _to_dataframe(self, runner: BatchRunner, node: Node) -> DataFrame:
        job = runner.planned(node, where="dataframe")
        emission = runner.emission(job)
        for each in emission.nodes:
            if is_diverting(each):
                raise PlanError(
                    f"{each.operator} diverts failures, and it is unknown when a DataFrame has been computed",
                    location=each.location,
                    advice='use on_error="skip", whose counts are in ctx.metrics(), or another sink',
                )
        if any(each.leaves_out for each in emission.nodes):
            self._handed_out.append(emission)
        if any(isinstance(each, Loop | DeltaIterate) for each in emission.nodes):
            self._reading.append(self._lock.hold())
        runner.run_loops(job.steps, emission)
        return as_table(emission.frame(node))

    def execute(self, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        with self._action() as runner, self._reporting(receivers), self._progress("execute"):
            self._execute(runner, receivers)

    def _execute(self, runner: BatchRunner, receivers: Mapping[SinkNode, Receiver | None]) -> None:
        operator = next(iter(receivers)).operator
        refuse_one_sink(receivers, classic=is_classic(runner.spark))
        with (
            self._resumable.running(runner, operator, receivers) as rest,
            two_phase_sinks(
                rest.receivers(receivers),
                lambda: self._resumable.directory_of(rest, operator, receivers),
                self._resumable.restart,
            ) as delivering,
        ):
            runner.execute(delivering)

    @contextlib.contextmanager
    def _reporting(self, roots: Iterable[Node], tally: Tally | None = None) -> Iterator[None]:
        """Reports at the end of a job which operators skipped elements, and which were demoted."""
        self._report_idle_replicas(roots)
        before = self.demoted
        yield
        if self._config.report:
            nodes = tuple(walk(*roots))
            new = {node.title for node in self.demoted - before}  # in a resumable job other nodes have the same title
            demoted = dict.fromkeys(moved(node) for node in nodes if node.title in new)
            say([*(tally or self._tally).lines(nodes), *demoted])

    def _report_idle_replicas(self, roots: Iterable[Node]) -> None:
        """Reports at the start of a job the operators with more replicas than can run at once."""
        found = [node for node in walk(*roots) if isinstance(node, ApplyOnDemand)]
        if found and self._config.report and is_classic(self.spark):
            say(too_many_replicas(found, self.spark.sparkContext.defaultParallelism))

    def start(
        self,
        receivers: Mapping[SinkNode, Receiver | None],
        closers: Mapping[SinkNode, Callable[[], None]],
        max_retries: int | None = None,
    ) -> Job:
        with self._action() as runner:
            return self._start(runner.retrying(max_retries), receivers, closers)

    def _start(
        self,
        runner: BatchRunner,
        receivers: Mapping[SinkNode, Receiver | None],
        closers: Mapping[SinkNode, Callable[[], None]],
    ) -> Job:
        self._report_idle_replicas(sink for sink in receivers if not sink.bounded)
        bounded = {sink: receiver for sink, receiver in receivers.items() if sink.bounded}
        unbounded = {sink: receiver for sink, receiver in receivers.items() if not sink.bounded}
        parts: list[Part] = [*self._streams.start(runner, unbounded, closers)]
        if bounded:
            counts = runner.with_own_counts()
            run = functools.partial(self._run_bounded, counts, bounded, closers)
            parts.append(ThreadPart("bounded", run, counts.tally.metrics, index=len(unbounded)))
        job = Job(
            parts,
            lambda: [*self._loops.snapshots(), *self._resumable.snapshots()],
            lambda: [each for server in runner.servers for each in server.placement()],
        )
        if unbounded:
            job_table.watch(job.metrics, lambda: not job.running, self._config.progress)
        return job

    def _report(self, tally: Tally) -> None:
        if self._config.report:
            say(tally.lines())

    def _run_bounded(
        self,
        runner: BatchRunner,
        receivers: Mapping[SinkNode, Receiver | None],
        closers: Mapping[SinkNode, Callable[[], None]],
    ) -> None:
        try:
            with reporting_death(runner.spark), self._reporting(receivers, runner.tally), ACTIVITY.working():
                self._execute(runner, receivers)
        finally:
            for sink in receivers:
                if sink in closers:
                    closers[sink]()

    def row_type(self, kind: Kind, path: str, location: Location, *, skips: bool = False) -> Record:
        """The type of the rows of files, as Spark reads them."""
        spark = self.spark
        with running(spark):
            return row_type(spark, kind, path, location, skips=skips)

    def frame_type(self, frame: DataFrame) -> Record:
        try:
            return schema.row_type_of(frame.schema)
        except schema.UnknownSparkType as unknown:
            raise PlanError(str(unknown), advice="drop the column, or cast it to another type") from None

    def loops(self) -> list[LoopMetrics]:
        """The metrics of each loop."""
        return [progress.metrics() for progress in self._loops.progress]

    def spark_plan(self, node: Node) -> str:
        """Spark's own plan, for explain(detail=True)."""
        with self._action() as runner, tempfile.TemporaryDirectory(prefix="explain-", dir=scratch()) as name:
            for number, _ in enumerate(bounded_inputs(node)):  # explain must not copy bounded inputs
                (Path(name) / str(number)).mkdir()
            job = self._planned(runner, node)
            emission = runner.emission(job, query=QueryInputs(bounded_inputs=Path(name)))
            for step in job.loops:
                emission.bind(step.node, without_running(step, runner.spark))
            try:
                df = emission.frame(node).df
                text = "" if is_connect(df) else plans.text(df)
                return without_secrets(text, emission.nodes)
            finally:
                emission.release()

    def saving(self, node: Node) -> str:
        """What is repeated after a failure of a bounded job with snapshots; nothing without snapshots."""
        found = self._cut(node)
        return "" if found is None else found.sentence(node)

    def _cut(self, node: Node) -> Cut | None:
        with reporting_death(self._spark):
            return self._resumable.cut((node,), self._spark) if node.bounded else None

    def uncache(self, node: Node) -> None:
        """Removes the cached elements of a stream."""
        with reporting_death(self._spark):
            self._caches.release(node)

    def _progress(self, description: str) -> Any:
        return progress(self.spark, enabled=self._config.progress, description=description, note=self._loops.note)

    def close(self) -> None:
        """Ends the session if Morisot created it and no other context uses it."""
        if self._spark is not None and is_dead(self._spark):
            self._caches.clear()
        self._caches.release_all()
        for hold in self._reading:
            hold.release()
        self._reading.clear()
        self._remove_snapshots()
        if self._asked is not None and ACTIVITY.engine is self._asked:
            ACTIVITY.engine = None
        if self._borrowed is not None:
            return_session(self._borrowed)
            self._spark = self._borrowed = self._ledger = None
            self._handed_out.clear()
            self._checked = False

    def _remove_snapshots(self) -> None:
        """Removes the snapshots if the user requests it, and no job is left to resume.

        If another engine holds the lock of the directory by now, the files belong to that engine, and are not removed.
        """
        removing = self._snapshots is not None and self._snapshots.clean_on_exit
        lock = self._lock if removing else SnapshotLock(None)
        with contextlib.suppress(SnapshotError), lock.held():
            self._loops.close()
            self._resumable.close()
            self._streams.clean()


def partitions_of(spark: SparkSession) -> int:
    """The number of shuffle partitions: the setting of the session, or on one machine one for each core.

    Spark's default of 200 is for clusters. Each would be a task and a state store in each micro-batch.
    """
    set_to = spark.conf.get(PARTITIONS, None)  # None: the user has not set it
    if set_to is None and runs_here(spark):
        return spark.sparkContext.defaultParallelism
    return int(set_to or spark.conf.get(PARTITIONS) or 1)


def too_many_replicas(nodes: Iterable[ApplyOnDemand], slots: int) -> list[str]:
    """The report about operators whose replicas wait for slots."""
    return [
        f"{node.title}: replicate={node.replicate} is more than the {slots} slots of the session, so at most {slots} "
        "replicas process elements at once"
        for node in nodes
        if node.replicate > slots
    ]


def moved(node: Node) -> str:
    """The report about a demoted operator."""
    return f"{node.title}: moved to Python at run time, because its native form failed on an unsupported value"
