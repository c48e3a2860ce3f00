"""Two-phase commit: a sink prepares a batch while it runs, and commits it when its snapshot is complete.

The caller says which batches are complete: those with a commit entry in Spark's log. The record of a sink beside the
checkpoint says which batch was begun, because only a prepared batch is aborted, and, for sinks that do not say it
themselves, which batch was committed last.

At most one batch is begun and neither committed nor aborted: it is finished before the next one is prepared.
"""

from __future__ import annotations

import dataclasses
import pickle
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from morisot.errors import JobError, MorisotError
from morisot.plan.endpoints import overrides
from morisot.plan.nodes.sink import WriteTo
from morisot.runtime import faults
from morisot.runtime.sink_protocol import SinkCalls

Completed = Callable[[], Collection[int]]
"""Returns the numbers of the batches whose snapshots are complete, as far as they are retained."""
Prepare = Callable[[int], Sequence[bytes]]
"""Phase 1. Called with the number of the try; returns the pickled receipts of a parallel sink."""


@dataclasses.dataclass(frozen=True)
class SinkRecord:
    """What the job has done with a sink."""

    first: int | None = None
    """The first batch that this job has begun."""
    begun: int | None = None
    """The batch that was begun, and is neither committed nor aborted."""
    tries: int = 0
    """The number of times that a batch was begun."""
    committed: int | None = None
    """The last committed batch."""


class SinkRecords(Protocol):
    """The storage of the record, and of receipts."""

    def read(self) -> SinkRecord | None: ...

    def write(self, record: SinkRecord) -> None: ...

    def write_receipts(self, batch: int, receipts: Sequence[bytes]) -> None: ...

    def receipts(self, batch: int, *, prepared: bool) -> Sequence[bytes]: ...

    def forget_receipts(self, retained: Collection[int]) -> None: ...


