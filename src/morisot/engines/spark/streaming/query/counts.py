"""Counts the micro-batches of a part from the progress reports of its queries."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from morisot.engines.spark.io.file_output import COUNTED
from morisot.engines.spark.streaming.metrics import Measures
from morisot.engines.spark.streaming.query.channel_reader import ChannelReader
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.starter import QueryAttempt
from morisot.engines.spark.terminal.left_out import by_operator
from morisot.errors import MorisotError
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.snapshot_lag import SnapshotLag
from morisot.runtime.tally import Failures, Tally, divert
from morisot.worker.report.left_out import Reports, totals


class BatchCounts:
    """The numbers of elements that the micro-batches of a part read, emitted and skipped, over all its queries."""

    def __init__(self, spec: QuerySpec, channels: ChannelReader) -> None:
        self._spec = spec
        self._channels = channels
        self.measures = Measures()
        self.tally = Tally()
        """The skipped elements."""
        self.failure: MorisotError | None = None
        """The first exception of a user's handler."""
        self._lag = SnapshotLag(spec.name, spec.trigger.seconds if spec.snapshots is not None else None)
        self._lock = threading.RLock()  # reentrant, because a handler may read the metrics of its own job

    def count(self, attempt: QueryAttempt) -> None:
        """Counts the new micro-batches of a query."""
        with self._lock:
            for progress in attempt.reports.new():
                self._count(attempt, progress)

    def _count(self, attempt: QueryAttempt, progress: Mapping[str, Any]) -> None:
        nodes = attempt.emission.nodes
        self.measures.watch(progress, nodes)
        attempt.idle_inputs.note(progress)
        if "addBatch" not in progress["durationMs"]:  # the report of a query without new data
            return
        batch = int(progress["batchId"])
        self._spec.checkpoint.note_sizes(batch, self.measures.state)
        self._channels.commit(progress["sources"])
        self.measures.add(progress)
        ACTIVITY.note_progress()
        self._lag.note(progress["durationMs"].get("triggerExecution", 0) / 1000)
        if self._spec.snapshots is not None:
            ACTIVITY.note_snapshot(f"{self._spec.checkpoint.names[0]}:{batch}")
        reports = self._reports(attempt, batch)
        if self._spec.counts_operators:
            counted = attempt.emission.plan.counted
            in_passes = {number: each.given for number, each in totals(reports).items() if nodes[number] in counted}
            self.measures.add_given(progress, in_passes, nodes)
        observed = (progress["observedMetrics"] or {}).get(COUNTED)
        if observed is not None:
            self._spec.writers[0].elements_out += int(observed["elements"])
        if self._spec.counted:
            self._count_left_out(attempt, batch, reports)

    def _reports(self, attempt: QueryAttempt, batch: int) -> Reports:
        """The reports of the tasks of a committed micro-batch."""
        if not self._spec.counted and not self._spec.counts_operators:
            return {}
        return self._spec.runner.ledger.take(attempt.emission.run, batch)

    def _count_left_out(self, attempt: QueryAttempt, batch: int, reports: Reports) -> None:
        """Counts the skipped elements of a committed micro-batch, and calls the handlers of diverted ones."""
        numbered = {number: node for number, node in enumerate(attempt.emission.nodes) if node.leaves_out}
        for failures in (by_operator(reports, numbered), *attempt.delivery.left_out(batch)):
            self._note_left_out({node: each for node, each in failures.items() if node in self._spec.counted})

    def _note_left_out(self, failures: Failures) -> None:
        self.tally.add(failures)
        try:
            divert(failures)
        except MorisotError as error:  # raised by the thread that watches the query
            self.failure = self.failure or error
