"""Windows on unbounded input: machines with keyed state, some of them with timers."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.stateful.keyed_state import by_bucket_of_key, in_buckets
from morisot.engines.spark.emit.stateful.timers import clock_of, in_buckets_with_timers
from morisot.engines.spark.emit.window.machines import machine_in_order
from morisot.engines.spark.emit.window.measures import in_python
from morisot.physical.ops import KeyedStateOp, TimersOp
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.time import is_direct
from morisot.plan.nodes.window import Window
from morisot.types.element import Keyed, key_of
from morisot.worker.stateful.time_windows import Measuring, Sessions, Sliding
from morisot.worker.stateful.timers import TimeMachine, WindowBucket


@emits(KeyedStateOp, Window)
@emits(TimersOp, Window)
def emit_window_unbounded(node: Window, emission: Emission, frame: Frame) -> Frame:
    if not node.kind.timed:
        return in_buckets(node, emission, frame, machine_in_order(node))
    for _, closure in node.closures:
        check_travels(closure)
    stamps, keep_late = node.time is not None, node.late is not None
    bucket = WindowBucket(
        time_machine(node), origin(node), frame.type, node.type, dumps, stamps, is_direct(node), keep_late
    )
    rows, where = by_bucket_of_key(node, emission, frame) if isinstance(frame.type, Keyed) else (frame.df, "0")
    clock = clock_of(node.clock, processing=node.kind.processing)
    return in_buckets_with_timers(node, emission, frame, rows, where, bucket, clock)


def time_machine(node: Window) -> TimeMachine:
    row = node.row.cls if node.row else None
    key, stamps = key_of(node.input.type), node.time is not None
    measuring = Measuring(in_python(node), row, node.clock, node.bounds, stamps, origin(node), node.element)
    match node.kind:
        case plan.TimeKind(size, slide, offset):
            return Sliding(size, slide, offset, measuring, key)
        case plan.SessionKind(gap):
            return Sessions(gap, measuring, key)
    raise AssertionError(f"{node.kind} has no windows of time")