class TwoPhase:
    """The sink of one write_to in one job. Its methods may be called by several threads."""

    def __init__(
        self,
        node: WriteTo,
        records: SinkRecords,
        completed: Completed,
        counts: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._sink = node.sink
        self.calls = SinkCalls(node)
        self._records = records
        self._completed = completed
        self._counts = counts
        """Called with the number of each committed batch."""
        self._record = SinkRecord()
        self._remembers = overrides(node.sink, "last_committed")
        self._unsure = False
        """Whether a call failed, so that it is unknown whether it had an effect."""
        self._ready = False
        """Whether `begin` or `resume` has succeeded."""
        self._attempt = 0
        self._lock = threading.RLock()

    # -- the start ----------------------------------------------------------------------------------------------------

    def open(self, restart: str | int | None) -> None:
        """Called first, before anything is restored. Raises an error if the sink cannot return to a snapshot."""
        with self._lock:
            self.calls.open()
            self._record = self._records.read() or SinkRecord()
            if isinstance(restart, int):
                self._refuse_ahead(restart)

    def begin(self, *, resumable: bool) -> None:
        """Called when the job starts from scratch. If it can resume later, the sink must not have other batches."""
        with self._lock:
            self._finish_earlier_job()
            if resumable and (self._remembers or overrides(self._sink, "roll_back")):
                self._roll_back(-1)
            elif not resumable:
                self._remembers = self._remembers and self.calls("last_committed") is None
            self._records.forget_receipts(())
            self._write(SinkRecord())
            self._ready = True

    def _finish_earlier_job(self) -> None:
        """Aborts the batch that an earlier job has begun."""
        begun = self._record.begun
        if begun is not None and not self._has_committed(begun):
            self._abort(begun)

    def resume(self) -> None:
        """Called when the job resumes, also after a failure in this process: commits or aborts what is open."""
        with self._lock:
            if self._record.first is not None or self._records.read() is None:
                self._resume()
            self._unsure, self._ready = False, True

    def _resume(self) -> None:
        completed = sorted(self._completed())
        latest = completed[-1] if completed else -1
        self._roll_back(latest)
        last, first, begun = self._last(), self._record.first, self._record.begun
        self._refuse_behind(last, completed)
        for batch in completed:
            if first is not None and batch >= first and (last is None or batch > last):
                self._commit(batch)
        if begun is not None and begun > latest:
            self._abort(begun)
        elif begun is not None and self._record.begun is not None:  # the sink says that it is committed
            self._note_committed(begun)

    def _roll_back(self, batch: int) -> None:
        """Returns the sink to a batch if it has later ones. Raises an error if it cannot."""
        last = self._last()
        if last is None or last <= batch:
            return
        self._refuse_ahead(batch)
        self.calls("roll_back", batch)
        self._write(dataclasses.replace(self._record, committed=batch if batch >= 0 else None))

    def _refuse_ahead(self, batch: int) -> None:
        last = self._last()
        if last is None or last <= batch or overrides(self._sink, "roll_back"):
            return
        start = f"the snapshot {batch}" if batch >= 0 else "the beginning, before batch 0"
        raise self.calls.refused(
            f"has committed batch {last}, and the job starts from {start}",
            "define roll_back(batch), which removes what was committed after that batch, or give the sink a new target",
        )

    def _refuse_behind(self, last: int | None, completed: Sequence[int]) -> None:
        """Raises an error if the sink has lost batches that are not retained any more."""
        first, committed = self._record.first, self._record.committed
        if first is None or committed is None or not completed:
            return
        following = first if last is None else last + 1
        if following < completed[0] and following <= committed:
            raise self.calls.refused(
                f"has committed {'nothing' if last is None else f'batch {last}'}, the job had committed batch "
                f"{committed}, and its snapshots are retained from {completed[0]} on",
                "restore the content of the sink, or start from scratch with restart=None",
            )

    # -- batches ------------------------------------------------------------------------------------------------------

    def needs(self, batch: int) -> bool:
        """Whether the sink still needs the elements of a batch."""
        with self._lock:
            last = self._record.committed
            return last is None or batch > last

    def expect(self, attempt: int) -> None:
        """Sets the start of the query whose batches are prepared. An interrupted earlier one may still deliver."""
        with self._lock:
            self._attempt = attempt

    def prepare(self, batch: int, prepare: Prepare, *, attempt: int = 0) -> None:
        """Prepares a batch, after the one before is committed, or an earlier attempt is aborted."""
        with self._lock:
            if not self._ready or attempt != self._attempt:
                raise JobError(f"the micro-batch {batch} belongs to a query that was stopped")
            if not self.settle():
                self._abort_begun()
            record = self._record
            first = batch if record.first is None else record.first
            self._write(dataclasses.replace(record, first=first, begun=batch, tries=record.tries + 1))
            with faults.around("prepare", batch):
                receipts = prepare(self._record.tries)
                if self._sink.is_parallel:
                    self._records.write_receipts(batch, receipts)

    def calling(self, batch: int, elements: Sequence[Any]) -> Prepare:
        """Phase 1 of a sink that is not parallel."""

        def prepare(_: int) -> Sequence[bytes]:
            self.calls("prepare", batch, elements)
            return ()

        return prepare

    def settle(self, *, wait: bool = True) -> bool:
        """Commits the begun batch if its snapshot is complete. Returns whether no batch is open.

        Without `wait` it does nothing while another thread calls the sink.
        """
        if not self._lock.acquire(blocking=wait):
            return False
        try:
            begun = self._record.begun
            if self._ready and begun is not None and begun in self._completed():
                faults.reach("after", "commit entry", begun)
                if self._unsure and self._remembers and self._has_committed(begun):
                    self._note_committed(begun)
                else:
                    self._commit(begun)
            return self._record.begun is None
        finally:
            self._lock.release()

    @property
    def is_due(self) -> bool:
        """Whether a batch is complete and not committed."""
        begun = self._record.begun
        return begun is not None and begun in self._completed()

    # -- the end ------------------------------------------------------------------------------------------------------

    def close(self, *, resumable: bool) -> MorisotError | None:
        """Called at the end, also after a failure. Returns the first error.

        A batch that is open then is aborted when the job resumes, or now if it cannot resume.
        """
        failure: MorisotError | None = None
        with self._lock:
            try:
                if self._ready and not self._unsure and not self.settle() and not resumable:
                    self._abort_begun()
            except MorisotError as error:
                failure = error
            finally:
                self._ready = False
                try:
                    self.calls.close()
                except MorisotError as error:
                    failure = failure or error
        return failure

    # -- calls --------------------------------------------------------------------------------------------------------

    def _last(self) -> int | None:
        """The last committed batch, as the sink says, if it does."""
        last: int | None = self.calls("last_committed") if self._remembers else self._record.committed
        return last

    def _has_committed(self, batch: int) -> bool:
        last = self._last()
        return last is not None and last >= batch

    def _commit(self, batch: int) -> None:
        with self._sure(), faults.around("commit", batch):
            self.calls("commit", batch, *self._receipts(batch, prepared=True))
        self._note_committed(batch)

    def _note_committed(self, batch: int) -> None:
        begun = None if self._record.begun == batch else self._record.begun
        self._write(dataclasses.replace(self._record, begun=begun, committed=batch))
        self._unsure = False
        self._counts(batch)
        if self._sink.is_parallel:
            self._records.forget_receipts(self._completed())

    def _abort_begun(self) -> None:
        if self._record.begun is not None:
            self._abort(self._record.begun)

    def _abort(self, batch: int) -> None:
        with self._sure(), faults.around("abort", batch):
            self.calls("abort", batch, *self._receipts(batch, prepared=False))
        self._write(dataclasses.replace(self._record, begun=None))
        self._unsure = False
        if self._sink.is_parallel:
            self._records.forget_receipts(self._completed())

    def _receipts(self, batch: int, *, prepared: bool) -> tuple[list[Any], ...]:
        """The argument of a parallel sink: its receipts."""
        if not self._sink.is_parallel:
            return ()
        return ([pickle.loads(each) for each in self._records.receipts(batch, prepared=prepared)],)

    def _write(self, record: SinkRecord) -> None:
        with self._sure(), faults.around("log append", record.begun):
            self._records.write(record)
        self._record = record

    def _sure(self) -> _Sure:
        return _Sure(self)

    def failed(self) -> None:
        """Notes that a call failed. From then on the sink is asked what it has."""
        self._unsure = True


class _Sure:
    """A block whose failure makes the state of the sink unknown."""

    def __init__(self, two_phase: TwoPhase) -> None:
        self._two_phase = two_phase

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._two_phase.failed()
