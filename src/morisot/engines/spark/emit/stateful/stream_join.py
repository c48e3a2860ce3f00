"""Joins of two unbounded streams: both sides are shuffled to the same buckets of keys, and buffered there."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.stateful.keyed_state import by_bucket_of_key, in_buckets
from morisot.engines.spark.emit.stateful.tagged_union import both_sides, types_of_sides
from morisot.engines.spark.emit.stateful.timers import Clock, clock_of, in_buckets_with_timers
from morisot.physical.ops import TimersOp
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.join import IntervalJoin
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import is_direct
from morisot.plan.nodes.window import WindowJoin
from morisot.types.element import Keyed, Type, key_of
from morisot.worker.stateful.interval_joins import IntervalJoinMachine, JoinBucket, Pairing, WindowJoinBucket
from morisot.worker.stateful.pairs import CountedPairs
from morisot.worker.stateful.time_windows import Sessions, Sliding
from morisot.worker.stateful.timers import TimeMachine


@emits(TimersOp, IntervalJoin)
def emit_interval_join_unbounded(node: IntervalJoin, emission: Emission, left: Frame, right: Frame) -> Frame:
    assert node.time is not None
    frame = both_sides(node, left, right)
    machine = IntervalJoinMachine(node.lower, node.upper, node.variant, key_of(frame.type), *types_of_sides(frame))
    bucket = JoinBucket(
        machine,
        origin(node),
        frame.type,
        node.type,
        dumps,
        stamps=True,
        direct=is_direct(node),
        keep_late=node.late is not None,
    )
    return joined(node, emission, frame, bucket, clock_of(node.time))


@emits(TimersOp, WindowJoin)
def emit_window_join_unbounded(node: WindowJoin, emission: Emission, left: Frame, right: Frame) -> Frame:
    frame = both_sides(node, left, right)
    if isinstance(node.kind, plan.CountKind):
        return in_buckets(node, emission, frame, CountedPairs(node.kind.size, node.kind.slide, *types_of_sides(frame)))
    stamps = node.time is not None
    key = key_of(frame.type)
    pairing = Pairing(node.clock, node.bounds, stamps, origin(node), key, *types_of_sides(frame))
    bucket = WindowJoinBucket(
        windows_of(node.kind, pairing, key),
        origin(node),
        frame.type,
        node.type,
        dumps,
        stamps=stamps,
        direct=is_direct(node),
        keep_late=node.late is not None,
    )
    return joined(node, emission, frame, bucket, clock_of(node.clock, processing=node.kind.processing))


def windows_of(kind: plan.WindowKind, pairing: Pairing, key: Type) -> TimeMachine:
    match kind:
        case plan.TimeKind(size, slide, offset):
            return Sliding(size, slide, offset, pairing, key)
        case plan.SessionKind(gap):
            return Sessions(gap, pairing, key)
    raise AssertionError(f"{kind} has no windows of time")


def joined(node: Node, emission: Emission, frame: Frame, bucket: JoinBucket, clock: Clock) -> Frame:
    """The frame after a join by key, or of all elements in one bucket."""
    rows, where = by_bucket_of_key(node, emission, frame) if isinstance(frame.type, Keyed) else (frame.df, "0")
    return in_buckets_with_timers(node, emission, frame, rows, where, bucket, clock)
