"""Runs loops: as one job whose tasks stay, led from here, or as a job for each round."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from morisot.lower import iterate, stages
from morisot.lower.frame import Frame
from morisot.lower.iterate import LoopFrame
from morisot.lower.planner import Lowering
from morisot.plan.iterate import DeltaIterate, Loop
from morisot.run import frames
from morisot.run.failures import SPARK_ERRORS, users_error
from morisot.run.files import is_connect
from morisot.run.leader import Leader
from morisot.run.rounds import Progress, Rounds
from morisot.types.element import Type
from morisot.worker.batches import encode, schema_of

_MOST_TRIES = 3
"""So often a loop is started again without a round more done."""


class Loops:
    """Runs the loops of one engine, and remembers how they went."""

    def __init__(self) -> None:
        self.progress: list[Progress] = []

    def run(self, node: Loop, lowering: Lowering) -> LoopFrame:
        """The results of a loop."""
        progress = Progress(f"{node.label or node.operator} ({node.location})")
        self.progress.append(progress)
        rounds = Rounds(node, progress)
        if iterate.path_of(node).name == "barrier":
            elements = run_barrier(node, lowering, rounds)
        else:
            elements = frames.run(node, lowering, rounds)
        return LoopFrame(one_row(lowering.spark, rounds.state, node), node.type, elements=elements)

    def run_delta(self, node: DeltaIterate, lowering: Lowering) -> Frame:
        """The result of a delta iteration."""
        progress = Progress(f"{node.label or node.operator} ({node.location})")
        self.progress.append(progress)
        return frames.run_delta(node, lowering, progress)


class NoLoops:
    """Stands for the results of loops where a plan is only looked at."""

    def run(self, node: Loop, lowering: Lowering) -> LoopFrame:
        """No state and no elements."""
        elements = Frame(nothing(lowering.spark, node.element_type), node.element_type)
        return LoopFrame(nothing(lowering.spark, node.type), node.type, elements=elements)

    def run_delta(self, node: DeltaIterate, lowering: Lowering) -> Frame:
        """No entries."""
        return Frame(nothing(lowering.spark, node.type), node.type)


def nothing(spark: SparkSession, type_: Type) -> DataFrame:
    """A frame without elements."""
    return spark.createDataFrame(schema_of(type_).empty_table())


def one_row(spark: SparkSession, state: Any, node: Loop) -> DataFrame:
    """The state as a frame."""
    table = pa.Table.from_arrays(encode([state], node.type, stages.dumps), schema=schema_of(node.type))
    return spark.createDataFrame(table)


def run_barrier(node: Loop, lowering: Lowering, rounds: Rounds) -> Frame | None:
    """The whole loop as one job; if a worker is lost, the job again from the round that was not finished."""
    frame, before = iterate.source_of(node, lowering)
    fitted = Frame(fitting(frame.df), frame.type)
    attempt = 0
    leader = Leader(rounds, driver_host(lowering.spark), feedback=node.feedback)
    try:
        while True:
            loop = iterate.barrier(node, lowering, (fitted, before), leader.address, attempt)
            try:
                result = kept(loop) if node.feedback else run_to_end(loop)
                leader.finish()
                return result
            except SPARK_ERRORS as error:
                if leader.error is not None:
                    raise leader.error from error
                attempt = attempt + 1
                if users_error(error) is not None or not leader.lost or attempt >= _MOST_TRIES:
                    raise
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
    execution = df._jdf.queryExecution()
    if execution.executedPlan().getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return False  # how many partitions there will be is known when it has run
    rdd = execution.toRdd()
    partitions = rdd.getNumPartitions()
    waiting = [rdd]
    while waiting:
        found = waiting.pop()
        if found.getNumPartitions() != partitions:
            return False
        parents = found.dependencies()
        waiting += [parents.apply(place).rdd() for place in range(parents.length())]
    return bool(partitions <= slots)


def slots_of(spark: SparkSession) -> int:
    """How many tasks can run at once."""
    with contextlib.suppress(Exception):  # Connect has no context of its own
        context = spark.sparkContext._jsc.sc()
        return max(1, int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile())))
    local = re.fullmatch(r"local\[(\d+).*\]", spark.conf.get("spark.master", "") or "")
    return int(local[1]) if local else 1


def driver_host(spark: SparkSession) -> str:
    """Where the workers reach the driver: never all interfaces."""
    return spark.conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
