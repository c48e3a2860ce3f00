"""Adjacent operators that run in Python, fused into one pass over Arrow batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.python.shipping import current_shipping
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.physical.steps import step_of
from morisot.plan.nodes.node import Node
from morisot.types.element import INT, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.garbage import freeze_modules, little_garbage_collection
from morisot.worker.report.failure import reporting
from morisot.worker.rowwise.stage import Stage
from morisot.worker.rowwise.steps import Step

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

dumps: Dumps = cloudpickle.dumps


def step(node: Node, emission: Emission | None = None) -> Step:
    """The step of the operator for the worker. Without an emission it does not skip elements."""
    for _, closure in node.closures:
        check_travels(closure)
    if emission is None:
        return step_of(node)
    found = step_of(node, emission.parallelism, emission.policy(node))
    return dataclasses.replace(found, counted=emission.counted_in_pass(node))


def instances(emission: Emission, number: int | None = None) -> Frame:
    """One row for each parallel instance of a generator, or for each of `number` tasks, each in its own partition."""
    n = number or emission.parallelism
    return Frame(emission.spark.range(0, n, 1, n).selectExpr("id AS value"), INT)


def run(
    frame: Frame,
    steps: Sequence[Step],
    output: Type,
    emission: Emission | None = None,
    rows: int | None = None,
) -> Frame:
    """The frame after the steps, which process `rows` elements at a time. Without an emission they skip no elements."""
    account = emission.account((), steps) if emission else None
    stage = Stage(tuple(steps), frame.type, output, dumps, len(frame.hidden), account, rows)
    return frame.over(frame.df.mapInArrow(in_worker(stage), frame.ddl(output)), output)


def in_worker(task: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The task as a plain function, which pyspark requires. It signs its failures with the job's key."""
    seal, shipped = current_seal(), current_shipping().ship(task)

    def work(batches: Any) -> Any:
        try:
            with reporting(seal), little_garbage_collection():
                yield from shipped.load()(batches)
        finally:
            freeze_modules()

    return work


def partition_id() -> Callable[[], int]:
    """A function that returns the partition of a task, so that the worker package does not import Spark."""

    def current() -> int:
        from pyspark import TaskContext

        context = TaskContext.get()
        return context.partitionId() if context else 0

    return current
