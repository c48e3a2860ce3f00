"""The stateful processors of unbounded jobs, which Spark calls.

Before the first micro-batch Spark starts a Python process for each stateful operator, only to get its state variables.
So this module imports little, and the task of a processor is unpickled, with its imports, at its first rows.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from morisot.worker.garbage import freeze_modules
from morisot.worker.report.failure import reporting
from morisot.worker.report.signature import Seal

if TYPE_CHECKING:
    from morisot.engines.spark.emit.stateful.timers import Clock
    from morisot.worker.stateful.buckets import Bucket
    from morisot.worker.stateful.timers import BucketOutcome, TimerBucket


class Processor(StatefulProcessor):
    """A processor whose task is unpickled when it is first used."""

    def __init__(self, task: Any, seal: Seal) -> None:
        # imported here: workers do not need it
        from morisot.engines.spark.emit.python.shipping import current_shipping

        self._shipped = current_shipping().ship(task, separately=False)
        self._seal = seal

    @functools.cached_property
    def task(self) -> Any:
        return self._shipped.load()

    def close(self) -> None:
        """Called when Spark has stored the states."""
        freeze_modules()


def packed_rows(frames: Iterator[Any]) -> tuple[list[bytes], bool]:
    """The packed rows of a bucket, and whether the stream ends: a value without rows reports it."""
    values = [bytes(each) for frame in frames for each in frame["rows"]]
    return [each for each in values if each], b"" in values


class BucketProcessor(Processor):
    """Called for each bucket of a micro-batch, with the bucket's stored states."""

    def __init__(self, bucket: Bucket, seal: Seal) -> None:
        super().__init__(bucket, seal)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._states = handle.getValueState("states", "states BINARY")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
        import pandas as pd

        packed, ends = packed_rows(rows)
        stored = self._states.get()
        saved = None if stored is None else bytes(stored[0])
        with reporting(self._seal):
            results, left_out, states = self.task(packed, saved, ends=ends)
        if states is not None and states != saved:  # a large state that is not changed is not written
            self._states.update((states,))
        if results is not None or left_out is not None:
            noted = None if left_out is None else pickle.dumps(left_out)
            yield pd.DataFrame({"results": [results], "left_out": [noted]})


class TimerProcessor(Processor):
    """Called for each bucket that has rows in a micro-batch, or whose timer has expired."""

    def __init__(self, bucket: TimerBucket, clock: Clock, seal: Seal) -> None:
        super().__init__((bucket, clock), seal)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("state", "state BINARY, timer BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
        packed, ends = packed_rows(rows)
        yield from self._run(packed, timerValues, ends=ends)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803 - Spark's names
        yield from self._run([], timerValues, expired=expiredTimerInfo.getExpiryTimeInMs())

    def _run(
        self, packed: list[bytes], timers: Any, *, expired: int | None = None, ends: bool = False
    ) -> Iterator[Any]:
        import pandas as pd

        bucket, clock = self.task
        saved, timer = self._state.get() or (None, None)
        with reporting(self._seal):
            outcome = bucket(packed, None if saved is None else bytes(saved), clock.moment(timers, ends=ends))
        self._state.update((outcome.state, self._timed(timer, expired, outcome)))
        if outcome.results is not None or outcome.late is not None:
            late = None if outcome.late is None else cloudpickle.dumps(outcome.late)  # type: ignore[no-untyped-call]
            yield pd.DataFrame({"results": [outcome.results], "late": [late]})

    def _timed(self, timer: int | None, expired: int | None, outcome: BucketOutcome) -> int | None:
        """Sets the timer of the bucket, which has at most one. Spark removes an expired timer itself."""
        _, clock = self.task
        wanted: int | None = None if outcome.deadline is None else clock.timer(outcome.deadline)
        if timer == wanted:
            return timer
        if timer is not None and timer != expired:
            self._handle.deleteTimer(timer)
        if wanted is not None:
            self._handle.registerTimer(wanted)
        return wanted
