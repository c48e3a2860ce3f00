"""The writer of each kind of sink."""

from __future__ import annotations

from collections.abc import Callable

from morisot.engines.spark.bounded.runner import Receiver
from morisot.engines.spark.streaming.sinks import (
    BatchNumberWriter,
    FilesWriter,
    SinkWriter,
    TopicWriter,
    UserSinkWriter,
)
from morisot.engines.spark.streaming.two_phase import ParallelWriter, TwoPhaseWriter
from morisot.plan.endpoints import is_two_phase
from morisot.plan.nodes.sink import ForEach, SinkNode, WriteKafka, WriteSink, WriteTo


def sink_writer(sink: SinkNode, receiver: Receiver | None, close: Callable[[], None] | None) -> SinkWriter:
    """The writer of a sink."""
    match sink:
        case WriteTo() if is_two_phase(sink.sink):
            return ParallelWriter(sink, close) if sink.sink.is_parallel else TwoPhaseWriter(sink, close)
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
