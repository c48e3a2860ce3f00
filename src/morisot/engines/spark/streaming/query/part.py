"""A part of an unbounded job: the sinks of one query group."""

from __future__ import annotations

import contextlib
import time

from morisot.engines.spark.session.ending import Worker, stop_at_exit
from morisot.engines.spark.session.jvm_death import JvmEnded, reporting_death
from morisot.engines.spark.streaming.backlog import backlog
from morisot.engines.spark.streaming.query.channel_reader import ChannelReader
from morisot.engines.spark.streaming.query.counts import BatchCounts
from morisot.engines.spark.streaming.query.lifecycle import Lifecycle
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.starter import QueryAttempt, QueryStarter
from morisot.engines.spark.streaming.query.states import names_of, state_of
from morisot.engines.spark.streaming.query.steps import POLL_SECONDS, QuerySteps
from morisot.engines.spark.streaming.query.watch import Watch
from morisot.engines.spark.streaming.sinks import SinkWriter
from morisot.overrides import OVERRIDES
from morisot.plan.analysis.graph import walk
from morisot.plan.snapshots import Snapshot, StateRow
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.metrics import BacklogMetrics, CountedSinkMetrics, JobMetrics, SinkMetrics

SETTLING_SECONDS = 0.02
_LAST_BATCH_SECONDS = 5.0
"""The most seconds in which the micro-batch that runs may end, when a supervised program ends in order."""


class StreamPart:
    """The sinks of an unbounded job that one query serves. Nothing runs before `start`."""

    def __init__(self, spec: QuerySpec) -> None:
        self._spec = spec
        self._lifecycle: Lifecycle[QueryAttempt] = Lifecycle()
        self._starter = QueryStarter(spec, self._lifecycle)
        self._channels = ChannelReader(self._starter.emission.nodes, spec.reader, spec.checkpoint)
        self._counts = BatchCounts(spec, self._channels)
        steps = QuerySteps(spec, self._lifecycle, self._starter, self._channels, self._counts)
        self._watch = Watch(spec.name, self._lifecycle, steps)

    @property
    def error(self) -> BaseException | None:
        """The error of the part; None if it has not failed."""
        return self._watch.error

    @property
    def names(self) -> list[str]:
        """The names of the sinks in the snapshots."""
        return self._spec.checkpoint.names

    @property
    def indexes(self) -> list[int]:
        return [writer.index for writer in self._spec.writers]

    def snapshots(self) -> list[Snapshot]:
        return self._spec.checkpoint.snapshots() if self._spec.snapshots is not None else []

    def state(self, name: str) -> list[StateRow] | None:
        """The state of an operator in the last complete snapshot; None if there is no such operator."""
        spec = self._spec
        return state_of(spec.runner.spark, spec.group.stream, self._starter.emission, spec.checkpoint, name)

    @property
    def stateful(self) -> list[str]:
        """The names of the operators with a state."""
        return list(names_of(self._spec.group.stream, self._starter.emission))

    def clean(self) -> None:
        """Removes the snapshots."""
        self._spec.checkpoint.clean()

    # -- start and end ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the query, and the thread that watches it. Raises an error if the query does not start."""
        stop_at_exit(self)
        ACTIVITY.add(self)
        self._watch.start()

    def ask_to_stop(self) -> None:
        """Requests that the watching thread ends the query."""
        self._await_last_snapshot()
        self._watch.ask_to_stop()

    def stop(self) -> None:
        """Ends the query, and waits for its end."""
        self._await_last_snapshot()
        self._watch.stop()

    def _await_last_snapshot(self) -> None:
        """Waits for the micro-batch that runs now in a supervised program: the next attempt need not repeat it."""
        if not OVERRIDES.supervised or self._spec.snapshots is None or not self._lifecycle.is_running:
            return
        with contextlib.suppress(Exception):  # Spark may have ended
            begun, committed = self._spec.checkpoint.newest()
            deadline = time.monotonic() + _LAST_BATCH_SECONDS
            while committed < begun and not self.join(SETTLING_SECONDS) and time.monotonic() < deadline:
                committed = max(self._spec.checkpoint.completed(), default=-1)

    def join(self, timeout: float | None) -> bool:
        return self._lifecycle.join(timeout)

    def catch_up(self) -> None:
        """Waits until all elements that the sources have now were delivered, or the part has ended."""
        Worker(
            "catch-up", self._catch_up
        ).join()  # in another thread, because Ctrl-C must not break this thread's connection to the JVM

    def _catch_up(self) -> None:
        while not self.join(0):
            attempt = self._lifecycle.query
            if attempt is not None:
                with contextlib.suppress(Exception):
                    attempt.query.processAllAvailable()
                    if attempt.is_active and attempt is self._lifecycle.query:
                        self._await_commits()
                        return
            self.join(POLL_SECONDS)  # the query failed: it is restarted, or the part ends

    def _await_commits(self) -> None:
        """Waits until the watching thread has committed every complete micro-batch to two-phase sinks."""
        while not all(writer.settled for writer in self._spec.writers) and not self.join(SETTLING_SECONDS):
            pass

    def has_backlog(self) -> bool:
        """Whether there is input that a micro-batch should have read by now."""
        if not self._lifecycle.is_running:
            return False
        spec = self._spec
        unread = backlog(self._starter.emission.nodes, self._channels.channels, spec.checkpoint)
        return unread["lag_seconds"] > (spec.trigger.seconds or 0.0)

    # -- metrics ------------------------------------------------------------------------------------------------------

    def metrics(self) -> JobMetrics:
        """The metrics of the part. Elements that several sinks share are counted once."""
        if isinstance(self.error, JvmEnded):
            raise self.error
        attempt, spec, counts = self._lifecycle.query, self._spec, self._counts
        if attempt is not None:
            with reporting_death(spec.runner.spark):
                counts.count(attempt)
        unread = backlog(self._starter.emission.nodes, self._channels.channels, spec.checkpoint)
        return {
            "elements_in": counts.measures.elements_in,
            "elements_out": sum(writer.elements_out for writer in spec.writers),
            "batches": counts.measures.batches,
            **counts.tally.metrics(),
            "sinks": [self._metrics_of(writer, unread, attempt) for writer in spec.writers],
        }

    def _metrics_of(self, writer: SinkWriter, unread: BacklogMetrics, attempt: QueryAttempt | None) -> SinkMetrics:
        measures = self._counts.measures
        metrics: SinkMetrics = {
            "sink": writer.sink.shown_name,
            **measures.metrics(writer.elements_out),
            **unread,
            "silent": [] if attempt is None else attempt.idle_inputs.idle,
            **self._counts.tally.metrics(walk(self._spec.group.stream, writer.sink)),
        }
        if not self._spec.counts_operators:
            return metrics
        counted: CountedSinkMetrics = {**metrics, "operators": measures.operators(self._starter.emission.nodes)}
        return counted
