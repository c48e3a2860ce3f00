"""The unbounded jobs of one engine: the queries of a job, and their checkpoints."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from morisot.engines.spark.bounded.runner import BatchRunner, Receiver
from morisot.engines.spark.checkpoints.ownership import SnapshotLock
from morisot.engines.spark.checkpoints.query import Checkpoint, was_alone
from morisot.engines.spark.internals.sessions import is_classic
from morisot.engines.spark.session.scratch import temporary_directory
from morisot.engines.spark.streaming.channel_files import ChannelFiles
from morisot.engines.spark.streaming.query.part import StreamPart
from morisot.engines.spark.streaming.query.spec import QuerySpec
from morisot.engines.spark.streaming.sinks import SinkWriter
from morisot.engines.spark.streaming.writers import sink_writer
from morisot.errors import EnvironmentProblem, PlanError
from morisot.plan.analysis.graph import walk
from morisot.plan.analysis.query_groups import Group, groups
from morisot.plan.analysis.trigger import trigger_of
from morisot.plan.analysis.validate import gives_running_values
from morisot.plan.endpoints import is_two_phase
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode, WriteSink, WriteTo
from morisot.plan.nodes.source import BufferedSource
from morisot.plan.snapshots import Snapshots
from morisot.runtime.tally import Tally

Closers = Mapping[SinkNode, Callable[[], None]]


class Streams:
    """Starts the streaming queries of an engine."""

    def __init__(
        self,
        snapshots: Snapshots | None,
        report: Callable[[Tally], None],
        lock: SnapshotLock | None = None,
        *,
        counts_operators: bool = False,
    ) -> None:
        self._snapshots = snapshots
        self._lock = lock or SnapshotLock(None)
        self._counts_operators = counts_operators
        self._report = report
        self._parts: list[StreamPart] = []

    def start(
        self, runner: BatchRunner, receivers: Mapping[SinkNode, Receiver | None], closers: Closers
    ) -> list[StreamPart]:
        """Starts all sinks, or none if one fails. Each query holds the lock until it has ended."""
        refuse_one_directory(receivers)
        refuse_one_sink(receivers)
        if not is_classic(runner.spark):
            refuse_on_connect(receivers)
        with self._lock.held():
            return self._start(runner, receivers, closers)

    def _start(
        self, runner: BatchRunner, receivers: Mapping[SinkNode, Receiver | None], closers: Closers
    ) -> list[StreamPart]:
        directories = self._directories(receivers)
        served = [each for group in groups(receivers) for each in self._as_one_or_by_sink(runner, group, directories)]
        triggers = {group: trigger_of(group.sinks, self._snapshots) for group in served}
        counted = counted_by(served)
        readers = announced(served)
        writers = {sink: sink_writer(sink, receiver, closers.get(sink)) for sink, receiver in receivers.items()}
        for index, writer in enumerate(writers.values()):
            writer.index = index
        specs: list[QuerySpec] = []
        parts: list[StreamPart] = []
        try:
            for group in served:
                spec = QuerySpec(
                    runner,
                    group,
                    [writers[sink] for sink in group.sinks],
                    self._checkpoint(group, directories),
                    triggers[group],
                    snapshots=self._snapshots,
                    counted=counted[group],
                    report=self._report,
                    reader=readers[group],
                    counts_operators=self._counts_operators,
                )
                specs.append(spec)
                parts.append(started(spec))
        except BaseException:
            undo(specs, parts, writers.values())
            for group in served:
                for inlet in inlets_of(group):
                    inlet.detach(readers[group])
            raise
        self._parts += parts
        return parts

    def _as_one_or_by_sink(
        self, runner: BatchRunner, group: Group, directories: Mapping[SinkNode, Path]
    ) -> list[Group]:
        """A query group as one query, if the session supports it, and no sink has to resume from its own snapshots.

        A session of Spark Connect would process micro-batches in a process of the server. Operators are counted by the
        query, and not downstream of it.
        """
        restarts = self._snapshots is not None and self._snapshots.restart is not None
        had_own = restarts and any(was_alone(directories[sink]) for sink in group.sinks)
        as_one = is_classic(runner.spark) and not had_own and not self._counts_operators
        return [group] if as_one else group.by_sink()

    # -- names --------------------------------------------------------------------------------------------------------

    def _directories(self, sinks: Iterable[SinkNode]) -> dict[SinkNode, Path]:
        """The directory of each sink in the user's snapshots: the name of the stream or of the sink, with a number."""
        if self._snapshots is None:
            return {}
        saved = Path(self._snapshots.path).absolute() / "streams"
        taken = {name for part in self._parts if not part.join(0) for name in part.names}
        directories: dict[SinkNode, Path] = {}
        for sink in sinks:
            name = plain = re.sub(r"[^\w.-]+", "-", sink.input.label or sink.operator)
            number = 1
            while name in taken:
                number += 1
                name = f"{plain}-{number}"
            taken.add(name)
            directories[sink] = saved / name
        return directories

    def _checkpoint(self, group: Group, directories: Mapping[SinkNode, Path]) -> Checkpoint:
        """The checkpoint of a query: a temporary one, or one in the user's snapshots."""
        if self._snapshots is None:
            return Checkpoint(dict.fromkeys(group.sinks, temporary_directory("checkpoint")))
        own = {sink: directories[sink] for sink in group.sinks}
        return Checkpoint(own, keep=self._snapshots.keep, hold=self._lock.hold())

    # -- the end ------------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Removes the snapshots of sinks that ended without an error, if the user requests it."""
        if self._snapshots is not None and self._snapshots.clean_on_exit:
            for part in self._parts:
                if part.error is None:
                    part.clean()
        self._parts.clear()


