"""What a streaming query does with each micro-batch: it is persisted while every sink takes its part of it.

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
from morisot.runtime.tally import Failures


class Delivery:
    """Given to Spark, which calls it with one micro-batch after the other."""

    def __init__(
        self, runner: BatchRunner, group: Group, job: PlannedJob, query: Emission, writers: Sequence[SinkWriter]
    ) -> None:
        self._runner = runner
        self._group = group
        self._query = query
        self._frame: Frame = query.frame(group.stream)
        self._writers = writers
        self._shared = (group.stream, *group.named_otherwise)
        self._job = job
        self._leaves_out = any(node.leaves_out for node in walk(*group.sinks))
        self._left_out: dict[int, Failures] = {}
        """What the operators behind the shared stream left out, by micro-batch."""
        self.failure: BaseException | None = None
        """Why the last micro-batch was not delivered."""
        self.failed: str = ""
        """Which sink was being served then."""

    def __call__(self, df: DataFrame, batch: int) -> None:
        try:
            self._name_micro_batch(batch)
            self._serve(df, batch)
        except BaseException as error:
            # The JVM would keep only the text, and Spark searches it with a regular expression that overflows the
            # stack on a long one: it gets a short one, and the error itself waits here.
            self.failure = error
            raise RuntimeError(f"{self.failed or 'a micro-batch'} failed") from None

    def _name_micro_batch(self, batch: int) -> None:
        """Tell the tasks which micro-batch they work on: the thread that Spark calls back on does not know."""
        if self._leaves_out:
            self._runner.spark.sparkContext.setLocalProperty(MICRO_BATCH, str(batch))

    def _serve(self, df: DataFrame, batch: int) -> None:
        with self._persisted(df), self._branches(df) as branches:
            handing_over = []
            for writer in self._writers:
                self.failed = writer.sink.title
                handing_over.append(writer.take(Share(branches.frame(writer.sink).df, batch, branches)))
            for writer, hand_over in sorted(zip(self._writers, handing_over, strict=True), key=may_wait):
                self.failed = writer.sink.title
                hand_over()
            if self._leaves_out:
                found = reported(self._runner.ledger, branches)
                self._left_out[batch] = {node: each for node, each in found.items() if node not in self._shared}

    @contextlib.contextmanager
    def _persisted(self, df: DataFrame) -> Iterator[None]:
        """Hold the micro-batch where several sinks read it."""
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
        """What leads from the shared stream to the sinks, over a micro-batch."""
        given: dict[Node, Frame] = dict.fromkeys(self._shared, self._frame.over(df))
        branches = self._runner.emission(self._job, given=given)
        branches.optimistic = self._query.optimistic  # what may fail natively in it may fail in the query
        try:
            yield branches
        finally:
            branches.release()
            self._runner.ledger.take(branches.run)

    def left_out(self, batch: int) -> list[Failures]:
        """What was left out in the micro-batches up to a committed one."""
        return [self._left_out.pop(number) for number in sorted(self._left_out) if number <= batch]


def may_wait(served: tuple[SinkWriter, HandingOver]) -> bool:
    """Whether a sink may wait for its reader: the others are given their elements before it."""
    return isinstance(served[0].sink, CollectChannel)
