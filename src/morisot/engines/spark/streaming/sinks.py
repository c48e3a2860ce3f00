"""The writers of sinks. A sink processes a micro-batch in two steps: it computes the elements, then delivers them.

So no sink has delivered anything when the native form of another sink's function fails, and the micro-batch is
replayed. Files are written in the first step already: a replayed micro-batch replaces its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame

from morisot.engines.spark.bounded.runner import Receiver
from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.checkpoints.sink_life import SinkLife
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.streaming import kafka
from morisot.errors import MorisotError
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.sink import SinkNode, WriteKafka, WriteSink, WriteTo
from morisot.runtime.sink_protocol import HandOver
from morisot.types.element import Type
from morisot.worker.codec.batches import decode

HandingOver = Callable[[], None]
"""The second step, which delivers the elements."""


@dataclass(frozen=True)
class Share:
    """The rows of a micro-batch for a sink."""

    df: DataFrame
    batch: int
    emission: Emission
    """The emission of the rows. It has the persisted frames until the end of the micro-batch."""
    attempt: int = 0
    """The number of the start of the query."""

    def elements(self, type_: Type) -> list[Any]:
        """The elements, in stream order if it is known.

        Rows with equal values in `at` were read by one task in order; sorting is stable.
        """
        table = self.df.toArrow()
        if "at" in table.column_names:
            table = table.take(pc.sort_indices(table, sort_keys=[("at", "ascending")]))
        return decode(table.combine_chunks().columns, type_)


class SinkWriter:
    """The writer of one sink of a streaming query. The base class passes the elements to a function in the driver."""

    settled = True
    """Whether no complete micro-batch has to be committed to the sink."""

    def __init__(self, sink: SinkNode, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        self.index = 0
        """The number of the sink among those of the job."""
        self.sink = sink
        self.elements_out = 0
        self.delivered = -1
        """The last micro-batch that was delivered. A restarted query replays it if it was not committed."""
        self._receiver = receiver
        self._close = close

    def attach(self, checkpoint: Checkpoint, restart: str | int | None) -> None:
        """Called before the checkpoint is restored. Raises an error if the sink cannot return to its snapshot."""

    def open(self, *, resumes: bool) -> None:
        """Called before the first micro-batch. The job may resume from a snapshot."""

    def expect(self, attempt: int) -> None:
        """Called before each start of the query, with its number."""

    @property
    def life(self) -> SinkLife | None:
        """The snapshots of a user-defined sink."""
        return None

    def settle(self) -> None:
        """Called again and again while the query runs: commits a micro-batch whose snapshot is complete."""

    def take(self, share: Share) -> HandingOver:
        """Computes the elements of a micro-batch for the sink."""
        taken = share.elements(self.sink.type)

        def deliver() -> None:
            self._deliver(taken, share.batch)
            self.elements_out += len(taken)

        return deliver

    def _deliver(self, elements: list[Any], batch: int) -> None:  # noqa: ARG002 - subclasses use it
        if self._receiver is not None:
            self._receiver(elements)

    def unblock(self) -> None:
        """Called when the job stops: unblocks a micro-batch that waits for the reader of a channel."""
        if self._close is not None:
            self._close()

    def fail(self, error: BaseException) -> None:
        """Called before `close` when the job has failed."""

    def close(self) -> MorisotError | None:
        """Called after the last micro-batch. Returns an error of closing."""
        self.unblock()
        return None


class BatchNumberWriter(SinkWriter):
    """Calls a user's function with the numbers of micro-batches."""

    def _deliver(self, elements: list[Any], batch: int) -> None:
        assert self._receiver is not None, "for_each has a function"
        self._receiver(elements, batch)


class UserSinkWriter(SinkWriter):
    """Calls a user-defined sink, with the numbers of micro-batches."""

    def __init__(self, sink: WriteTo, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        super().__init__(sink, receiver, close)
        self._users = sink
        self._hand_over = HandOver(sink)
        self._life: SinkLife | None = None

    @property
    def life(self) -> SinkLife | None:
        return self._life

    def attach(self, checkpoint: Checkpoint, restart: str | int | None) -> None:  # noqa: ARG002 - others use it
        self._life = SinkLife(self._users, self._hand_over.calls, checkpoint)

    def open(self, *, resumes: bool) -> None:
        assert self._life is not None, "a writer is attached first"
        self._life.restore(resumes=resumes)
        self._hand_over.open(resumes=resumes)
        self._life.begin()

    def _deliver(self, elements: list[Any], batch: int) -> None:
        self._hand_over(batch, elements)

    def fail(self, error: BaseException) -> None:
        self._hand_over.calls.fail(error)

    def close(self) -> MorisotError | None:
        super().close()
        try:
            self._hand_over.close()
        except MorisotError as error:
            return error
        return None


class TopicWriter(SinkWriter):
    """Writes to a Kafka topic. Sent records cannot be removed, so all of them are computed and persisted before."""

    def take(self, share: Share) -> HandingOver:
        sink = self.sink
        assert isinstance(sink, WriteKafka)
        persisted = share.emission.persist(sink, share.df)
        rows = persisted.count()

        def deliver() -> None:
            kafka.send(sink, persisted, share.emission)
            self.elements_out += rows

        return deliver


class FilesWriter(SinkWriter):
    """Writes to a directory. Each micro-batch adds files, or, with running values, a directory of its own."""

    def __init__(self, sink: WriteSink, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        super().__init__(sink, receiver, close)
        output = FileOutput(sink)
        self._write = output.write_changes if any(map(gives_running_values, walk(sink))) else output.append
        self._written: dict[int, int] = {}
        """The numbers of rows of micro-batches that are written, and not committed."""

    def take(self, share: Share) -> HandingOver:
        written = self._write(share.df, share.batch)
        self._written[share.batch] = max(written, self._written.get(share.batch, 0))

        def deliver() -> None:
            self.elements_out += self._written.pop(share.batch)

        return deliver
