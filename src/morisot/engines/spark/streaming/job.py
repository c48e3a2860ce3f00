"""The handle of a running job."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from morisot.engines.spark.session.ending import Worker
from morisot.engines.spark.session.jvm_death import JvmEnded
from morisot.errors import JobError, MorisotError, PlanError
from morisot.plan.snapshots import Snapshot, StateRow
from morisot.runtime.metrics import BoundedSinkMetrics, JobMetrics, LeftOutMetrics
from morisot.runtime.tally import merged
from morisot.types.replicas import Placement


class Part(Protocol):
    """A part of a job: the sinks of one streaming query, or all bounded sinks."""

    def stop(self) -> None: ...

    def join(self, timeout: float | None) -> bool: ...

    @property
    def error(self) -> BaseException | None: ...

    def catch_up(self) -> None: ...

    def metrics(self) -> JobMetrics:
        """The metrics of the part, and under `sinks` those of each sink."""
        ...

    @property
    def indexes(self) -> Sequence[int]:
        """The numbers of its sinks among those of the job."""
        ...

    def snapshots(self) -> list[Snapshot]: ...

    def state(self, name: str) -> list[StateRow] | None: ...

    @property
    def stateful(self) -> list[str]: ...


class Job:
    """A running job, returned by `ctx.start()`."""

    def __init__(
        self,
        parts: list[Part],
        snapshots: Callable[[], list[Snapshot]] = list,
        placement: Callable[[], list[Placement]] = list,
    ) -> None:
        self._parts = parts
        self._snapshots = snapshots
        self._placement = placement
        self._failure: MorisotError | None = None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end of the job, at most `timeout` seconds. Returns whether it has ended. Raises its failure."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for part in self._parts:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ended = part.join(left)
            self._raise_failure()
            if not ended:
                return False
        return True

    def catch_up(self) -> None:
        """Waits until all elements that exist now have been read and delivered. Raises the failure of the job.

        With a source that always has new elements, such as a rate, it does not return.
        """
        for part in self._parts:
            part.catch_up()
            self._raise_failure()

    def stop(self) -> None:
        """Ends the job. Delivered results are not affected. Raises JobError if Spark's JVM has ended before."""
        for part in self._parts:
            part.stop()
        ended = next((part.error for part in self._parts if isinstance(part.error, JvmEnded)), None)
        if ended is not None:
            raise ended

    @property
    def running(self) -> bool:
        return any(not part.join(0) for part in self._parts)

    def exception(self) -> MorisotError | None:
        """The failure of the job; None if it did not fail."""
        if self._failure is None:
            error = next((part.error for part in self._parts if part.error is not None), None)
            self._failure = None if error is None else as_failure(error)
        return self._failure

    def snapshots(self) -> list[Snapshot]:
        """The snapshots from which the job can resume: of its loops, and of each unbounded sink."""
        return [*self._snapshots(), *(each for part in self._parts for each in part.snapshots())]

    def placement(self) -> list[Placement]:
        """The replicas of `apply`, each with its process, and how many elements it has processed and emitted.

        A replica that moved to another process is listed for each of them.
        """
        return self._placement()

    def state(self, name: str) -> list[StateRow]:
        """The state of an operator in the last complete snapshot, also after the job was stopped.

        `name` is the operator's `name(…)`, or its method if there is one such operator. A row is (key, value): the
        user's state, the accumulator of an aggregate, the open windows, or the replica and its key store. The key is
        None if there are no keys.
        """
        found = (part.state(name) for part in self._parts)
        rows = next((each for each in found if each is not None), None)
        if rows is None:
            known = ", ".join(dict.fromkeys(name for part in self._parts for name in part.stateful))
            raise PlanError(f"the job has no operator {name!r} with a state", advice=f"pass one of {known or 'none'}")
        return rows

    def metrics(self) -> JobMetrics:
        """Elements read, delivered and skipped, micro-batches and rates, in total and for each sink."""
        parts = [part.metrics() for part in self._parts]
        indexes = [index for part in self._parts for index in part.indexes]
        sinks = [sink for part in parts for sink in part["sinks"]]
        ordered = [sink for _, sink in sorted(zip(indexes, sinks, strict=True), key=operator.itemgetter(0))]
        return {
            "elements_in": sum(part["elements_in"] for part in parts),
            "elements_out": sum(part["elements_out"] for part in parts),
            "batches": sum(part["batches"] for part in parts),
            **merged(parts),
            "sinks": ordered,
        }

    def _raise_failure(self) -> None:
        error = self.exception()
        if error is not None:
            raise error from error.__cause__

    def __repr__(self) -> str:
        state = "failed" if self.exception() else "running" if self.running else "ended"
        return f"<Job {state}>"


def as_failure(error: BaseException) -> MorisotError:
    """The failure of a job, as a Morisot error. An unexpected error is its cause."""
    if isinstance(error, MorisotError):
        return error
    failure = JobError(f"the job failed with an unexpected {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


class ThreadPart:
    """A bounded run in its own thread."""

    def __init__(
        self, name: str, run: Callable[[], None], left_out: Callable[[], LeftOutMetrics], *, index: int = 0
    ) -> None:
        self._name = name
        self.indexes = (index,)
        self._left_out = left_out
        self._run = run
        self.error: BaseException | None = None
        self._thread = Worker(name, self._guarded)

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        """Does nothing: a bounded run ends by itself."""
        self._thread.join()

    def join(self, timeout: float | None) -> bool:
        return self._thread.join(timeout)

    def catch_up(self) -> None:
        self._thread.join()

    def metrics(self) -> JobMetrics:
        left_out = self._left_out()
        sink: BoundedSinkMetrics = {"sink": self._name, **left_out}
        return {"elements_in": 0, "elements_out": 0, "batches": 0, **left_out, "sinks": [sink]}

    def snapshots(self) -> list[Snapshot]:
        """None: the snapshots of a bounded run are those of its loops."""
        return []

    def state(self, name: str) -> list[StateRow] | None:  # noqa: ARG002 - a bounded run keeps no state
        return None

    @property
    def stateful(self) -> list[str]:
        return []
