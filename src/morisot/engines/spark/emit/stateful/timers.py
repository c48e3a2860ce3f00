"""Operators with timers on unbounded input: in buckets like other machines, one timer for each bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.engines.spark.emit.stateful.keyed_state import gathered_in_buckets
from morisot.engines.spark.emit.stateful.watermark_column import LATEST
from morisot.plan.nodes.node import Node
from morisot.types.element import DATETIME, Type
from morisot.worker.garbage import leave_modules_alone
from morisot.worker.report.failure import reporting
from morisot.worker.report.signature import Seal
from morisot.worker.stateful.late import UnpackTimerBuckets
from morisot.worker.stateful.timers import BucketOutcome, Moment, TimerBucket

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from morisot.engines.spark.emit.lowering.planner import Lowering


@dataclass(frozen=True)
class Clock:
    """Event time or processing time, in milliseconds of Spark's, and the ticks of elements in one of them."""

    processing: bool
    per_millisecond: int

    @property
    def mode(self) -> Literal["ProcessingTime", "EventTime"]:
        return "ProcessingTime" if self.processing else "EventTime"

    def moment(self, timers: Any) -> Moment:
        """The time of this micro-batch."""
        if self.processing:
            now = timers.getCurrentProcessingTimeInMs() * self.per_millisecond
            return Moment(now - 1, now)
        mark = timers.getCurrentWatermarkInMs()
        return Moment(mark * self.per_millisecond if mark > 0 else None)  # Spark begins with 0, before any element

    def timer(self, deadline: int) -> int:
        """The first millisecond at which the deadline has passed; no timer is for 0, where watermarks begin."""
        reached = deadline + 1 if self.processing else deadline
        return min(max(-(-reached // self.per_millisecond), 1), LATEST)


def clock_of(time: Type, *, processing: bool = False) -> Clock:
    return Clock(processing, 1000 if time == DATETIME else 1)


def in_buckets_with_timers(
    node: Node, lowering: Lowering, frame: Frame, rows: DataFrame, where: str, bucket: TimerBucket, clock: Clock
) -> Frame:
    """The frame after buckets with timers, over rows of the frame; `where` is the expression of a row's bucket."""
    packed = gathered_in_buckets(frame, rows, where)
    results = packed.groupBy("bucket").transformWithStateInPandas(
        TimerProcessor(bucket, clock, current_seal()),
        "results BINARY, late BINARY",
        lowering.plan.output_mode,
        clock.mode,
    )
    policy = lowering.policy(node)
    account = lowering.account([policy]) if policy else None
    output = Frame(results, node.type, node.time is not None, placed=True)
    unpack = UnpackTimerBuckets(policy, account, dumps)
    return output.over(results.mapInArrow(in_worker(unpack), output.ddl(node.type)))


class TimerProcessor(StatefulProcessor):
    """Called by Spark for each bucket that has rows in a micro-batch, or whose timer has expired."""

    def __init__(self, bucket: TimerBucket, clock: Clock, seal: Seal) -> None:
        self._bucket = bucket
        self._clock = clock
        self._seal = seal

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "state BINARY, timer BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
        packed = [bytes(each) for frame in rows for each in frame["rows"]]
        yield from self._run(packed, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
        yield from self._run([], timerValues, expired=expiredTimerInfo.getExpiryTimeInMs())

    def _run(self, packed: list[bytes], timers: Any, expired: int | None = None) -> Iterator[Any]:
        import pandas as pd

        saved, timer = self._state.get() or (None, None)
        with reporting(self._seal):
            outcome = self._bucket(packed, None if saved is None else bytes(saved), self._clock.moment(timers))
        self._state.update((outcome.state, self._timed(timer, expired, outcome)))
        if outcome.results is not None or outcome.late is not None:
            late = None if outcome.late is None else dumps(outcome.late)
            yield pd.DataFrame({"results": [outcome.results], "late": [late]})

    def _timed(self, timer: int | None, expired: int | None, outcome: BucketOutcome) -> int | None:
        """Set the timer of the bucket, which has one at most; Spark has removed one that has expired."""
        wanted = None if outcome.deadline is None else self._clock.timer(outcome.deadline)
        if timer == wanted:
            return timer
        if timer is not None and timer != expired:
            self._handle.deleteTimer(timer)
        if wanted is not None:
            self._handle.registerTimer(wanted)
        return wanted

    def close(self) -> None:
        """Spark has stored the states."""
        leave_modules_alone()
