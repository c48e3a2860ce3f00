"""The plans that Spark executes for a job, and the boundary nodes in them."""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.emit import iterate
from morisot.engines.spark.emit.core.emission import Emission, QueryInputs
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.iterate import LoopFrame, Restart
from morisot.engines.spark.emit.loops.native_deltas import entries_of
from morisot.engines.spark.emit.loops.round_folds import native_round_fold
from morisot.engines.spark.emit.stateful.bounded_inputs import for_files
from morisot.engines.spark.loops.per_round import Replayed
from morisot.engines.spark.loops.runner import nothing
from morisot.physical.job import LoopStep, PlannedJob
from morisot.plan.analysis.graph import bounded_inputs
from morisot.plan.nodes.iterate import DeltaIterate, Loop
from morisot.plan.nodes.node import Node
from morisot.types.element import Type
from morisot.worker.loops.link import Address

PLANNING = {
    "spark.sql.adaptive.enabled": "false",  # a plan that changes while it runs is not there before
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}
"""Settings under which a plan shows what operators cause, and not what Spark computes of a few rows while it plans."""

NOBODY = Address("localhost", 0, b"")
"""The coordinator of a loop that does not run."""
_NAMES = {
    "LocalTableScanExec": "Scan",
    "RDDScanExec": "Scan",
    "RangeExec": "Scan",
    "FileSourceScanExec": "Scan",
    "BatchScanExec": "Scan",
    "InMemoryTableScanExec": "Scan",
    "MapInArrowExec": "MapInArrow",
    "TransformWithStateInPySparkExec": "TransformWithState",
    "ShuffleExchangeExec": "Exchange",
    "BroadcastExchangeExec": "BroadcastExchange",
    "SortExec": "Sort",
    "TakeOrderedAndProjectExec": "Sort",
    "HashAggregateExec": "Aggregate",
    "ObjectHashAggregateExec": "Aggregate",
    "SortAggregateExec": "Aggregate",
    "WindowExec": "Window",
    "BroadcastHashJoinExec": "Join",
    "BroadcastNestedLoopJoinExec": "Join",
    "ShuffledHashJoinExec": "Join",
    "SortMergeJoinExec": "Join",
    "CartesianProductExec": "Join",
}
_NO_BOUNDARIES = {
    "AttachDistributedSequenceExec",
    "CoalesceExec",
    "CollectLimitExec",
    "CollectMetricsExec",
    "ColumnarToRowExec",
    "EventTimeWatermarkExec",
    "FilterExec",
    "GenerateExec",
    "GlobalLimitExec",
    "InputAdapter",
    "LocalLimitExec",
    "PlanLater",
    "ProjectExec",
    "ReusedExchangeExec",
    "StateStoreRestoreExec",
    "StateStoreSaveExec",
    "UnionExec",
    "WholeStageCodegenExec",
    "WriteToDataSourceV2Exec",
}


class Executed:
    """Counts the boundary nodes of plans; what is persisted counts once, and each scan of it."""

    def __init__(self) -> None:
        self.nodes: Counter[str] = Counter()
        self._persisted: set[int] = set()

    def add(self, df: DataFrame) -> None:
        self.add_plan(df._jdf.queryExecution().executedPlan())

    def add_persisted(self, df: DataFrame) -> None:
        """Count a persisted frame, unless a plan has shown that it reads it."""
        plan = df.select("*")._jdf.queryExecution().executedPlan()  # the frame itself may be planned already
        if _name_of(plan) not in self._persisted:
            self.add_plan(plan)

    def add_plan(self, plan: Any) -> None:
        waiting = [plan]
        while waiting:
            found = waiting.pop()
            kind = found.getClass().getSimpleName()
            assert kind in _NAMES or kind in _NO_BOUNDARIES, f"is {kind} a boundary?"
            if kind in _NAMES:
                self.nodes[_NAMES[kind]] += 1
            if kind == "InMemoryTableScanExec":
                waiting += self._made_now(found)
            elif kind == "ReusedExchangeExec":
                waiting.append(found.child())
            else:
                children = found.children()
                waiting += [children.apply(place) for place in range(children.length())]

    def _made_now(self, scan: Any) -> list[Any]:
        """The plan behind a scan of what is persisted, unless it was counted."""
        name = _name_of(scan)
        if name in self._persisted:
            return []
        self._persisted.add(name)
        return [scan.relation().cachedPlan()]


def _name_of(plan: Any) -> int:
    """What tells the persisted frame that a plan reads from others."""
    while plan.getClass().getSimpleName() != "InMemoryTableScanExec":
        plan = plan.children().apply(0)
    return int(plan.relation().cachedPlan().hashCode())


