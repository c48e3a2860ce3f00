"""Loops as frames: the emission of a round or of a barrier stage. `engines.spark.loops` runs the rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.loops import loop_files
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.pickling import carry_value, check_travels
from morisot.physical.choose.iterate import body_nodes
from morisot.physical.ops import LoopResultOp
from morisot.plan.nodes.iterate import Elements, Loop, State
from morisot.plan.nodes.source import StreamRange
from morisot.types.element import Type
from morisot.worker.aggregate.accumulators import FoldAccumulator
from morisot.worker.codec.file_rows import FileRows
from morisot.worker.loops.kernel import LoopKernel
from morisot.worker.loops.link import Address
from morisot.worker.loops.messages import TaskId
from morisot.worker.loops.task import LocalFold, LoopTask, RoundFold
from morisot.worker.rowwise import kernel_stage
from morisot.worker.rowwise.kernel_stage import Numbers
from morisot.worker.rowwise.steps import Step


@dataclass(frozen=True)
class LoopFrame(Frame):
    """The results of a loop: the frames of its state and of its elements."""

    elements: Frame | None = None


class Restart(NamedTuple):
    """The attempt of a loop, and the files with the elements from which it resumes, if it does."""

    attempt: int
    saved: tuple[str, ...] | None = None


def local_fold(node: Loop) -> LocalFold:
    """The loop's fold, to be pickled."""
    check_travels(node.local_fold)
    carry_value(node.state)
    carry_value(node.delta)
    return LocalFold(FoldAccumulator(node.delta, node.local_fold.function), node.operator, node.location)


class BarrierInput(NamedTuple):
    """The input of the tasks of a loop, and the steps before the first round."""

    frame: Frame
    steps: tuple[Step, ...] = ()
    own: Numbers | FileRows | None = None
    """A source that the tasks read themselves. The frame then has the numbers of the parts."""


def input_of(node: Loop, emission: Emission) -> BarrierInput:
    own = own_input(node, emission)
    if own is not None:
        return BarrierInput(fused_stage.instances(emission), (), own)
    frame, steps = emission.before(node)
    return BarrierInput(frame.untimed(), steps)


def input_of_parts(parts: int, emission: Emission) -> BarrierInput:
    """The input of tasks that read the files of a snapshot. The input of the loop is not computed."""
    return BarrierInput(fused_stage.instances(emission, parts))


def own_input(node: Loop, emission: Emission) -> Numbers | FileRows | None:
    """A range or files that the tasks generate or read themselves, if they are the input of the loop."""
    if isinstance(node.input, StreamRange):
        return Numbers(node.input.range, emission.parallelism)
    return loop_files.rows_of(node.input, emission)


def barrier(node: Loop, emission: Emission, given: BarrierInput, coordinator: Address, restart: Restart) -> Frame:
    """The loop as one stage whose tasks run at the same time. The caller ensures that there are enough slots."""
    frame, before, own = given
    compiled = emission.plan.choices[node].detail
    task = LoopTask(
        before,
        emission.steps(body_nodes(node)),
        frame.type if own is None else node.input.type,
        node.input.type,
        node.element_type,
        node.body.state,
        local_fold(node),
        node.feedback,
        coordinator,
        barrier_task(restart.attempt),
        dumps,
        compiled if isinstance(compiled, LoopKernel) else None,
        own,
        restart.saved,
        kernel_stage.PATIENCE,
    )
    rows = frame.df.mapInArrow(in_worker(task), schema.ddl(node.element_type), barrier=True)
    return Frame(rows, node.element_type)


def round_fold(node: Loop, frame: Frame, steps: tuple[Step, ...]) -> DataFrame:
    """One row for each partition: its number, the number of elements that the body emitted, and their delta."""
    task = RoundFold(steps, frame.type, local_fold(node), fused_stage.partition_id(), dumps)
    return frame.df.mapInArrow(in_worker(task), "partition BIGINT, elements BIGINT, delta BINARY")


def as_type(frame: Frame, type_: Type) -> Frame:
    """The same elements, with the columns of another type."""
    if frame.type == type_:
        return frame
    step = Step("map", "iterate", None, function=_itself)
    return fused_stage.run(frame, (step,), type_)


def _itself(element: Any) -> Any:
    return element


def barrier_task(attempt: int) -> Callable[[], TaskId]:
    """A function that returns the number of a task of a barrier stage, and the number of tasks."""

    def current() -> TaskId:
        from pyspark import BarrierTaskContext

        context = BarrierTaskContext.get()
        return TaskId(context.partitionId(), len(context.getTaskInfos()), attempt)

    return current


@emits(LoopResultOp, State)
def emit_state(node: State, emission: Emission, frame: Frame) -> Frame:
    return Frame(frame.df, node.type)


@emits(LoopResultOp, Elements)
def emit_elements(node: Elements, emission: Emission, frame: Frame) -> Frame:
    assert isinstance(frame, LoopFrame)
    assert frame.elements is not None, "only iterate has elements"
    return frame.elements
