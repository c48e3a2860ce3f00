"""What a user-defined sink has to do with snapshots: its callbacks, and its key store."""

from __future__ import annotations

from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.checkpoints.sink_records import SinkFiles
from morisot.plan.endpoints import overrides
from morisot.plan.nodes.sink import WriteTo
from morisot.runtime.sink_protocol import SinkCalls


class SinkLife:
    """The snapshots of one sink in one job. The key store of a micro-batch is stored before the commit entry."""

    def __init__(self, node: WriteTo, calls: SinkCalls, checkpoint: Checkpoint) -> None:
        self._calls = calls
        self._checkpoint = checkpoint
        self._has_store = calls.store is not None
        self._local, self._global = (overrides(node.sink, f"on_{part}_snapshot") for part in ("local", "global"))
        self.listens = self._global or self._has_store
        """Whether it wants to know which snapshot is complete."""
        self._saved: bytes | None = None
        """The key store after the last delivered micro-batch."""
        self._complete = -1
        """The last snapshot that the sink knows to be complete."""

    @property
    def _files(self) -> SinkFiles | None:
        """Where key stores are saved; None if there is none, or the job cannot resume."""
        resumable = self._has_store and self._checkpoint.keep is not None
        return self._checkpoint.records_of(self._calls.node) if resumable else None

    def restore(self, *, resumes: bool) -> None:
        """Restores the key store of the last complete snapshot."""
        self._complete = self._checkpoint.newest()[1] if resumes else -1
        if self._files is not None:
            self._saved = self._files.restored_store(self._complete)
            self._calls.restore(self._saved)

    def begin(self) -> None:
        """Called before the first micro-batch: tells the sink of the snapshot from which the job resumes."""
        if self._global and self._complete >= 0:
            self._calls("on_global_snapshot", self._complete)

    def begin_again(self) -> None:
        """Called when a query starts: a failed one may have left changes of a micro-batch that was not delivered."""
        if self._has_store:
            self._calls.restore(self._saved)

    def note_delivered(self) -> None:
        """Called when the sink has a micro-batch."""
        self._saved = self._calls.store

    def note_stored(self, batch: int) -> None:
        """Called when all sinks have a micro-batch, before its commit entry."""
        if self._files is not None and self._saved is not None:
            self._files.write_store(batch, self._saved)
        if self._local:
            self._calls("on_local_snapshot", batch)

    def note_complete(self, batch: int) -> None:
        """Called again and again with the last complete snapshot."""
        if batch <= self._complete:
            return
        self._complete = batch
        if self._global:
            self._calls("on_global_snapshot", batch)
        if self._files is not None:
            self._files.forget_stores(before=min(self._checkpoint.completed(), default=batch))
