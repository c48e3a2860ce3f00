"""Unbounded jobs: each sink is a streaming query, watched by a thread that knows what to do when it fails."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from morisot.errors import MorisotError
from morisot.lower.buckets import BUCKETS_PER_PARTITION
from morisot.lower.ledgers import MICRO_BATCH
from morisot.lower.planner import Lowering
from morisot.plan.description import Description, describe
from morisot.plan.handover import HandOver
from morisot.plan.node import Node
from morisot.plan.pace import Pace
from morisot.plan.sink import Sink, WriteKafka, WriteSink, WriteTo
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.plan.source import StreamChannel
from morisot.plan.tally import Tally, divert
from morisot.run import kafka
from morisot.run.batch import BatchRunner, Receiver, elements
from morisot.run.checkpoint import Checkpoint
from morisot.run.failures import SPARK_ERRORS, is_lost_worker, users_error
from morisot.run.files import FORMATS, delete, is_connect, refuse_existing, replace, write_options
from morisot.run.left_out import by_operator
from morisot.run.measures import Measures
from morisot.run.silence import Silence
from morisot.run.spool import Spool

_POLL_SECONDS = 0.2
_OBSERVED = "morisot"
"""The name under which a query counts what it writes."""
_MOST_TRIES = 5
"""So often a micro-batch is tried again after a Python worker died."""
_KEPT = "spark.sql.streaming.minBatchesToRetain"
_starting = threading.Lock()


class StreamPart:
    """One sink of an unbounded job."""

    def __init__(
        self,
        runner: BatchRunner,
        sink: Sink,
        receiver: Receiver | None,
        close: Callable[[], None] | None,
        checkpoint: Checkpoint,
        *,
        pace: Pace,
        snapshots: Snapshots | None = None,
        counts: Collection[Node] = (),
        report: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        self._runner = runner
        self._sink = sink
        self._receiver = receiver
        self._close = close
        self._counts = counts
        """The operators whose left-out elements this part counts; sinks that share an operator each run it."""
        self._report = report
        self._tally = Tally()
        self._checkpoint = checkpoint
        self._pace = pace
        self._settings = snapshots
        self._stopping = threading.Event()
        self._seen_batches: set[tuple[str, int]] = set()
        self._tries = 0
        self._done_at_last_try = -1
        self._watched: set[tuple[str, int]] = set()
        self._measures = Measures()
        self._delivery_failure: BaseException | None = None
        self._handler_failure: MorisotError | None = None
        self._counting = threading.RLock()
        self.error: BaseException | None = None
        self._hand_over = HandOver(sink) if isinstance(sink, WriteTo) else None
        self._lowering = self._lowered()
        self._channels: list[Spool] = [node.inlet for node in self._lowering.nodes if isinstance(node, StreamChannel)]
        self._reader = uuid.uuid4().hex
        self._prepare()
        for channel in self._channels:
            channel.limit(pace.elements)
            channel.attach(self._reader, checkpoint.files_read(channel.directory))
        self._query = self._start_or_demote()
        self._thread = threading.Thread(target=self._watch, name=f"morisot-{sink.operator}", daemon=True)
        self._thread.start()

    # -- what the job asks ------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self._checkpoint.name

    def snapshots(self) -> list[Snapshot]:
        return self._checkpoint.snapshots() if self._settings is not None else []

    def clean(self) -> None:
        """Remove the snapshots."""
        self._checkpoint.clean()

    def stop(self) -> None:
        self._stopping.set()
        if self._close is not None:
            self._close()  # a sink that waits for its reader lets go
        self._query.stop()
        self._thread.join()

    def join(self, timeout: float | None) -> bool:
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def catch_up(self) -> None:
        """Wait until what the sources have now has been delivered, or the part has ended."""
        while self._thread.is_alive():
            query = self._query
            with contextlib.suppress(StreamingQueryException, *SPARK_ERRORS):
                query.processAllAvailable()
                if query.isActive and query is self._query:
                    return
            self._thread.join(_POLL_SECONDS)  # it failed: the watch goes on with another query, or ends

    def metrics(self) -> dict[str, Any]:
        self._count_progress()
        return {
            "sink": self._sink.label or self._sink.operator,
            **self._measures.as_dict(),
            "waiting": sum(channel.waiting for channel in self._channels),
            "silent": self._silence.silent,
            **self._tally.metrics(),
        }

    # -- the query --------------------------------------------------------------------------------------------------

    def _start_or_demote(self) -> StreamingQuery:
        """Start the query; a table beside the stream may fail on its data while it is planned."""
        while True:
            try:
                return self._start()
            except SPARK_ERRORS as error:
                self._runner.demote_or_raise(self._lowering, error)
                self._lowering.release()
                self._lowering = self._lowered()

    def _lowered(self) -> Lowering:
        return self._runner.lowering(self._sink, told=self._checkpoint.told)

    def _start(self) -> StreamingQuery:
        df = self._lowering.frame(self._sink).df
        self._silence = Silence(self._lowering.nodes, self._checkpoint.told)
        mode = self._lowering.output_mode
        running_values = mode == "update"
        with _starting, kept(self._runner.spark, self._checkpoint.keep):
            if not isinstance(self._sink, WriteSink):
                return self._writer(df, mode).foreachBatch(self._deliver).start()
            if running_values:  # files cannot be updated: each micro-batch's changes are rows of their own
                return self._writer(df, mode).foreachBatch(self._write_changes(self._sink)).start()
            counted = df.observe(_OBSERVED, F.expr("count(1) AS elements"))
            files = self._writer(counted, mode).format(FORMATS[self._sink.operator])
            return files.options(**write_options(self._sink)).start(self._sink.path)

    def _writer(self, df: DataFrame, mode: str) -> DataStreamWriter:
        writer = df.writeStream.outputMode(mode).option("checkpointLocation", self._checkpoint.location)
        if self._pace.seconds is None:
            return writer
        return writer.trigger(processingTime=f"{round(self._pace.seconds * 1000)} milliseconds")

    def _prepare(self) -> None:
        """A directory for the results: new, emptied if the user says so, or as a snapshot left it."""
        plan = describe(self._sink, parallelism=self._lowering.parallelism, buckets=BUCKETS_PER_PARTITION)
        restart = None if self._settings is None else self._settings.restart
        goes_on = self._checkpoint.goes_on(restart)
        if goes_on:
            self._checkpoint.resume(plan, restart)
        else:
            self._begin(plan, restart)
        if self._hand_over is not None:
            self._hand_over.open(goes_on=goes_on)

    def _begin(self, plan: Description, restart: str | int | None) -> None:
        if isinstance(restart, int):
            self._checkpoint.refuse_missing(restart)
        if isinstance(self._sink, WriteSink):
            df = self._lowering.frame(self._sink).df
            if not is_connect(df):
                refuse_existing(self._sink, df)
                delete(df, self._sink.path)
        self._checkpoint.begin(plan)

    def _deliver(self, df: DataFrame, batch: int) -> None:
        self._name_micro_batch(batch)
        try:
            self._measures.elements_out += self._handed_over(df, batch)
        except BaseException as error:
            # The JVM would keep only the text, and Spark searches it with a regular expression that overflows the
            # stack on a long one: it gets a short one, and the error itself waits here.
            self._delivery_failure = error
            raise RuntimeError(f"{self._sink.operator} failed") from None

    def _handed_over(self, df: DataFrame, batch: int) -> int:
        """How many elements of a micro-batch the sink was given."""
        if isinstance(self._sink, WriteKafka):
            return kafka.write_kept(self._sink, df, self._lowering)
        delivered = elements(df.orderBy("at") if "at" in df.columns else df, self._sink.type)
        if self._hand_over is not None:
            self._hand_over(batch, delivered)
        elif self._receiver is not None:
            self._receiver(delivered)
        return len(delivered)

    def _write_changes(self, sink: WriteSink) -> Callable[[DataFrame, int], None]:
        def write(df: DataFrame, batch: int) -> None:
            self._name_micro_batch(batch)
            counting = Observation()
            counted = df.observe(counting, F.expr("count(1) AS elements"))
            writer = counted.write.format(FORMATS[sink.operator]).options(**write_options(sink))
            replace(df, f"{sink.path}/batch={batch}", writer, aside=f"{sink.path}/_writing-{batch}")
            self._measures.elements_out += int(counting.get["elements"])

        return write

    def _name_micro_batch(self, batch: int) -> None:
        """Tell the tasks which micro-batch they work on: the thread that Spark calls back on does not know."""
        if any(node.leaves_out for node in self._lowering.nodes):
            self._runner.spark.sparkContext.setLocalProperty(MICRO_BATCH, str(batch))

    # -- the watch --------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    if self._query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
                        break
                    self._count_progress()
                    if self._silence.may_come:
                        self._silence.tell(**self._query.status)
                    if self._handler_failure is not None:
                        raise self._handler_failure
                    if self._is_over():
                        self._query.stop()
                        break
                except (StreamingQueryException, *SPARK_ERRORS) as error:
                    if self._stopping.is_set():
                        break
                    self._restart_or_raise(error)
        except BaseException as error:
            self.error = error
        finally:
            self._end()

    def _is_over(self) -> bool:
        """Whether everything that is read comes from channels that are closed, and is done."""
        endless = [node for node in self._lowering.nodes if not node.inputs and not node.bounded]
        from_channels = all(isinstance(node, StreamChannel) for node in endless)
        return from_channels and all(channel.is_drained(self._reader) for channel in self._channels)

    def _end(self) -> None:
        self._count_progress()
        for channel in self._channels:
            channel.detach(self._reader)
        self.error = self.error or self._handler_failure or self._closing_failure()
        self._runner.ledger.take(self._lowering.run)
        self._lowering.release()
        if self._close is not None:
            self._close()
        if self.error is not None and not self._stopping.is_set():
            self._query.stop()
        self._checkpoint.close()
        self._report(self._tally)

    def _closing_failure(self) -> MorisotError | None:
        try:
            if self._hand_over is not None:
                self._hand_over.close()
        except MorisotError as error:
            return error
        return None

    def _restart_or_raise(self, error: BaseException) -> None:
        """Go on from the checkpoint with the failing closures in Python, or raise what the user should read."""
        failure, self._delivery_failure = self._delivery_failure or error, None
        if isinstance(failure, MorisotError):
            raise failure
        self._count_progress()
        if not self._may_try_again(failure):
            self._runner.demote_or_raise(self._lowering, failure)
        self._runner.ledger.take(self._lowering.run)  # the micro-batch that failed is done again
        self._lowering.release()
        self._lowering = self._lowered()
        self._query = self._start_or_demote()

    def _may_try_again(self, failure: BaseException) -> bool:
        """Whether a Python worker died, and not again and again in the same micro-batch."""
        if not is_lost_worker(failure) or users_error(failure) is not None:
            return False
        done = len(self._seen_batches)
        self._tries = self._tries + 1 if done == self._done_at_last_try else 1
        self._done_at_last_try = done
        return self._tries <= _MOST_TRIES

    def _count_progress(self) -> None:
        with self._counting:
            self._count_batches()

    def _count_batches(self) -> None:
        for progress in self._query.recentProgress:
            batch = (str(progress["runId"]), int(progress["batchId"]))
            if batch not in self._watched:
                self._watched.add(batch)
                self._measures.watch(progress, self._lowering.nodes)
                self._silence.note(progress)
                self._checkpoint.note_sizes(batch[1], self._measures.state)
            ran = "addBatch" in progress["durationMs"]  # one without data may give what waited for time
            if batch in self._seen_batches or not ran:
                continue
            self._seen_batches.add(batch)
            for channel in self._channels:
                channel.take_note(self._reader, self._checkpoint.files_read(channel.directory, progress["sources"]))
            self._measures.add(progress)
            observed = (progress["observedMetrics"] or {}).get(_OBSERVED)
            if observed is not None:
                self._measures.elements_out += int(observed["elements"])
            self._count_left_out(batch[1])

    def _count_left_out(self, batch: int) -> None:
        """Count what a micro-batch that is done left out, and call the handlers of what was diverted."""
        numbered = {number: node for number, node in enumerate(self._lowering.nodes) if node in self._counts}
        if numbered:
            failures = by_operator(self._runner.ledger.take(self._lowering.run, batch), numbered)
            self._tally.add(failures)
            try:
                divert(failures)
            except MorisotError as error:  # the thread that watches the query raises it
                self._handler_failure = self._handler_failure or error


@contextlib.contextmanager
def kept(spark: SparkSession, count: int | None) -> Iterator[None]:
    """Queries that start now keep so many micro-batches; the session is as it was afterwards."""
    if count is None:
        yield
        return
    before = spark.conf.get(_KEPT, None)
    spark.conf.set(_KEPT, str(count))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_KEPT)
        else:
            spark.conf.set(_KEPT, before)
