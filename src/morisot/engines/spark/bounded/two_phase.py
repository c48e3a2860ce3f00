"""The two-phase sinks of a bounded job: all are prepared, then its snapshot is complete, then all are committed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from morisot.engines.spark.bounded.runner import Receiver
from morisot.engines.spark.checkpoints.sink_records import SinkFiles
from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.python.prepared_parts import PartsOfSink
from morisot.engines.spark.session.scratch import temporary_directory
from morisot.errors import MorisotError
from morisot.plan.endpoints import is_two_phase
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode, WriteTo
from morisot.private import private_directory
from morisot.runtime import faults
from morisot.runtime.two_phase import Prepare, TwoPhase

BATCH = 0
"""A bounded stream is one batch."""
Receivers = Mapping[SinkNode, Receiver | None]


class TwoPhaseReceiver:
    """Prepares the elements of one sink."""

    def __init__(self, node: WriteTo, two_phase: TwoPhase) -> None:
        self._parts = PartsOfSink(node) if node.sink.is_parallel else None
        self.two_phase = two_phase

    @property
    def takes_frames(self) -> bool:
        """Whether workers prepare the elements."""
        return self._parts is not None

    @property
    def has_all(self) -> bool:
        """Whether an earlier program has committed the elements."""
        return not self.two_phase.needs(BATCH)

    def __call__(self, elements: Sequence[Any]) -> None:
        self._prepare(self.two_phase.calling(BATCH, elements))

    def take(self, rows: DataFrame, emission: Emission) -> None:
        """Prepares the rows of a frame in the workers."""
        parts = self._parts
        assert parts is not None, "only workers take frames"
        self._prepare(lambda tries: parts.prepare(rows, BATCH, tries, emission))

    def _prepare(self, prepare: Prepare) -> None:
        if not self.has_all:
            self.two_phase.prepare(BATCH, prepare)


class TwoPhaseSinks:
    """The two-phase sinks among those of one job."""

    def __init__(self, directory: Path, *, resumable: bool) -> None:
        self._directory = directory
        self._resumable = resumable
        self._entry = directory / "complete.json"
        """The commit entry: there is one when all sinks are prepared."""
        self._receivers: list[TwoPhaseReceiver] = []

    def open(self, sinks: Sequence[WriteTo], restart: str | int | None) -> list[TwoPhaseReceiver]:
        """Opens the sinks, and finishes what an earlier program has begun. With a number all is delivered again."""
        private_directory(self._directory)
        resumes = restart == "latest" and (self._directory / "begun").exists()
        for index, node in enumerate(sinks):
            records = SinkFiles(self._directory / f"sink-{index}")
            receiver = TwoPhaseReceiver(node, TwoPhase(node, records, self._completed))
            self._receivers.append(receiver)
            receiver.two_phase.open("latest")
        if not resumes:
            self._entry.unlink(missing_ok=True)
        for receiver in self._receivers:
            if resumes:
                receiver.two_phase.resume()
            else:
                receiver.two_phase.begin(resumable=self._resumable)
        (self._directory / "begun").touch()
        return self._receivers

    def _completed(self) -> list[int]:
        found: list[int] = read_record(self._entry, "part done", list)
        return found

    def finish(self) -> None:
        """Called when every sink of the job has its elements: completes the snapshot, then commits."""
        with faults.around("commit entry", BATCH):
            write_record(self._entry, "part done", [BATCH])
        for receiver in self._receivers:
            receiver.two_phase.settle()

    def close(self) -> MorisotError | None:
        """Called at the end, also after a failure. Returns the first error."""
        errors = [receiver.two_phase.close(resumable=self._resumable) for receiver in self._receivers]
        return next(filter(None, errors), None)


@contextlib.contextmanager
def two_phase_sinks(
    receivers: Receivers, own: Callable[[], Path | None], restart: str | int | None
) -> Iterator[Receivers]:
    """The receivers of the block, which commits two-phase sinks at its end.

    `own` returns the directory of the job in the snapshots; None without snapshots.
    """
    nodes = [sink for sink in receivers if isinstance(sink, WriteTo) and is_two_phase(sink.sink)]
    if not nodes:
        yield receivers
        return
    directory = own()
    place = temporary_directory("sinks") if directory is None else directory / "sinks"
    sinks = TwoPhaseSinks(place, resumable=directory is not None)
    try:
        opened = sinks.open(nodes, restart)
        found: dict[Node, TwoPhaseReceiver] = dict(zip(nodes, opened, strict=True))
        yield {sink: found.get(sink, receiver) for sink, receiver in receivers.items()}
        sinks.finish()
    except BaseException:
        sinks.close()
        raise
    failure = sinks.close()
    if failure is not None:
        raise failure
