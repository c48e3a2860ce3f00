"""Processes each micro-batch of a streaming query: it is persisted while all sinks read it.

The query computes the stream that the sinks of a group share, once. The operators between it and the sinks have no
state, so they are planned once and emitted for each micro-batch, over its rows, as for a bounded stream.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.left_out import MICRO_BATCH
from morisot.engines.spark.streaming.sinks import HandingOver, Share, SinkWriter
from morisot.engines.spark.terminal.left_out import reported
from morisot.physical.job import PlannedJob
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import CollectChannel
from morisot.plan.nodes.state import Apply
from morisot.runtime import faults
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.tally import Failures


class Delivery:
    """Given to Spark, which calls it with each micro-batch."""

    def __init__(
        self,
        runner: BatchRunner,
        group: Group,
        job: PlannedJob,
        query: Emission,
        writers: Sequence[SinkWriter],
        attempt: int,
    ) -> None:
        self._runner = runner
        self._group = group
        self._query = query
        self._frame: Frame = query.frame(group.stream)
        self._writers = writers
        self._shared = (group.stream, *group.named_otherwise)
        self._job = job
        self._attempt = attempt
        self._leaves_out = any(node.leaves_out for node in walk(*group.sinks))
        self._has_replicas = any(isinstance(node, Apply) for node in walk(*group.sinks))
        self._left_out: dict[int, Failures] = {}
        """The elements that operators downstream of the shared stream skipped, by micro-batch."""
        self.failure: BaseException | None = None
        """The error of the last micro-batch, if it was not delivered."""
        self.failed: str = ""
        """The sink that was being served when it failed."""

    def __call__(self, df: DataFrame, batch: int) -> None:
        try:
            with ACTIVITY.working():
                self._name_micro_batch(batch)
                self._serve(df, batch)
            if self._query.resources.replicas is not None:
                self._query.resources.replicas.note_stored(batch)
            for writer in self._writers:
                if writer.life is not None:
                    writer.life.note_stored(batch)
            faults.reach("before", "commit entry", batch)
        except BaseException as error:
            # The JVM would store only the text, and Spark searches it with a regular expression that overflows the
            # stack on a long text. So it gets a short text, and the error itself is stored here.
            self.failure = error
            raise RuntimeError(f"{self.failed or 'a micro-batch'} failed") from None

    def _name_micro_batch(self, batch: int) -> None:
        """Sets the number of the micro-batch for tasks: the thread of Spark's callback does not have it."""
        if self._leaves_out or self._has_replicas:
            self._runner.spark.sparkContext.setLocalProperty(MICRO_BATCH, str(batch))

    def _serve(self, df: DataFrame, batch: int) -> None:
        with self._persisted(df), self._branches(df) as branches:
            deliveries = []
            for writer in self._writers:
                self.failed = writer.sink.title
                deliveries.append(writer.take(Share(branches.frame(writer.sink).df, batch, branches, self._attempt)))
            for writer, deliver in sorted(zip(self._writers, deliveries, strict=True), key=may_wait):
                self.failed = writer.sink.title
                if batch > writer.delivered:
                    deliver()
                    writer.delivered = batch
                    if writer.life is not None:
                        writer.life.note_delivered()
                    ACTIVITY.note_progress()
            if self._leaves_out:
                found = reported(self._runner.ledger, branches)
                self._left_out[batch] = {node: each for node, each in found.items() if node not in self._shared}

    @contextlib.contextmanager
    def _persisted(self, df: DataFrame) -> Iterator[None]:
        """Persists the micro-batch if several sinks read it."""
        if not self._group.is_shared:
            yield
            return
        df.persist()
        try:
            yield
        finally:
            df.unpersist()

    @contextlib.contextmanager
    def _branches(self, df: DataFrame) -> Iterator[Emission]:
        """The emission of the operators from the shared stream to the sinks, for a micro-batch."""
        given: dict[Node, Frame] = dict.fromkeys(self._shared, self._frame.over(df))
        branches = self._runner.emission(self._job, given=given)
        branches.optimistic = self._query.optimistic  # an operator that may fail natively in it may fail in the query
        try:
            yield branches
        finally:
            branches.release()
            self._runner.ledger.take(branches.run)

    def left_out(self, batch: int) -> list[Failures]:
        """The skipped elements of the micro-batches up to a committed one."""
        return [self._left_out.pop(number) for number in sorted(self._left_out) if number <= batch]


def may_wait(served: tuple[SinkWriter, HandingOver]) -> bool:
    """Whether a sink may block for its reader. Other sinks get their elements before it."""
    return isinstance(served[0].sink, CollectChannel)
