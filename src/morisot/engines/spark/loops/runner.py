"""Runs loops: as one job whose tasks run all rounds, or as a job for each round."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from morisot.engines.spark.checkpoints.loops import SnapshotStore
from morisot.engines.spark.emit import iterate
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.iterate import BarrierInput, LoopFrame, Restart
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.engines.spark.failures import SPARK_ERRORS, users_error
from morisot.engines.spark.internals.plans import fixed_partitions
from morisot.engines.spark.internals.sessions import is_connect, task_slots
from morisot.engines.spark.loops import per_round
from morisot.engines.spark.loops.coordinator import Coordinator
from morisot.engines.spark.loops.rounds import Progress, Rounds
from morisot.engines.spark.session.addresses import driver_host
from morisot.engines.spark.session.interrupt import was_interrupted
from morisot.engines.spark.session.jvm_death import is_dead
from morisot.physical.job import JobStep, LoopStep
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.types.element import Type
from morisot.worker.codec.batches import encode, schema_of

_MOST_TRIES = 3
"""The number of restarts of a loop without a completed round."""


class Loops:
    """Runs the loops of one engine, and stores their progress."""

    def __init__(self, snapshots: Snapshots | None = None) -> None:
        self.progress: list[Progress] = []
        self.store = None if snapshots is None else SnapshotStore(snapshots)
        self._failed = False

    def run_all(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Runs the loops among some steps, and binds their results in the emission of the outer plan."""
        for step in steps:
            if isinstance(step, LoopStep):
                emission.bind(step.node, self._run(step, emission))

    def _run(self, step: LoopStep, emission: Emission) -> Frame:
        """Runs a loop, and returns its results."""
        node = step.node
        emission.begin(node)
        progress = self._started(node)
        saves = self.store.of_loop(node, emission.resources.seal) if self.store is not None else None
        resources = emission.resources
        with sealing_with(resources.seal), resources.operators.emitting(node), self._running(progress):
            if isinstance(node, DeltaIterate):
                return per_round.run_delta(node, self._body_of(step, emission), emission, progress, saves)
            rounds = Rounds(node, progress, saves)
            if rounds.over and not node.feedback:
                elements = None  # the loop had ended before
            elif step.body is None:
                elements = run_barrier(node, emission, rounds)
            else:
                elements = per_round.run(node, self._body_of(step, emission), emission, rounds)
        return LoopFrame(one_row(emission.spark, rounds.state, node), node.type, elements=elements)

    def _body_of(self, step: LoopStep, emission: Emission) -> per_round.EmitBody:
        """A function that emits the frames of a round, after the inner loops have run."""
        body = step.body
        assert body is not None, f"the rounds of {step.node.title} have no job of their own"

        def emit(given: Mapping[Node, Frame]) -> Emission:
            inner = Emission(emission.resources, body.plan, given=given)
            inner.optimistic = emission.optimistic  # an operator that may fail natively in a round may fail in the job
            self.run_all(body.steps, inner)
            return inner

        return emit

    def _started(self, node: Loop | DeltaIterate) -> Progress:
        progress = Progress(f"{node.label or node.operator} ({node.location})", most_rounds=node.max_iterations)
        self.progress.append(progress)
        return progress

    @contextlib.contextmanager
    def _running(self, progress: Progress) -> Iterator[None]:
        progress.running = True
        try:
            yield
        except BaseException:
            self._failed = True
            raise
        else:
            self._failed = False  # a retry succeeded
        finally:
            progress.running = False

    def note(self) -> str:
        """The progress of the innermost running loop."""
        return next((str(progress) for progress in reversed(self.progress) if progress.running), "")

    @property
    def last_snapshot(self) -> int:
        """The number of the last saved snapshot."""
        return 0 if self.store is None else self.store.last_number

    def snapshots(self) -> list[Snapshot]:
        """The existing snapshots."""
        return [] if self.store is None else self.store.snapshots()

    def close(self) -> None:
        """Removes the snapshots if the user requests it, and no loop is left to resume."""
        if self.store is not None and self.store.settings.clean_on_exit and not self._failed:
            self.store.clean()