def executed(job: PlannedJob, runner: BatchRunner) -> Counter[str]:
    """The boundary nodes of all plans that a job executes, with one round of each loop; no loop is run."""
    with tempfile.TemporaryDirectory() as directory, _planning(runner.spark):
        return _Run(runner, Path(directory)).nodes_of(job)


@contextlib.contextmanager
def _planning(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in PLANNING}
    for name, value in PLANNING.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


class _Run:
    def __init__(self, runner: BatchRunner, directory: Path) -> None:
        self.runner = runner
        self.directory = directory
        self.found = Executed()

    def nodes_of(self, job: PlannedJob) -> Counter[str]:
        (root,) = job.plan.roots
        reading = QueryInputs(idle_inputs=self.directory / "idle", bounded_inputs=self.directory)
        emission = self.runner.emission(job, query=reading)
        try:
            self._copy(root)
            for step in job.loops:
                emission.bind(step.node, self._left_by(step, emission))
            frame = emission.frame(root)
            for each in (self.directory / "idle").glob("*"):  # of what it has no files of Spark plans nothing
                (each / "time").write_text("1", encoding="utf-8")
            if frame.df.isStreaming:
                self.found.add_plan(self._micro_batch(frame.df, job.plan.output_mode))
            else:
                self.found.add(frame.df)
            for kept in emission._persisted.values():
                self.found.add_persisted(kept)
        finally:
            emission.release()
        return self.found.nodes

    def _copy(self, root: Node) -> None:
        """Copy the bounded streams that meet unbounded ones, as a job does before its query starts."""
        for number, value in enumerate(bounded_inputs(root)):
            emission = self.runner.emission(self.runner.planned(value))
            rows = for_files(emission.frame(value))
            self.found.add(rows)
            rows.write.parquet(str(self.directory / str(number)))

    def _micro_batch(self, df: DataFrame, mode: str) -> Any:
        """The plan of a micro-batch; the sink takes none of its rows, so that Spark plans it and does not run it."""
        writer = df.writeStream.foreachBatch(lambda _frame, _number: None).outputMode(mode)
        writer = writer.option("checkpointLocation", str(self.directory / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        with contextlib.suppress(StreamingQueryException):  # a state that no task has made cannot be committed
            assert query.awaitTermination(60), "the micro-batch takes too long"
        return query._jsq.streamingQuery().lastExecution().executedPlan()

    # -- loops ------------------------------------------------------------------------------------------------------

    def _slot(self, type_: Type) -> Frame:
        """Rows of unknown origin, as a step of a job leaves them."""
        return Frame(nothing(self.runner.spark, type_).localCheckpoint(), type_)

    def _left_by(self, step: LoopStep, emission: Emission) -> Frame:
        """What a loop leaves; the nodes of its first round are counted."""
        if isinstance(step.node, DeltaIterate):
            return self._delta_round(step.node, step, emission)
        self._round(step.node, step, emission)
        return LoopFrame(self._slot(step.node.type).df, step.node.type, elements=self._slot(step.node.element_type))

    def _round(self, node: Loop, step: LoopStep, emission: Emission) -> None:
        if step.body is None:
            tasks = iterate.barrier(node, emission, iterate.input_of(node, emission), NOBODY, Restart(0))
            self.found.add(tasks.df)
            return
        self.found.add(iterate.as_type(emission.frame(node.input).untimed(), node.body.input.type).df)
        body = self._body(step, emission, self._slot(node.body.input.type))
        native = native_round_fold(node, emission)
        if not node.feedback:
            replayed = Replayed(node, native, body)
            if replayed._measured is not None:
                self.found.add(replayed._measured.frame.df.agg(*replayed._measured.aggregates))
            else:
                self.found.add(iterate.round_fold(node, replayed._leaving, replayed._steps))
            return
        leaving = body.frame(node.body.output)
        self.found.add(leaving.df)
        if native is None:
            self.found.add(iterate.round_fold(node, self._slot(leaving.type), ()))

    def _delta_round(self, node: DeltaIterate, step: LoopStep, emission: Emission) -> Frame:
        entries = entries_of(node, emission)
        first = entries.first(emission.frame(node.input).untimed())
        self.found.add(first)
        held = first.localCheckpoint()
        body = self._body(step, emission, entries.updates(held))
        self.found.add(entries.after(held, body.frame(node.body.output)))
        return entries.outputs(held)

    def _body(self, step: LoopStep, emission: Emission, entering: Frame) -> Emission:
        """The emission of a round; what it reads from outside is made once."""
        assert step.body is not None
        body = step.node.body
        for side in body.side_inputs:
            self.found.add(emission.frame(side).df)
        sides = {side: self._slot(side.type) for side in body.side_inputs}
        return self.runner.emission(step.body, given={**sides, body.input: entering})
