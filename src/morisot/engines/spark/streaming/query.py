"""Unbounded jobs: streaming queries, each watched by a thread that knows what to do when it fails."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Collection, Sequence

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from morisot.engines.spark.bounded.files import FORMATS, delete, is_connect, refuse_existing, write_options
from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.emit.lowering.planner import Lowering, QueryInputs
from morisot.engines.spark.emit.stateful.keyed_state import BUCKETS_PER_PARTITION
from morisot.engines.spark.failures import SPARK_ERRORS, is_lost_worker, users_error
from morisot.engines.spark.session.ending import Worker, stop_at_exit
from morisot.engines.spark.session.jvm_death import JvmEnded, is_dead, refuse_stopped, told, told_of_death
from morisot.engines.spark.session.query_settings import await_sources, keeps_fewer, query_settings, starting
from morisot.engines.spark.streaming.backlog import backlog
from morisot.engines.spark.streaming.bounded_inputs import copy_bounded_inputs
from morisot.engines.spark.streaming.channel_files import Spool
from morisot.engines.spark.streaming.idle_inputs import IdleInputs
from morisot.engines.spark.streaming.metrics import Measures
from morisot.engines.spark.streaming.micro_batch import Delivery
from morisot.engines.spark.streaming.progress import Reports
from morisot.engines.spark.streaming.queries import source_numbers, waits_for_time
from morisot.engines.spark.streaming.sinks import COUNTED, SinkWriter
from morisot.engines.spark.terminal.left_out import by_operator
from morisot.errors import JobError, MorisotError, SnapshotError
from morisot.plan.analysis.fingerprint import Description, describe
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.analysis.resumable import KeepPieces
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import WriteSink
from morisot.plan.nodes.source import Spooled
from morisot.plan.snapshots import Snapshot, Snapshots
from morisot.runtime.metrics import BacklogMetrics, CountedSinkMetrics, JobMetrics, SinkMetrics
from morisot.runtime.tally import Failures, Tally, divert

_POLL_SECONDS = 0.2
_OBSERVED = "morisot"
"""The name under which a query counts what it writes."""
_MOST_TRIES = 5
"""So often a micro-batch is tried again after a Python worker died."""


class StreamPart:
    """The sinks of an unbounded job that one query serves."""

    def __init__(
        self,
        runner: BatchRunner,
        group: Group,
        writers: Sequence[SinkWriter],
        checkpoint: Checkpoint,
        *,
        trigger: Trigger,
        snapshots: Snapshots | None = None,
        counts: Collection[Node] = (),
        report: Callable[[Tally], None] = lambda _: None,
        reader: str = "query",
        counts_operators: bool = False,
    ) -> None:
        self._runner = runner
        self._group = group
        self._writers = writers
        self._counts = counts
        """The operators whose left-out elements this part counts; queries that share an operator each run it."""
        self._report = report
        self._counts_operators = counts_operators
        self._tally = Tally()
        self._checkpoint = checkpoint
        self._trigger = trigger
        self._settings = snapshots
        self._stopping = threading.Event()
        self._tries = 0
        self._done_at_last_try = -1
        self._measures = Measures()
        self._handler_failure: MorisotError | None = None
        self._counting = threading.RLock()
        self.error: BaseException | None = None
        self._lowering = self._lowered()
        self._channels: list[Spool] = [node.inlet for node in self._lowering.nodes if isinstance(node, Spooled)]
        self._reader = reader
        """What channels call this part."""
        for channel in self._channels:
            channel.limit(trigger.elements)  # before a frame reads it
        try:
            self._prepare()
            self._has_bounded_inputs = copy_bounded_inputs(group.stream, runner, checkpoint.bounded_inputs)
            for channel in self._channels:
                channel.attach(self._reader, checkpoint.files_read(channel.directory))
            self._start_or_demote()
        except BaseException:
            self._give_back()
            if checkpoint.keep is None:  # nobody else will remove it; snapshots are another program's, perhaps
                checkpoint.clean()
            raise
        self._thread = Worker("-".join(sink.operator for sink in group.sinks), self._watch)
        stop_at_exit(self)

    # -- what the job asks ------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """What the sinks are called in the snapshots."""
        return self._checkpoint.names

    @property
    def indexes(self) -> list[int]:
        return [writer.index for writer in self._writers]

    def snapshots(self) -> list[Snapshot]:
        return self._checkpoint.snapshots() if self._settings is not None else []

    def clean(self) -> None:
        """Remove the snapshots."""
        self._checkpoint.clean()

    def stop(self) -> None:
        """End the query and wait for that."""
        self.ask_to_stop()
        with contextlib.suppress(Exception):  # the thread that watches it meets the same, and keeps it
            self._query.stop()
        self._thread.join()

    def ask_to_stop(self) -> None:
        """Let the thread that watches the query end it."""
        self._stopping.set()
        for writer in self._writers:
            writer.unblock()

    def join(self, timeout: float | None) -> bool:
        return self._thread.join(timeout)

    def catch_up(self) -> None:
        """Wait until what the sources have now has been delivered, or the part has ended."""
        Worker("catch-up", self._catch_up).join()  # Ctrl-C must not break this thread's connection to the JVM

    def _catch_up(self) -> None:
        while self._thread.is_alive():
            query = self._query
            with contextlib.suppress(Exception):
                query.processAllAvailable()
                if query.isActive and query is self._query:
                    return
            self._thread.join(_POLL_SECONDS)  # it failed: the watch goes on with another query, or ends

    def metrics(self) -> JobMetrics:
        """What was read counts once, however many sinks it was read for."""
        if isinstance(self.error, JvmEnded):
            raise self.error
        with told_of_death(self._runner.spark):
            self._count_progress()
        waiting = backlog(self._lowering.nodes, self._channels, self._checkpoint)
        return {
            "elements_in": self._measures.elements_in,
            "elements_out": sum(writer.elements_out for writer in self._writers),
            "batches": self._measures.batches,
            **self._tally.metrics(),
            "sinks": [self._metrics_of(writer, waiting) for writer in self._writers],
        }

    def _metrics_of(self, writer: SinkWriter, waiting: BacklogMetrics) -> SinkMetrics:
        metrics: SinkMetrics = {
            "sink": writer.sink.label or writer.sink.operator,
            **self._measures.metrics(writer.elements_out),
            **waiting,
            "silent": self._idle_inputs.idle,
            **self._tally.metrics(walk(self._group.stream, writer.sink)),
        }
        if not self._counts_operators:
            return metrics
        counted: CountedSinkMetrics = {**metrics, "operators": self._measures.operators(self._lowering.nodes)}
        return counted

    # -- the query --------------------------------------------------------------------------------------------------

    def _start_or_demote(self) -> None:
        """Start the query; a table beside the stream may fail on its data while it is planned."""
        while True:
            try:
                self._query = self._start()
                self._reports = Reports(self._query)
                return
            except SPARK_ERRORS as error:
                self._checkpoint.refuse_unreadable(error)
                self._runner.demote_or_raise(self._lowering, error)
                self._lowering.release()
                self._lowering = self._lowered()

    def _lowered(self) -> Lowering:
        self._job = self._runner.planned(self._group.stream, where="query", operator_metrics=self._counts_operators)
        inputs = QueryInputs(self._checkpoint.idle_inputs, self._checkpoint.bounded_inputs, self._trigger)
        return self._runner.emission(self._job, query=inputs)

    def _start(self) -> StreamingQuery:
        self._runner.run_loops(self._job.steps, self._lowering)
        df = self._lowering.frame(self._group.stream).df
        self._idle_inputs = IdleInputs(self._lowering.nodes, self._checkpoint.idle_inputs)
        self._delivery = Delivery(self._runner, self._group, self._lowering, self._writers)
        mode = self._lowering.output_mode
        self._checkpoint.note_sources(source_numbers(df))
        spark, keep = self._runner.spark, self._checkpoint.keep
        wanted = query_settings(
            spark, parallelism=self._lowering.parallelism, keep=keep, narrow_rows=self._lowering.rows_are_narrow
        )
        waits = keeps_fewer(spark, keep)
        with starting(spark, wanted):
            query = self._start_writing(df, mode)
            if waits:
                await_sources(query)
        return query

    def _start_writing(self, df: DataFrame, mode: str) -> StreamingQuery:
        if not isinstance(self._group.stream, WriteSink) or mode == "update":
            return self._writer(df, mode).foreachBatch(self._delivery).start()
        counted = df.observe(_OBSERVED, F.expr(COUNTED))
        files = self._writer(counted, mode).format(FORMATS[self._group.stream.operator])
        return files.options(**write_options(self._group.stream)).start(self._group.stream.path)

    def _writer(self, df: DataFrame, mode: str) -> DataStreamWriter:
        writer = df.writeStream.outputMode(mode).option("checkpointLocation", self._checkpoint.location)
        if self._trigger.once:
            return writer.trigger(availableNow=True)
        if self._trigger.seconds is None:
            return writer
        return writer.trigger(processingTime=f"{round(self._trigger.seconds * 1000)} milliseconds")

    def _prepare(self) -> None:
        """Directories for the results: new, emptied if the user says so, or as a snapshot left them."""
        settings = {"parallelism": self._lowering.parallelism, "buckets": BUCKETS_PER_PARTITION}
        plan = describe(*self._checkpoint.sinks, **settings)
        restart = None if self._settings is None else self._settings.restart
        resumes = self._checkpoint.can_resume(restart)
        if resumes:
            in_pieces = isinstance(self._group.stream, KeepPieces)  # of a bounded job, in which time stands still
            self._checkpoint.resume(plan, restart, replays_input=not in_pieces)
            if not in_pieces and any(waits_for_time(node) for node in self._lowering.nodes):
                self._checkpoint.let_time_pass()
        else:
            self._begin(plan, restart)
        for writer in self._writers:
            writer.open(resumes=resumes)

    def _begin(self, plan: Description, restart: str | int | None) -> None:
        if isinstance(restart, int):
            self._checkpoint.refuse_missing(restart)
        df = self._runner.spark.range(0)  # any frame knows the file system; the query's may yet fail on data
        directories = [sink for sink in self._group.sinks if isinstance(sink, WriteSink) and not is_connect(df)]
        for sink in directories:
            refuse_existing(sink, df)
        for sink in directories:
            delete(df, sink.path)
        self._checkpoint.begin(plan)

    # -- the watch --------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    if self._query.awaitTermination(_POLL_SECONDS):  # type: ignore[arg-type]
                        if not self._stopping.is_set():
                            refuse_stopped(self._runner.spark)
                        break
                    self._count_progress()
                    if self._idle_inputs.may_advance:
                        self._idle_inputs.advance(**self._query.status)
                    self._raise_failures()
                    if self._is_over():
                        self._query.stop()
                        break
                except (StreamingQueryException, *SPARK_ERRORS) as error:
                    if self._stopping.is_set():
                        break
                    self._restart_or_raise(error)
        except BaseException as error:
            self.error = told(self._runner.spark, error) or error
        finally:
            self._end()

    def _raise_failures(self) -> None:
        """Raise what happened in a handler of the user's, or to a source that other threads read."""
        met = next((channel.problem for channel in self._channels if channel.problem is not None), None)
        if self._handler_failure is not None or met is not None:
            raise self._handler_failure or met  # type: ignore[misc]

    def _is_over(self) -> bool:
        """Whether everything that is read comes from channels that are closed, and is done."""
        if (
            self._has_bounded_inputs and not self._measures.batches
        ):  # what is bounded is done with the first micro-batch
            return False
        endless = [node for node in self._lowering.nodes if not node.inputs and not node.bounded]
        from_channels = all(isinstance(node, Spooled) for node in endless)
        return from_channels and all(channel.is_drained(self._reader) for channel in self._channels)

    def _end(self) -> None:
        """Give back everything, whatever of it fails; the first error is the one that is told."""
        say = functools.partial(self._report, self._tally)
        for step in (self._end_query, self._count_progress, self._close_writers, self._checkpoint.close, say):
            try:
                step()
            except BaseException as error:
                self.error = self.error or told(self._runner.spark, error) or error

    def _close_writers(self) -> None:
        closing = self._give_back()
        self.error = self.error or self._handler_failure or closing

    def _end_query(self) -> None:
        """Stop a query that does not end by itself: a sink is closed after its last micro-batch."""
        if (self.error is not None or self._stopping.is_set()) and not is_dead(self._runner.spark):
            for writer in self._writers:
                writer.unblock()  # a micro-batch may wait for the reader of a channel
            self._query.stop()

    def _give_back(self) -> MorisotError | None:
        """Let go of what the part holds; what goes wrong when sinks are closed."""
        for channel in self._channels:
            channel.detach(self._reader)
        closing = [writer.close() for writer in self._writers]
        self._runner.ledger.take(self._lowering.run)
        if not is_dead(self._runner.spark):
            self._lowering.release()
        return next(filter(None, closing), None)

    def _restart_or_raise(self, error: BaseException) -> None:
        """Go on from the checkpoint with the failing closures in Python, or raise what the user should read."""
        death = told(self._runner.spark, error)
        if death is not None:
            raise death
        failure = self._delivery.failure or error
        if isinstance(failure, MorisotError):
            raise failure
        self._count_progress()
        if not self._may_try_again(failure):
            self._demote_or_raise(failure)
        self._runner.ledger.take(self._lowering.run)  # the micro-batch that failed is done again
        self._lowering.release()
        self._lowering = self._lowered()
        self._start_or_demote()

    def _demote_or_raise(self, failure: BaseException) -> None:
        self._checkpoint.refuse_unreadable(failure)
        try:
            self._runner.demote_or_raise(self._lowering, failure, walk(*self._group.sinks))
        except SnapshotError as error:
            said = f"the states in {self._checkpoint.location} cannot be used: {error.what}"
            raise SnapshotError(said, advice=error.advice) from None
        except JobError as error:
            if failure is not self._delivery.failure:
                raise
            raise JobError(f"{error}\n  while {self._delivery.failed} was served") from None

    def _may_try_again(self, failure: BaseException) -> bool:
        """Whether a Python worker died, and not again and again in the same micro-batch."""
        if not is_lost_worker(failure) or users_error(failure, self._lowering.seals) is not None:
            return False
        done = self._measures.batches
        self._tries = self._tries + 1 if done == self._done_at_last_try else 1
        self._done_at_last_try = done
        return self._tries <= _MOST_TRIES

    def _count_progress(self) -> None:
        with self._counting:
            self._count_batches()

    def _count_batches(self) -> None:
        for progress in self._reports.new():
            self._measures.watch(progress, self._lowering.nodes)
            self._idle_inputs.note(progress)
            if "addBatch" not in progress["durationMs"]:  # it tells that the query waits
                continue
            batch = int(progress["batchId"])
            self._checkpoint.note_sizes(batch, self._measures.state)
            for channel in self._channels:
                channel.take_note(self._reader, self._checkpoint.files_read(channel.directory, progress["sources"]))
            self._measures.add(progress)
            if self._counts_operators:
                self._measures.add_given(progress, self._lowering.nodes)
            observed = (progress["observedMetrics"] or {}).get(_OBSERVED)
            if observed is not None:
                self._writers[0].elements_out += int(observed["elements"])
            self._count_left_out(batch)

    def _count_left_out(self, batch: int) -> None:
        """Count what a micro-batch that is done left out, and call the handlers of what was diverted."""
        if self._counts:
            numbered = {number: node for number, node in enumerate(self._lowering.nodes) if node.leaves_out}
            by_the_query = by_operator(self._runner.ledger.take(self._lowering.run, batch), numbered)
            for failures in (by_the_query, *self._delivery.left_out(batch)):
                self._note_left_out({node: each for node, each in failures.items() if node in self._counts})

    def _note_left_out(self, failures: Failures) -> None:
        self._tally.add(failures)
        try:
            divert(failures)
        except MorisotError as error:  # the thread that watches the query raises it
            self._handler_failure = self._handler_failure or error
