"""Timestamps as a hidden column."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, TIME, Frame
from morisot.engines.spark.emit.frames.sql import micros_since_epoch
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.in_order import ORDER, numbered
from morisot.engines.spark.emit.stateful.keyed_state import bucket_of
from morisot.engines.spark.emit.stateful.timers import clock_of, in_buckets_with_timers
from morisot.physical.ops import SortOp, TimersOp, TimestampsInPythonOp, TimestampsOp
from morisot.plan.nodes.time import AddTimestamps, DropTimestamps, Reorder, is_direct
from morisot.types.element import DATETIME, Tuple, Type
from morisot.worker.rowwise.steps import Step
from morisot.worker.stateful.timers import ReorderBucket


@emits(TimestampsOp, AddTimestamps)
def emit_add_timestamps(node: AddTimestamps, emission: Emission, frame: Frame) -> Frame:
    form = emission.column_form(node, node.timestamp)
    assert form is not None, "a timestamp without a column form should have been a stage"
    assert node.kind is not None
    widened, (moment,) = frame.evaluate(form, frame.names())
    row_order = [ROW_ORDER] if frame.has_row_order else []
    ticks = f"{ticks_of(moment, node.kind)} AS {TIME}"
    rows = widened.df.selectExpr(*frame.columns, ticks, *frame.order, *row_order)
    return Frame(rows, node.type, timed=True, has_row_order=frame.has_row_order, order=frame.order)


@emits(TimestampsInPythonOp, AddTimestamps)
def emit_add_timestamps_in_python(
    node: AddTimestamps, emission: Emission, frame: Frame, steps: tuple[Step, ...]
) -> Frame:
    """The result of the function is paired with the element until it is a column."""
    assert node.kind is not None
    both = Tuple((node.kind, node.type))
    pairs = fused_stage.run(frame.untimed(), [*steps, fused_stage.step(node, emission)], both, emission)
    moment, *columns = pairs.columns
    named = [f"{column} AS {name}" for column, name in zip(columns, Frame(pairs.df, node.type).columns, strict=True)]
    row_order = [ROW_ORDER] if frame.has_row_order else []
    rows = pairs.df.selectExpr(*named, f"{ticks_of(moment, node.kind)} AS {TIME}", *row_order)
    return Frame(rows, node.type, timed=True, has_row_order=frame.has_row_order)


def ticks_of(moment: str, kind: Type) -> str:
    """A timestamp in ticks."""
    return micros_since_epoch(moment) if kind == DATETIME else moment


@emits(TimestampsOp, DropTimestamps)
def emit_drop_timestamps(node: DropTimestamps, emission: Emission, frame: Frame) -> Frame:
    return frame.untimed()


@emits(TimersOp, Reorder)
def emit_reorder_unbounded(node: Reorder, emission: Emission, frame: Frame) -> Frame:
    """Rows are buffered in buckets by their timestamps, and get a row order by time."""
    assert node.time is not None
    bucket = ReorderBucket(frame.type, is_direct(node), node.late is not None)
    where = bucket_of(emission, TIME)
    return in_buckets_with_timers(node, emission, frame, frame.df, where, bucket, clock_of(node.time))


@emits(SortOp, Reorder)
def emit_reorder(node: Reorder, emission: Emission, frame: Frame) -> Frame:
    rows = numbered(frame.df).orderBy(TIME, ORDER).drop("order")
    return Frame(rows, node.type, frame.timed)
