"""Two-phase commit on a job that is not Spark's: a fault at every moment of every point, and every element once."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import random
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.sink_records import SinkFiles
from morisot.plan.endpoints import is_two_phase
from morisot.plan.nodes.sink import WriteTo
from morisot.runtime import faults
from morisot.runtime.faults import FaultPoint, Moment
from morisot.runtime.two_phase import SinkRecord, SinkRecords, TwoPhase

BATCHES = [[1, 2], [], [3], [4, 5, 6]]
POINTS: tuple[FaultPoint, ...] = ("prepare", "commit entry", "commit", "abort", "log append")
MOMENTS: tuple[Moment, ...] = ("before", "after")


class Killed(BaseException):
    """The program is killed."""


@dataclass
class World:
    """What is left when a program is killed: the content of the sink, and Spark's log."""

    staged: dict[int, list[Any]] = field(default_factory=dict)
    visible: dict[int, list[Any]] = field(default_factory=dict)
    entries: set[int] = field(default_factory=set)
    calls: list[tuple[str, int]] = field(default_factory=list)
    record: SinkRecord | None = None
    stored: dict[int, Sequence[bytes]] = field(default_factory=dict)
    """The receipts."""

    @property
    def elements(self) -> list[Any]:
        return [element for batch in sorted(self.visible) for element in self.visible[batch]]


