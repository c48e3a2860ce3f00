"""Operators with timers on unbounded input: in buckets like other machines, with one timer for each bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.engines.spark.emit.stateful.keyed_state import gathered_in_buckets, stream_end
from morisot.engines.spark.emit.stateful.processors import TimerProcessor
from morisot.engines.spark.emit.stateful.watermark_column import LATEST
from morisot.plan.nodes.node import Node
from morisot.types.element import DATETIME, Type
from morisot.worker.stateful.late import UnpackTimerBuckets
from morisot.worker.stateful.timers import Moment, TimerBucket

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from morisot.engines.spark.emit.core.emission import Emission


@dataclass(frozen=True)
class Clock:
    """Event time or processing time, and the number of ticks in one of Spark's milliseconds."""

    processing: bool
    per_millisecond: int

    @property
    def mode(self) -> Literal["ProcessingTime", "EventTime"]:
        return "ProcessingTime" if self.processing else "EventTime"

    def moment(self, timers: Any, *, ends: bool = False) -> Moment:
        """The time of this micro-batch, in which the stream may end."""
        if self.processing:
            now = timers.getCurrentProcessingTimeInMs() * self.per_millisecond
            return Moment(now - 1, now, ends)
        watermark = timers.getCurrentWatermarkInMs()
        # Spark's watermark is 0 before the first element.
        return Moment(watermark * self.per_millisecond if watermark > 0 else None, ends=ends)

    def timer(self, deadline: int) -> int:
        """The first millisecond at which the deadline has passed. It is at least 1, because watermarks start with 0."""
        reached = deadline + 1 if self.processing else deadline
        return min(max(-(-reached // self.per_millisecond), 1), LATEST)


def clock_of(time: Type, *, processing: bool = False) -> Clock:
    return Clock(processing, 1000 if time == DATETIME else 1)


def in_buckets_with_timers(
    node: Node, emission: Emission, frame: Frame, rows: DataFrame, where: str, bucket: TimerBucket, clock: Clock
) -> Frame:
    """The frame after buckets with timers, over rows of the frame. `where` is the expression of a row's bucket."""
    emission.states[node] = bucket
    packed = gathered_in_buckets(frame, rows, where, stream_end(emission))
    results = packed.groupBy("bucket").transformWithStateInPandas(
        TimerProcessor(bucket, clock, current_seal()),
        "results BINARY, late BINARY",
        emission.plan.output_mode,
        clock.mode,
    )
    policy = emission.policy(node)
    account = emission.account([policy]) if policy else None
    output = Frame(results, node.type, node.time is not None, has_row_order=True)
    unpack = UnpackTimerBuckets(policy, account, dumps)
    return output.over(results.mapInArrow(in_worker(unpack), output.ddl(node.type)))
