"""The writers of sinks that commit after the snapshot."""

from __future__ import annotations

from collections.abc import Callable

from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.checkpoints.sink_life import SinkLife
from morisot.engines.spark.emit.python.prepared_parts import PartsOfSink
from morisot.engines.spark.streaming.sinks import HandingOver, Share, SinkWriter
from morisot.errors import MorisotError
from morisot.plan.nodes.sink import WriteTo
from morisot.runtime.two_phase import Prepare, TwoPhase


class TwoPhaseWriter(SinkWriter):
    """Prepares each micro-batch in the driver, and commits it when Spark's commit entry is there."""

    def __init__(self, sink: WriteTo, close: Callable[[], None] | None) -> None:
        super().__init__(sink, None, close)
        self._users = sink
        self._two_phase: TwoPhase | None = None
        self._checkpoint: Checkpoint | None = None
        self._life: SinkLife | None = None
        self._resumable = False
        self._prepared: dict[int, int] = {}
        """The numbers of elements of micro-batches that are prepared, and not committed."""

    def attach(self, checkpoint: Checkpoint, restart: str | int | None) -> None:
        self._checkpoint, self._resumable = checkpoint, checkpoint.keep is not None
        records = checkpoint.records_of(self.sink)
        self._two_phase = TwoPhase(self._users, records, checkpoint.completed, self._count)
        self._two_phase.open(restart)
        self._life = SinkLife(self._users, self._two_phase.calls, checkpoint)

    @property
    def life(self) -> SinkLife | None:
        return self._life

    @property
    def two_phase(self) -> TwoPhase:
        assert self._two_phase is not None, "a writer is attached first"
        return self._two_phase

    def open(self, *, resumes: bool) -> None:
        assert self._checkpoint is not None, "a writer is attached first"
        assert self._life is not None, "a writer is attached first"
        self._life.restore(resumes=resumes)
        if resumes and not self._checkpoint.records_of(self.sink).is_new(has_started=self._checkpoint.has_started):
            self.two_phase.resume()
        else:
            self.two_phase.begin(resumable=self._resumable)
        self._life.begin()

    def expect(self, attempt: int) -> None:
        self.two_phase.expect(attempt)

    def take(self, share: Share) -> HandingOver:
        rows, prepare = self._computed(share)

        def deliver() -> None:
            self._prepared[share.batch] = rows
            self.two_phase.prepare(share.batch, prepare, attempt=share.attempt)

        return deliver

    def _computed(self, share: Share) -> tuple[int, Prepare]:
        """The number of the elements of a micro-batch, and phase 1."""
        elements = share.elements(self.sink.type)
        return len(elements), self.two_phase.calling(share.batch, elements)

    def settle(self) -> None:
        if self.two_phase.is_due:
            self.two_phase.settle(wait=False)

    @property
    def settled(self) -> bool:  # type: ignore[override]
        return not self.two_phase.is_due

    def _count(self, batch: int) -> None:
        self.elements_out += self._prepared.pop(batch, 0)

    def fail(self, error: BaseException) -> None:
        if self._two_phase is not None:
            self._two_phase.calls.fail(error)

    def close(self) -> MorisotError | None:
        super().close()
        return None if self._two_phase is None else self._two_phase.close(resumable=self._resumable)


class ParallelWriter(TwoPhaseWriter):
    """Prepares each micro-batch in the workers. Its rows are computed and persisted before."""

    def __init__(self, sink: WriteTo, close: Callable[[], None] | None) -> None:
        super().__init__(sink, close)
        self._parts = PartsOfSink(sink)

    def _computed(self, share: Share) -> tuple[int, Prepare]:
        persisted = share.emission.persist(self.sink, share.df)
        rows = persisted.count()
        return rows, lambda tries: self._parts.prepare(persisted, share.batch, tries, share.emission)