class InMemory:
    """The records of a sink in a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def read(self) -> SinkRecord | None:
        return self._world.record

    def write(self, record: SinkRecord) -> None:
        self._world.record = record

    def write_receipts(self, batch: int, receipts: Sequence[bytes]) -> None:
        self._world.stored[batch] = receipts

    def receipts(self, batch: int, *, prepared: bool) -> Sequence[bytes]:
        return self._world.stored[batch] if prepared else self._world.stored.get(batch, ())

    def forget_receipts(self, retained: Collection[int]) -> None:
        self._world.stored = {batch: each for batch, each in self._world.stored.items() if batch in retained}


class Staging(mo.Sink[int], commit="after_snapshot"):
    """It does not say what it has committed; its commit is idempotent."""

    def __init__(self, world: World) -> None:
        self.world = world

    def prepare(self, batch: int, elements: Sequence[int]) -> None:
        self.world.calls.append(("prepare", batch))
        assert batch not in self.world.staged, "it was aborted before"
        assert batch not in self.world.visible
        self.world.staged[batch] = list(elements)

    def commit(self, batch: int) -> None:
        self.world.calls.append(("commit", batch))
        assert batch in self.world.entries, "its snapshot is complete"
        if batch in self.world.staged:
            self.world.visible[batch] = self.world.staged.pop(batch)

    def abort(self, batch: int) -> None:
        self.world.calls.append(("abort", batch))
        assert batch not in self.world.entries
        self.world.staged.pop(batch, None)


class Remembering(Staging):
    """Its commit is not idempotent."""

    def last_committed(self) -> int | None:
        return max(self.world.visible, default=None)

    def commit(self, batch: int) -> None:
        self.world.calls.append(("commit", batch))
        assert batch in self.world.entries, "its snapshot is complete"
        self.world.visible[batch] = self.world.staged.pop(batch)


class Wide(mo.Sink[int], commit="after_snapshot", parallel=True):
    """Two parts in each batch, of which the first is attempted twice."""

    def __init__(self, world: World) -> None:
        self.world = world

    def commit(self, batch: int, receipts: Sequence[tuple[str, list[int]]]) -> None:
        self.world.calls.append(("commit", batch))
        assert batch in self.world.entries
        self.world.visible[batch] = [element for _, elements in receipts for element in elements]

    def abort(self, batch: int, receipts: Sequence[Any]) -> None:
        self.world.calls.append(("abort", batch))
        assert batch not in self.world.entries


@functools.cache
def a_node() -> WriteTo:
    ctx = mo.StreamContext(engine="reference")
    ctx.stream_iter([1]).write_to(Staging(World()))
    (node,) = ctx._sinks
    ctx._sinks.clear()
    assert isinstance(node, WriteTo)
    return node


def node_of(sink: mo.Sink[Any]) -> WriteTo:
    return dataclasses.replace(a_node(), sink=sink)


def run(
    world: World, make: Callable[[World], mo.Sink[int]], restart: Any = "latest", records: SinkRecords | None = None
) -> None:
    """A program that prepares all batches, as a streaming query does, from the first that is not complete."""
    sink = make(world)
    assert is_two_phase(sink)
    records = records or InMemory(world)
    two_phase = TwoPhase(node_of(sink), records, lambda: world.entries)
    resumes = records.read() is not None
    two_phase.open(restart)
    if isinstance(restart, int):
        world.entries = {batch for batch in world.entries if batch <= restart}
    if resumes and restart is not None:
        two_phase.resume()
    else:
        world.entries.clear()
        two_phase.begin(resumable=True)
    for batch in range(max(world.entries, default=-1) + 1, len(BATCHES)):
        two_phase.prepare(batch, phase_1(two_phase, sink, batch))
        with faults.around("commit entry", batch):
            world.entries.add(batch)
        if batch % 2:  # the watching thread comes before the next batch, or not
            two_phase.settle(wait=False)
    assert two_phase.close(resumable=True) is None


def phase_1(two_phase: TwoPhase, sink: mo.Sink[int], batch: int) -> Callable[[int], Sequence[bytes]]:
    if not sink.is_parallel:
        return two_phase.calling(batch, BATCHES[batch])
    import pickle

    def prepare(tries: int) -> Sequence[bytes]:
        sink.world.calls.append(("prepare", batch))  # type: ignore[attr-defined]
        return [pickle.dumps((f"try {tries}", [element])) for element in BATCHES[batch]]

    return prepare


def faults_at(where: Sequence[tuple[Moment, FaultPoint, int]]) -> Iterator[Any]:
    """Hooks that kill the program when a moment is reached for the n-th time, one for each program."""
    for moment, point, number in where:
        reached = itertools.count(1)

        def hook(
            now: Moment,
            at: FaultPoint,
            _: int | None,
            wanted: tuple[Moment, FaultPoint] = (moment, point),
            nth: int = number,
            reached: Iterator[int] = reached,
        ) -> None:
            if (now, at) == wanted and next(reached) == nth:
                raise Killed

        yield hook


def killed_at(where: Sequence[tuple[Moment, FaultPoint, int]], make: Callable[[World], mo.Sink[int]]) -> World:
    """What is there after programs that were killed, and one that was not."""
    world = World()
    for hook in faults_at(where):
        try:
            with faults.hooked(hook):
                run(world, make)
        except Killed:
            continue
    run(world, make)
    return world


SINKS: list[Callable[[World], mo.Sink[int]]] = [Staging, Remembering, Wide]
EVERYTHING = [element for batch in BATCHES for element in batch]
SECOND: list[tuple[Moment, FaultPoint, int] | None] = [
    None,
    ("before", "abort", 1),
    ("after", "abort", 1),
    ("before", "commit", 1),
    ("before", "log append", 1),
]


@pytest.mark.parametrize("make", SINKS)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_fault_at_every_point(moment: Moment, point: FaultPoint, make: Callable[[World], mo.Sink[int]]) -> None:
    for nth, second in itertools.product(range(1, 9), SECOND):
        where = [(moment, point, nth), *([second] if second else [])]
        world = killed_at(where, make)
        assert world.elements == EVERYTHING, where
        assert not world.staged
        commits = [batch for call, batch in world.calls if call == "commit"]
        assert commits == sorted(commits)


def test_several_faults_in_a_row(chance: random.Random) -> None:
    for _ in range(40):
        where = [
            (chance.choice(MOMENTS), chance.choice(POINTS), chance.randint(1, 6)) for _ in range(chance.randint(1, 6))
        ]
        for make in SINKS:
            world = killed_at(where, make)
            assert world.elements == EVERYTHING, where


@pytest.mark.parametrize("make", SINKS)
def test_a_record_in_files(make: Callable[[World], mo.Sink[int]], tmp_path: Path) -> None:
    for number, point in enumerate(POINTS):
        world = World()
        for hook in faults_at([("after", point, 2)]):
            with faults.hooked(hook), contextlib.suppress(Killed):
                run(world, make, records=SinkFiles(tmp_path / str(number)))
        run(world, make, records=SinkFiles(tmp_path / str(number)))
        assert world.elements == EVERYTHING
        assert stat.S_IMODE((tmp_path / str(number)).stat().st_mode) == 0o700
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in (tmp_path / str(number)).iterdir())


# -- snapshots and the sink ---------------------------------------------------------------------------------------


class Undoing(Remembering):
    def roll_back(self, batch: int) -> None:
        self.world.calls.append(("roll_back", batch))
        self.world.visible = {number: each for number, each in self.world.visible.items() if number <= batch}


def test_a_sink_that_is_ahead_goes_back_or_refuses() -> None:
    for make in (Remembering, Staging):
        world = World()
        run(world, make)
        with pytest.raises(mo.SinkError, match="has committed batch 3, and the job starts from the snapshot 1"):
            run(world, make, restart=1)
        assert len(world.entries) == 4, "nothing is restored before"
    world = World()
    run(world, Undoing)
    run(world, Undoing, restart=1)
    assert world.calls[-5:] == [("roll_back", 1), ("prepare", 2), ("commit", 2), ("prepare", 3), ("commit", 3)]
    assert world.elements == EVERYTHING


def test_a_start_from_scratch_needs_an_empty_sink() -> None:
    world = World()
    run(world, Remembering)
    with pytest.raises(mo.SinkError, match="has committed batch 3, and the job starts from the beginning"):
        run(world, Remembering, restart=None)
    run(world, Undoing, restart=None)
    assert ("roll_back", -1) in world.calls
    assert world.elements == EVERYTHING


def test_a_sink_that_has_lost_batches_is_refused() -> None:
    world = World()
    run(world, Remembering)
    world.visible.clear()
    world.entries -= {0, 1}
    with pytest.raises(mo.SinkError, match="has committed nothing, the job had committed batch 3, and its snapshots"):
        run(world, Remembering)


def test_complete_batches_above_the_last_committed_one_are_committed_in_order() -> None:
    world = World()
    run(world, Remembering)
    for batch in (2, 3):
        world.staged[batch] = world.visible.pop(batch)
    run(world, Remembering)
    assert world.calls[-2:] == [("commit", 2), ("commit", 3)]
    assert world.elements == EVERYTHING


def test_an_interrupted_micro_batch_of_an_earlier_start_prepares_nothing() -> None:
    world = World()
    sink = Staging(world)
    two_phase = TwoPhase(node_of(sink), InMemory(world), lambda: world.entries)
    two_phase.open(None)
    two_phase.begin(resumable=True)
    two_phase.expect(1)
    two_phase.prepare(0, two_phase.calling(0, [1]), attempt=1)
    two_phase.expect(2)
    with pytest.raises(mo.JobError, match="belongs to a query that was stopped"):
        two_phase.prepare(0, two_phase.calling(0, [1]), attempt=1)
    two_phase.prepare(0, two_phase.calling(0, [1]), attempt=2)
    assert world.calls == [("prepare", 0), ("abort", 0), ("prepare", 0)]
    assert two_phase.close(resumable=False) is None
    assert world.calls[-1] == ("abort", 0), "no job could resume"
    with pytest.raises(mo.JobError, match="belongs to a query that was stopped"):
        two_phase.prepare(0, two_phase.calling(0, [1]), attempt=2)


def test_a_commit_that_fails_is_not_repeated_if_the_sink_has_the_batch() -> None:
    class Late(Remembering):
        def commit(self, batch: int) -> None:
            super().commit(batch)
            if batch == 0:
                raise OSError("the connection was lost")

    world = World()
    sink = Late(world)
    two_phase = TwoPhase(node_of(sink), InMemory(world), lambda: world.entries)
    two_phase.open(None)
    two_phase.begin(resumable=True)
    two_phase.prepare(0, two_phase.calling(0, [1]))
    world.entries.add(0)
    with pytest.raises(mo.SinkError, match=r"Late.commit of batch 0 failed: OSError: the connection was lost"):
        two_phase.settle()
    assert two_phase.settle()
    assert world.calls == [("prepare", 0), ("commit", 0)]