def refuse_one_directory(sinks: Iterable[SinkNode]) -> None:
    """Raises an error for two sinks that write to the same directory."""
    writers: dict[str, WriteSink] = {}
    for sink in sinks:
        if isinstance(sink, WriteSink):
            other = writers.setdefault(sink.path.rstrip("/"), sink)
            if other is not sink:
                raise PlanError(
                    f"two sinks write to {other.path!r}: {other.title} and {sink.title}",
                    location=sink.location,
                    advice="give each a directory of its own, or merge the streams",
                )


def refuse_one_sink(sinks: Iterable[SinkNode], *, classic: bool = True) -> None:
    """Raises an error for a two-phase sink of two streams, whose batches have the same numbers, or on Connect."""
    first: dict[int, WriteTo] = {}
    for sink in sinks:
        if isinstance(sink, WriteTo) and is_two_phase(sink.sink):
            if not classic:
                raise EnvironmentProblem(
                    f'{sink.title}: a sink with commit="after_snapshot" cannot run on a Spark Connect session: use a '
                    "classic session."
                )
            other = first.setdefault(id(sink.sink), sink)
            if other is not sink:
                raise PlanError(
                    f"two streams are written to one {type(sink.sink).__name__}: {other.title} and {sink.title}",
                    location=sink.location,
                    advice="give each a sink of its own, or merge the streams",
                )


def refuse_on_connect(sinks: Iterable[SinkNode]) -> None:
    """Raises an error for sinks that get micro-batches in this process, which must be Spark's driver for that."""
    for sink in sinks:
        running = next((node for node in walk(sink) if gives_running_values(node)), None)
        if isinstance(sink, WriteSink) and running is None:
            continue
        what = f"the running values of {running.title}" if running is not None else "the elements"
        raise EnvironmentProblem(
            f"{sink.title} cannot take {what} on a Spark Connect session, where only the server has micro-batches: end "
            "the unbounded stream with write_text, write_csv, write_json or write_parquet and without running values, "
            "or use a classic session."
        )


def started(spec: QuerySpec) -> StreamPart:
    """Starts a part, and waits until its query runs."""
    part = StreamPart(spec)
    part.start()
    return part


def undo(specs: Iterable[QuerySpec], parts: Iterable[StreamPart], writers: Iterable[SinkWriter]) -> None:
    """Stops the parts of a job of which one did not start."""
    for part in parts:
        part.stop()
    for spec in specs:
        spec.checkpoint.release()
    for writer in writers:
        writer.unblock()


def counted_by(served: Iterable[Group]) -> dict[Group, frozenset[Node]]:
    """The operators whose skipped elements each query counts: the first query that runs an operator counts it."""
    found: dict[Group, frozenset[Node]] = {}
    counted: set[Node] = set()
    for group in served:
        own = {node for node in walk(*group.sinks) if node.leaves_out and not node.bounded}
        found[group] = frozenset(own - counted)
        counted |= own
    return found


def announced(served: Iterable[Group]) -> dict[Group, str]:
    """Registers the queries that will read channels and sockets. Returns the names of the readers."""
    readers = {group: uuid.uuid4().hex for group in served}
    for group, reader in readers.items():
        for inlet in inlets_of(group):
            inlet.expect(reader)
    return readers


def inlets_of(group: Group) -> list[ChannelFiles]:
    """The channels and sockets that a query reads."""
    return [node.inlet for node in walk(*group.sinks) if isinstance(node, BufferedSource) and not node.bounded]
