"""Runs loops: as one job whose tasks stay, led from here, or as a job for each round."""

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
from morisot.engines.spark.emit.iterate import LoopFrame, Restart
from morisot.engines.spark.emit.loops.loop_files import runs_here
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.signing import sealing_with
from morisot.engines.spark.failures import SPARK_ERRORS, users_error
from morisot.engines.spark.internals.plans import fixed_partitions
from morisot.engines.spark.internals.sessions import is_connect, task_slots
from morisot.engines.spark.loops import per_round
from morisot.engines.spark.loops.coordinator import Leader
from morisot.engines.spark.loops.rounds import Progress, Rounds
from morisot.engines.spark.session.interrupt import was_interrupted
from morisot.engines.spark.session.jvm_death import is_dead
from morisot.physical.job import JobStep, LoopStep
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.types.element import Type
from morisot.worker.codec.batches import encode, schema_of

_MOST_TRIES = 3
"""So often a loop is started again without a round more done."""


class Loops:
    """Runs the loops of one engine, and remembers how they went."""

    def __init__(self, snapshots: Snapshots | None = None) -> None:
        self.progress: list[Progress] = []
        self.store = None if snapshots is None else SnapshotStore(snapshots)
        self._failed = False

    def run_all(self, steps: Iterable[JobStep], emission: Emission) -> None:
        """Run the loops among some steps, and bind their slots in the emission of the plan around them."""
        for step in steps:
            if isinstance(step, LoopStep):
                emission.bind(step.node, self._run(step, emission))

    def _run(self, step: LoopStep, emission: Emission) -> Frame:
        """The results of a loop, which has run when this returns."""
        node = step.node
        emission.begin(node)
        progress = self._started(node)
        saves = self.store.of_loop(node) if self.store is not None else None
        resources = emission.resources
        with sealing_with(resources.seal), resources.operators.emitting(node), self._running(progress):
            if isinstance(node, DeltaIterate):
                return per_round.run_delta(node, self._body_of(step, emission), emission, progress, saves)
            rounds = Rounds(node, progress, saves)
            if step.body is None:
                elements = run_barrier(node, emission, rounds)
            else:
                elements = per_round.run(node, self._body_of(step, emission), emission, rounds)
        return LoopFrame(one_row(emission.spark, rounds.state, node), node.type, elements=elements)

    def _body_of(self, step: LoopStep, emission: Emission) -> per_round.EmitBody:
        """What makes the frames of a round, whose own loops have run then."""
        body = step.body
        assert body is not None, f"the rounds of {step.node.title} have no job of their own"

        def emit(given: Mapping[Node, Frame]) -> Emission:
            inner = Emission(emission.resources, body.plan, given=given)
            inner.optimistic = emission.optimistic  # what may fail natively in a round may fail in the job
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
        finally:
            progress.running = False

    def note(self) -> str:
        """How far the innermost loop that runs is."""
        return next((str(progress) for progress in reversed(self.progress) if progress.running), "")

    def snapshots(self) -> list[Snapshot]:
        """The snapshots that are there."""
        return [] if self.store is None else self.store.snapshots()

    def close(self) -> None:
        """Remove the snapshots if the user wants that and nothing is left to go on from."""
        if self.store is not None and self.store.settings.clean_on_exit and not self._failed:
            self.store.clean()


def without_running(step: LoopStep, spark: SparkSession) -> Frame:
    """What stands for the results of a loop where a plan is only looked at: no state, no elements, no entries."""
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
    """The whole loop as one job; if a worker is lost, the job again from the round that was not finished."""
    given = iterate.input_of(node, emission)
    given = given._replace(frame=Frame(fitting(given.frame.df), given.frame.type))
    attempt = 0
    leader = Leader(rounds, driver_host(emission.spark), feedback=node.feedback)
    try:
        while True:
            restart = Restart(attempt, rounds.saved.parts if node.feedback and rounds.saved is not None else None)
            loop = iterate.barrier(node, emission, given, leader.address, restart)
            try:
                result = kept(loop) if node.feedback else run_to_end(loop)
                leader.finish()
                return result
            except SPARK_ERRORS as error:
                if was_interrupted(error):
                    raise KeyboardInterrupt from None
                if is_dead(emission.spark):
                    raise
                if leader.error is not None:
                    raise leader.error from error
                attempt += 1
                failed = users_error(error, emission.seals) is not None
                if failed or attempt >= _MOST_TRIES or not leader.has_lost_a_task():
                    raise
                if node.feedback:
                    rounds.rewind()
    finally:
        leader.stop()


def kept(loop: Frame) -> Frame:
    """Run the loop and keep what its tasks gave; nothing can make it again but the whole loop."""
    return Frame(loop.df.localCheckpoint(), loop.type)


def run_to_end(loop: Frame) -> Frame | None:
    """Run a loop whose tasks give nothing."""
    loop.df.collect()
    return None


def fitting(df: DataFrame) -> DataFrame:
    """The frame with as many partitions as can run at once: the tasks of a loop wait for each other."""
    spark = df.sparkSession
    slots = slots_of(spark)
    if not is_connect(df) and is_fitting(df, slots):
        return df
    return df.coalesce(slots).localCheckpoint()


def is_fitting(df: DataFrame, slots: int) -> bool:
    """Whether a barrier stage can read the frame as it is: few enough partitions, and no change of their number."""
    partitions = fixed_partitions(df)
    return partitions is not None and partitions <= slots


def slots_of(spark: SparkSession) -> int:
    """How many tasks can run at once."""
    with contextlib.suppress(Exception):  # Connect has no context of its own
        return max(1, task_slots(spark))
    local = re.fullmatch(r"local\[(\d+).*\]", spark.conf.get("spark.master", "") or "")
    return int(local[1]) if local else 1


def driver_host(spark: SparkSession) -> str:
    """Where the workers reach the driver: never all interfaces, and no network where they are on this machine."""
    if runs_here(spark):
        return "127.0.0.1"
    return spark.conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
