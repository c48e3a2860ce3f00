"""What each kind of sink does with a micro-batch: first it takes the elements, then they are handed over.

A query serves its sinks in these two steps so that no sink has been given anything when a function of another one turns
out to fail in its native form, and the micro-batch is replayed. Files are written in the first step already: a replayed
micro-batch replaces those that it wrote before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame

from morisot.engines.spark.bounded.runner import Receiver
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.io.file_output import FileOutput
from morisot.engines.spark.streaming import kafka
from morisot.errors import MorisotError
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.nodes.sink import ForEach, SinkNode, WriteKafka, WriteSink, WriteTo
from morisot.runtime.sink_protocol import HandOver
from morisot.types.element import Type
from morisot.worker.codec.batches import decode

HandingOver = Callable[[], None]
"""The second step."""


@dataclass(frozen=True)
class Share:
    """What a sink is given of a micro-batch."""

    df: DataFrame
    batch: int
    emission: Emission
    """By which it was made; it holds what is persisted until the micro-batch ends."""

    def elements(self, type_: Type) -> list[Any]:
        """Its elements, in the stream's order where that is known.

        Rows with one value in `at` were read by one task, one after the other; sorting is stable.
        """
        table = self.df.toArrow()
        if "at" in table.column_names:
            table = table.take(pc.sort_indices(table, sort_keys=[("at", "ascending")]))
        return decode(table.combine_chunks().columns, type_)


class SinkWriter:
    """One sink of a streaming query; this one has a function that receives its elements in the user's process."""

    def __init__(self, sink: SinkNode, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        self.index = 0
        """The number of the sink among those of the job."""
        self.sink = sink
        self.elements_out = 0
        self._receiver = receiver
        self._close = close

    def open(self, *, resumes: bool) -> None:
        """Before the first micro-batch; the job may resume from a snapshot."""

    def take(self, share: Share) -> HandingOver:
        """Compute what the sink is given of a micro-batch."""
        taken = share.elements(self.sink.type)

        def hand_over() -> None:
            self._give(taken, share.batch)
            self.elements_out += len(taken)

        return hand_over

    def _give(self, elements: list[Any], batch: int) -> None:  # noqa: ARG002 - others tell it
        if self._receiver is not None:
            self._receiver(elements)

    def unblock(self) -> None:
        """The job stops: a micro-batch that waits for the reader of a channel does so no longer."""
        if self._close is not None:
            self._close()

    def close(self) -> MorisotError | None:
        """After the last micro-batch; what went wrong then."""
        self.unblock()
        return None


class BatchNumberWriter(SinkWriter):
    """A function of the user's that is told the numbers of micro-batches."""

    def _give(self, elements: list[Any], batch: int) -> None:
        assert self._receiver is not None, "for_each has a function"
        self._receiver(elements, batch)


class UserSinkWriter(SinkWriter):
    """A sink of the user's own, which is told the numbers of micro-batches."""

    def __init__(self, sink: WriteTo, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        super().__init__(sink, receiver, close)
        self._hand_over = HandOver(sink)

    def open(self, *, resumes: bool) -> None:
        self._hand_over.open(resumes=resumes)

    def _give(self, elements: list[Any], batch: int) -> None:
        self._hand_over(batch, elements)

    def close(self) -> MorisotError | None:
        super().close()
        try:
            self._hand_over.close()
        except MorisotError as error:
            return error
        return None


class TopicWriter(SinkWriter):
    """A topic of Kafka's: what is sent cannot be taken back, so all of it is computed and persisted before."""

    def take(self, share: Share) -> HandingOver:
        sink = self.sink
        assert isinstance(sink, WriteKafka)
        persisted = share.emission.keep(sink, share.df)
        rows = persisted.count()

        def hand_over() -> None:
            kafka.send(sink, persisted, share.emission)
            self.elements_out += rows

        return hand_over


class FilesWriter(SinkWriter):
    """A directory of files: each micro-batch adds some, or, of running values, a directory of its own."""

    def __init__(self, sink: WriteSink, receiver: Receiver | None, close: Callable[[], None] | None) -> None:
        super().__init__(sink, receiver, close)
        output = FileOutput(sink)
        self._write = output.write_changes if any(map(gives_running_values, walk(sink))) else output.append
        self._written: dict[int, int] = {}
        """The rows of micro-batches that are written, and not committed."""

    def take(self, share: Share) -> HandingOver:
        written = self._write(share.df, share.batch)
        self._written[share.batch] = max(written, self._written.get(share.batch, 0))

        def hand_over() -> None:
            self.elements_out += self._written.pop(share.batch)

        return hand_over


def sink_writer(sink: SinkNode, receiver: Receiver | None, close: Callable[[], None] | None) -> SinkWriter:
    """The writer of a sink."""
    match sink:
        case WriteTo():
            return UserSinkWriter(sink, receiver, close)
        case ForEach(with_batch=True):
            return BatchNumberWriter(sink, receiver, close)
        case WriteKafka():
            return TopicWriter(sink, receiver, close)
        case WriteSink():
            return FilesWriter(sink, receiver, close)
        case _:
            return SinkWriter(sink, receiver, close)