def without_running(step: LoopStep, spark: SparkSession) -> Frame:
    """Empty results of a loop, for plans that are only explained."""
    node = step.node
    if isinstance(node, DeltaIterate):
        return Frame(nothing(spark, node.type), node.type)
    elements = Frame(nothing(spark, node.element_type), node.element_type)
    return LoopFrame(nothing(spark, node.type), node.type, elements=elements)


def nothing(spark: SparkSession, type_: Type) -> DataFrame:
    """A frame without elements."""
    return spark.createDataFrame(schema_of(type_).empty_table(), schema=schema.ddl(type_))


def one_row(spark: SparkSession, state: Any, node: Loop) -> DataFrame:
    """The state as a frame."""
    table = pa.Table.from_arrays(encode([state], node.type, fused_stage.dumps), schema=schema_of(node.type))
    return spark.createDataFrame(table, schema=schema.ddl(node.type))


def run_barrier(node: Loop, emission: Emission, rounds: Rounds) -> Frame | None:
    """Runs a loop as one job. If a worker is lost, the job is started again from the incomplete round."""
    computed: BarrierInput | None = None
    attempt, reads_itself = 0, iterate.own_input(node, emission) is not None
    host = driver_host(emission.spark)
    coordinator = Coordinator(rounds, host, feedback=node.feedback, reads_itself=reads_itself)
    try:
        while True:
            restart = Restart(attempt, rounds.saved_parts)
            if restart.saved is not None:
                given = iterate.input_of_parts(min(len(restart.saved), slots_of(emission.spark)), emission)
            else:
                given = computed = computed or fitting_input(node, emission)
            loop = iterate.barrier(node, emission, given, coordinator.address, restart)
            try:
                result = stored(loop) if node.feedback else run_to_end(loop)
                coordinator.finish()
                return result
            except SPARK_ERRORS as error:
                if was_interrupted(error):
                    raise KeyboardInterrupt from None
                if is_dead(emission.spark):
                    raise
                if coordinator.error is not None:
                    raise coordinator.error from error
                attempt += 1
                failed = users_error(error, emission.seals) is not None
                if failed or attempt >= _MOST_TRIES or not coordinator.has_lost_a_task():
                    raise
                if node.feedback:
                    rounds.rewind()
    finally:
        coordinator.stop()


def fitting_input(node: Loop, emission: Emission) -> BarrierInput:
    """The input of the loop, in as many partitions as tasks can run at once."""
    given = iterate.input_of(node, emission)
    return given._replace(frame=Frame(fitting(given.frame.df), given.frame.type))


def stored(loop: Frame) -> Frame:
    """Runs the loop, and stores the output of its tasks, because it could only be computed again by the whole loop."""
    return Frame(loop.df.localCheckpoint(), loop.type)


def run_to_end(loop: Frame) -> Frame | None:
    """Runs a loop whose tasks have no output."""
    loop.df.collect()
    return None


def fitting(df: DataFrame) -> DataFrame:
    """The frame with as many partitions as tasks can run at once, because the tasks of a loop wait for each other."""
    spark = df.sparkSession
    slots = slots_of(spark)
    if not is_connect(df) and is_fitting(df, slots):
        return df
    return df.coalesce(slots).localCheckpoint()


def is_fitting(df: DataFrame, slots: int) -> bool:
    """Whether a barrier stage can read the frame unchanged: it has few enough partitions, and their number is fixed."""
    partitions = fixed_partitions(df)
    return partitions is not None and partitions <= slots


def slots_of(spark: SparkSession) -> int:
    """The number of tasks that can run at once."""
    with contextlib.suppress(Exception):  # a session of Spark Connect has no context
        return max(1, task_slots(spark))
    local = re.fullmatch(r"local\[(\d+).*\]", spark.conf.get("spark.master", "") or "")
    return int(local[1]) if local else 1
