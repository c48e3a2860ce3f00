"""The context of a program: sources, settings, and running sinks."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from morisot.api.base import PathLike
from morisot.api.checks.public import public
from morisot.api.checks.settings import checked_count, checked_session, checked_settings, checked_snapshots
from morisot.api.engine import Engine
from morisot.api.inlet import Memory, Store
from morisot.api.location import caller
from morisot.api.methods.source import SourceMethods
from morisot.api.output import Channel
from morisot.config import Config
from morisot.errors import JobError, Location, PlanError
from morisot.overrides import OVERRIDES
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import ForEach, SinkNode
from morisot.plan.snapshots import Snapshots
from morisot.runtime.activity import ACTIVITY
from morisot.runtime.metrics import ContextMetrics
from morisot.types.element import Type
from morisot.worker.report.failure import element_error

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

    from morisot.api.keyed_stream import KeyedStream
    from morisot.api.stream import Stream
    from morisot.engines.spark.checkpoints.ownership import Hold, SnapshotLock
    from morisot.engines.spark.streaming.job import Job

T = TypeVar("T")


@public("add_sink", "calling", "check", "engine", "keyed", "plain", "without_snapshots")
class StreamContext(SourceMethods):
    """Creates streams, and runs their sinks.

    >>> import morisot as mo
    >>> ctx = mo.StreamContext(engine="reference")
    >>> ctx.stream_iter([3, 1, 2]).map(lambda n: n + 1).collect()
    [4, 2, 3]
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        config: Config | Mapping[str, Any] | None = None,
        engine: str | None = None,
        snapshots: Snapshots | PathLike | None = None,
        parallelism: int | None = None,
    ) -> None:
        self.config = checked_settings(config, engine, parallelism)
        self._engine: Engine | None = None
        self._spark = checked_session(spark)
        self._snapshots = checked_snapshots(snapshots, self.config)
        if self._snapshots is not None:
            directory = os.path.abspath(self._snapshots.path)  # noqa: PTH100 - with links
            ACTIVITY.note_directory(directory)
            if OVERRIDES.poison is None:
                OVERRIDES.poison = os.path.join(directory, "skipped.jsonl")  # noqa: PTH118 - as text
        self._sinks: dict[SinkNode, Callable[[list[Any]], None] | None] = {}
        self._channels: dict[SinkNode, Channel[Any]] = {}
        self._jobs: list[Job] = []
        self._stores: dict[str, list[Store]] = {"channel": [], "socket": []}
        """The buffers of channels and sockets."""
        self._lock: SnapshotLock | None = None
        self._store_holds: list[Hold] = []
        """The lock of the snapshot directory, for the buffers in it."""

    @classmethod
    def from_args(cls, argv: Sequence[str] | None = None) -> StreamContext:
        """A context configured by the program's arguments, `MORISOT_*` variables and a file, in this precedence."""
        import sys

        config, _ = Config.load(sys.argv[1:] if argv is None else argv)
        return cls(config=config)

    @classmethod
    def from_file(cls, path: str | Path) -> StreamContext:
        """A context configured by a TOML file. `MORISOT_*` variables override it."""
        config, _ = Config.load(file=path)
        return cls(config=config)

    def without_snapshots(self) -> StreamContext:
        """The same context, whose owner saves its jobs itself."""
        self._snapshots = None
        return self

    # -- running ----------------------------------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The engine. The Spark session starts when it is first needed."""
        if self._engine is None:
            self._engine = self._make_engine()
        return self._engine

    def _make_engine(self) -> Engine:
        if self.config.engine == "reference":
            from morisot.engines.reference.engine import ReferenceEngine

            return ReferenceEngine(self.config)
        from morisot.engines.spark.session.interrupt import anywhere, interruptible

        # an interrupted import of a library cannot be repeated
        with interruptible(lambda: None, anywhere):
            from morisot.engines.spark.engine import SparkEngine

        return SparkEngine(self.config, self._spark, self._snapshots, self._snapshot_lock())

    @property
    def spark(self) -> SparkSession:
        """The Spark session."""
        from morisot.engines.spark.engine import SparkEngine

        if not isinstance(self.engine, SparkEngine):
            raise PlanError("the reference engine has no Spark session", location=caller())
        return self.engine.spark

    def execute(self) -> None:
        """Runs all deferred sinks to their end. Shared subplans are computed once."""
        sinks = self._take_sinks("execute")
        unbounded = next((sink for sink in sinks if not sink.bounded), None)
        if unbounded is not None:
            self._sinks = sinks
            raise PlanError(
                f"{unbounded.operator} on an unbounded stream never ends",
                location=unbounded.location,
                advice="use ctx.start(), and job.stop() when you have seen enough",
            )
        channels = [self._channels[sink] for sink in sinks if sink in self._channels]
        for channel in channels:
            channel.lift_limit()
        try:
            self.engine.execute(sinks)
        finally:
            for channel in channels:
                channel.close()

    def start(self, *, max_retries: int | None = None) -> Job:
        """Starts all deferred sinks, and returns at once. The job runs until it ends or is stopped.

        A part of the job that fails is restarted from its latest snapshot, at most `max_retries` times without a new
        snapshot; without it, as often as the setting `max_retries` allows.
        """
        retries = self.config.max_retries if max_retries is None else checked_count("start", "max_retries", max_retries)
        sinks = self._take_sinks("start")
        closers = {sink: channel.close for sink, channel in self._channels.items()}
        job: Job = self.engine.start(sinks, closers, retries)
        self._jobs.append(job)
        for sink in sinks:
            if sink in self._channels:
                self._channels[sink].ask_for_failure(job.exception)
        return job

    def _take_sinks(self, operator: str) -> dict[SinkNode, Callable[[list[Any]], None] | None]:
        if not self._sinks:
            raise PlanError(
                f"there is nothing to {operator}",
                location=caller(),
                advice="add a sink first: collect_vec(), collect_channel(), for_each(…), write_…(…)",
            )
        sinks, self._sinks = self._sinks, {}
        return sinks

    def metrics(self) -> ContextMetrics:
        """Numbers of skipped elements, demoted operators, and metrics of loops.

        `skipped` and `diverted` count by operator: elements in the operator's last run, and rows that do not fit the
        type of a source. `late` counts late elements of unbounded streams. `moved_to_python` has the operators whose
        native form failed on an unsupported value.
        """
        counts = self.engine.tally.metrics()
        moved = sorted(node.title for node in self.engine.demoted)
        return {**counts, "moved_to_python": moved, "loops": self.engine.loops()}

    # -- methods for streams ----------------------------------------------------------------------------------------

    def plain(self, node: Node) -> Stream[Any]:
        from morisot.api.stream import Stream

        return Stream(self, node)

    def keyed(self, node: Node) -> KeyedStream[Any, Any]:
        from morisot.api.keyed_stream import KeyedStream

        return KeyedStream(self, node)

    def check(self, node: Node) -> None:
        """Raises an error for a plan that cannot run, while the user's line is known."""
        if not node.bounded:
            from morisot.physical.refusals import refuse_unbounded

            refuse_unbounded(node)

    def add_sink(
        self, node: SinkNode, receiver: Callable[[list[Any]], None] | None, channel: Channel[Any] | None = None
    ) -> None:
        """Registers a deferred sink."""
        self.check(node)
        self._sinks[node] = receiver
        if channel is not None:
            self._channels[node] = channel

    def calling(self, node: ForEach) -> Callable[..., None]:
        """The receiver of for_each: it calls the user's function in this process."""
        function = node.function.original

        def receive(elements: Iterable[Any], batch: int = 0) -> None:
            call = functools.partial(function, batch) if node.with_batch else function
            for element in elements:
                try:
                    if node.keyed:
                        call(*element)
                    else:
                        call(element)
                except Exception as error:
                    raise element_error(node.operator, node.location, element, error, 1) from error

        return receive

    def _store(self, type_: Type, capacity: int) -> tuple[Store, Callable[[Any], Any]]:
        """The buffer of a channel, and a check that raises an error for elements of another type."""
        from morisot.worker.codec.fits import UnfitValue, checker

        store: Store = Memory() if self.config.engine == "reference" else self._channel_files(type_, capacity)
        check = checker(type_, pickle.dumps)

        def refuse_misfits(element: Any) -> Any:
            try:
                return check(element)
            except UnfitValue as refusal:
                raise PlanError(f"stream_channel: {refusal.__cause__}", location=caller()) from None

        return store, refuse_misfits

    def _channel_files(self, type_: Type, capacity: int) -> Store:
        from morisot.engines.spark.streaming.channel_files import ChannelFiles

        self._stores["channel"].append(ChannelFiles(self._store_directory("channel"), type_, capacity, keep=self._keep))
        return self._stores["channel"][-1]

    def _line(self, host: str, port: int, location: Location) -> Store | None:
        """The buffer of a socket. The reference engine cannot read unbounded streams."""
        if self.config.engine == "reference":
            return None
        from morisot.engines.spark.streaming.socket_source import SocketLines

        directory = self._store_directory("socket")
        self._stores["socket"].append(SocketLines(host, port, location, directory, keep=self._keep))
        return self._stores["socket"][-1]

    @property
    def _keep(self) -> int | None:
        return None if self._snapshots is None else self._snapshots.keep

    def _store_directory(self, kind: str) -> Path:
        """The directory of the next buffer of a kind: a temporary one, or one in the user's snapshots."""
        import shutil

        from morisot.engines.spark.session.scratch import temporary_directory

        if self._snapshots is None:
            return temporary_directory(kind)
        self._store_holds.append(self._snapshot_lock().hold())
        directory = Path(self._snapshots.path).absolute() / f"{kind}s" / str(len(self._stores[kind]))
        if self._snapshots.restart is None:
            shutil.rmtree(directory, ignore_errors=True)
        return directory

    def _snapshot_lock(self) -> SnapshotLock:
        """The lock that prevents other contexts and programs from writing these snapshots."""
        from morisot.engines.spark.checkpoints.ownership import SnapshotLock

        if self._lock is None:
            self._lock = SnapshotLock(None if self._snapshots is None else self._snapshots.path)
        return self._lock

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stops running jobs, and warns about sinks that were never run."""
        for job in self._jobs:
            with contextlib.suppress(JobError):  # Spark has ended already
                job.stop()
        self._jobs.clear()
        for stores in self._stores.values():
            for store in stores:
                store.remove()
            stores.clear()
        for hold in self._store_holds:
            hold.release()
        self._store_holds.clear()
        if self._sinks:
            names = ", ".join(f"{sink.operator} ({sink.location})" for sink in self._sinks)
            self._sinks = {}
            warnings.warn(f"never run, because ctx.execute() or ctx.start() was not called: {names}", stacklevel=2)
        if self._engine is not None:
            self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._sinks = {}  # the error of the block is more important
        self.close()

    def __repr__(self) -> str:
        return f"<StreamContext on {self.config.master if self.config.engine == 'spark' else 'the reference engine'}>"
