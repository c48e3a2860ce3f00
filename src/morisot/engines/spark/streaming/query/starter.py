"""Starts the query of a group: its plan, its settings, its writer."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from morisot.engines.spark.emit.core.emission import Emission, QueryInputs
from morisot.engines.spark.failures import SPARK_ERRORS
from morisot.engines.spark.io.file_output import FileOutput, counted
from morisot.engines.spark.session.query_settings import await_sources, keeps_fewer, query_settings, starting
from morisot.engines.spark.streaming.idle_inputs import IdleInputs
from morisot.engines.spark.streaming.micro_batch import Delivery
from morisot.engines.spark.streaming.progress import Reports
from morisot.engines.spark.streaming.queries import source_numbers
from morisot.engines.spark.streaming.query.lifecycle import Lifecycle
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.query.states import descriptions
from morisot.plan.analysis.resumable import StoreSplits
from morisot.plan.nodes.sink import WriteSink


@dataclass(frozen=True)
class QueryAttempt:
    """One start of a query, with its emission. After a failure another one may follow."""

    emission: Emission
    delivery: Delivery
    idle_inputs: IdleInputs
    query: StreamingQuery
    reports: Reports

    @property
    def is_active(self) -> bool:
        return bool(self.query.isActive)

    def stop(self) -> None:
        if self.emission.resources.replicas is not None:
            self.emission.resources.replicas.end_sources()
        self.query.stop()


class QueryStarter:
    """Starts and restarts the query of a part."""

    def __init__(self, spec: QuerySpec, lifecycle: Lifecycle[QueryAttempt]) -> None:
        self._spec = spec
        self._lifecycle = lifecycle
        self.end: int | None = None
        """The micro-batch at the end of the sources, if it is planned."""
        self.finishes = False
        """Whether the query only finishes the open micro-batch, before the number of state partitions is changed."""
        self._attempts = 0
        self._plan()

    def _plan(self) -> None:
        spec, checkpoint = self._spec, self._spec.checkpoint
        self.query = spec.runner.planned_query(spec.group, spec.trigger, operator_metrics=spec.counts_operators)
        inputs = QueryInputs(
            checkpoint.idle_inputs,
            checkpoint.bounded_inputs,
            spec.trigger,
            self.end,
            checkpoint.settings,
            isinstance(spec.group.stream, StoreSplits),
            checkpoint.newest,
        )
        self.emission = spec.runner.emission(self.query.stream, query=inputs)
        """The emission of the next query, or of the running one."""

    def plan_again(self) -> None:
        """Plans again, with newly demoted operators."""
        self.emission.release()
        self._plan()

    def plan_end(self, micro_batch: int) -> None:
        """Plans again, with the end of the sources in a micro-batch."""
        self.end = micro_batch
        self.plan_again()

    def start(self) -> None:
        """Starts a query, unless a stop was requested. A bounded input may fail on its data during planning."""
        while not self._lifecycle.stop_requested:
            try:
                self._start()
                return
            except SPARK_ERRORS as error:
                self._spec.checkpoint.refuse_unreadable(error)
                self._spec.runner.demote_or_raise(self.emission, error)
                self.plan_again()

    def _start(self) -> None:
        spark, keep = self._spec.runner.spark, self._spec.checkpoint.keep
        self._spec.runner.run_loops(self.query.stream.steps, self.emission)
        df = self.emission.frame(self._spec.group.stream).df
        self._spec.checkpoint.note_sources(source_numbers(df))
        self._spec.checkpoint.note_operators(descriptions(self._spec.group.stream, self.emission))
        wanted = query_settings(
            spark, parallelism=self.emission.parallelism, keep=keep, narrow_rows=self.query.stream.plan.rows_are_narrow
        )
        waits = keeps_fewer(spark, keep)
        with starting(spark, wanted):
            runs = self._lifecycle.run(lambda: self._attempt(df))
            if runs and waits and self._lifecycle.query is not None:
                await_sources(self._lifecycle.query.query)

    def _attempt(self, df: DataFrame) -> QueryAttempt:
        idle_inputs = IdleInputs(self.emission.nodes, self._spec.checkpoint.idle_inputs)
        self._attempts += 1
        for writer in self._spec.writers:
            writer.expect(self._attempts)
            if writer.life is not None:
                writer.life.begin_again()
        delivery = Delivery(
            self._spec.runner, self._spec.group, self.query.per_batch, self.emission, self._spec.writers, self._attempts
        )
        query = self._start_writing(df, delivery)
        return QueryAttempt(self.emission, delivery, idle_inputs, query, Reports(query))

    def _start_writing(self, df: DataFrame, delivery: Delivery) -> StreamingQuery:
        sink, mode = self._spec.group.stream, self.query.stream.plan.output_mode
        if not isinstance(sink, WriteSink) or mode == "update":
            return self._writer(df, mode).foreachBatch(delivery).start()
        return FileOutput(sink).start(self._writer(counted(df), mode))

    def _writer(self, df: DataFrame, mode: str) -> DataStreamWriter:
        trigger = self.query.trigger
        writer = df.writeStream.outputMode(mode).option("checkpointLocation", self._spec.checkpoint.location)
        if self.finishes:
            return writer.trigger(once=True)
        if trigger.once:
            return writer.trigger(availableNow=True)
        if trigger.seconds is None:
            return writer
        return writer.trigger(processingTime=f"{round(trigger.seconds * 1000)} milliseconds")
