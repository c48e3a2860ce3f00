"""Callbacks and key stores of users' sources and sinks, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints.sink_life import SinkLife
from morisot.engines.spark.checkpoints.sink_records import SinkFiles
from morisot.engines.spark.emit.sources.offsets import OffsetReader
from morisot.engines.spark.engine import too_many_replicas
from morisot.engines.spark.replicas.server import ReplicaServer
from morisot.errors import Location
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.sink import WriteTo
from morisot.plan.nodes.source import StreamIter
from morisot.plan.nodes.state import ApplyOnDemand
from morisot.runtime.sink_protocol import SinkCalls
from morisot.types.element import INT
from morisot.worker.replicas.replica import Placed
from morisot.worker.report.signature import Seal


class Callbacks:
    """Notes its callbacks."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def on_init(self, place: mo.Replica) -> None:
        self.calls.append(("init", place.instance, place.instances))

    def on_local_snapshot(self, snapshot: int) -> None:
        self.calls.append(("local", snapshot))

    def on_global_snapshot(self, snapshot: int) -> None:
        self.calls.append(("global", snapshot))

    def on_error(self, error: BaseException) -> None:
        self.calls.append(("error", str(error)))

    def on_exit(self) -> None:
        self.calls.append("exit")


class Counting(Callbacks, mo.Sink[int]):
    def prepare(self, batch: int, elements: Sequence[int]) -> None:
        self.store["seen"] = self.store.get("seen", 0) + len(elements)
        self.calls.append(("prepare", batch, self.store["seen"]))
        if -1 in elements:
            raise OSError("disk full")


class Saves:
    """The checkpoint of a query."""

    keep: int | None = 10

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.committed: list[int] = []

    def newest(self) -> tuple[int, int]:
        return max(self.committed, default=-1), max(self.committed, default=-1)

    def completed(self) -> list[int]:
        return self.committed

    def records_of(self, _: Any) -> SinkFiles:
        return SinkFiles(self.directory / "sink-0")


def sink_in(saves: Saves, *, resumes: bool = False) -> tuple[Counting, SinkCalls, SinkLife]:
    """A sink in a new job."""
    sink, location = Counting(), Location("program.py", 1)
    source = StreamIter((), type=INT, location=location)
    calls = SinkCalls(WriteTo(source, sink, type=INT, location=location))
    life = SinkLife(calls.node, calls, saves)  # type: ignore[arg-type]
    life.restore(resumes=resumes)
    calls.open()
    life.begin()
    return sink, calls, life


def deliver(calls: SinkCalls, life: SinkLife, batch: int, *elements: int) -> None:
    life.begin_again()
    calls("prepare", batch, list(elements))
    life.note_delivered()
    life.note_stored(batch)


def test_a_sink_has_the_key_store_of_the_last_complete_snapshot(tmp_path: Path) -> None:
    saves = Saves(tmp_path)
    sink, calls, life = sink_in(saves)
    for batch in (0, 1):
        deliver(calls, life, batch, 1, 2)
        saves.committed.append(batch)
        life.note_complete(batch)
        life.note_complete(batch)
    deliver(calls, life, 2, 1, 2)  # without a commit entry
    calls.close()
    assert sink.calls == [
        *(("init", 0, 1), ("prepare", 0, 2), ("local", 0), ("global", 0), ("prepare", 1, 4), ("local", 1)),
        *(("global", 1), ("prepare", 2, 6), ("local", 2), "exit"),
    ]
    sink, calls, life = sink_in(saves, resumes=True)
    deliver(calls, life, 2, 1, 2)
    assert sink.calls == [("init", 0, 1), ("global", 1), ("prepare", 2, 6), ("local", 2)]
    sink, calls, life = sink_in(saves)
    deliver(calls, life, 0, 5)
    assert sink.calls == [("init", 0, 1), ("prepare", 0, 1), ("local", 0)], "a job from scratch has no store"


def test_a_micro_batch_that_failed_leaves_no_changes(tmp_path: Path) -> None:
    sink, calls, life = sink_in(Saves(tmp_path))
    deliver(calls, life, 0, 1)
    with pytest.raises(mo.SinkError, match="disk full") as caught:
        deliver(calls, life, 1, 1, -1)
    deliver(calls, life, 1, 1)
    assert [call[2] for call in sink.calls if call[0] == "prepare"] == [1, 3, 2]
    calls.fail(caught.value)
    assert sink.calls[-1] == ("error", str(caught.value))


def test_stores_that_no_snapshot_needs_are_removed(tmp_path: Path) -> None:
    saves = Saves(tmp_path)
    _, calls, life = sink_in(saves)
    for batch in range(5):
        deliver(calls, life, batch, 1)
        saves.committed = [*saves.committed, batch][-2:]
        life.note_complete(batch)
    assert sorted(file.name for file in (tmp_path / "sink-0").iterdir()) == ["store-3.json", "store-4.json"]


class Reading(Callbacks, mo.Source[int]):
    def __init__(self, *, last: int) -> None:
        super().__init__()
        self.last = last

    def read(self) -> Iterator[int]:
        for number in range(3):
            self.store["sum"] = self.store.get("sum", 0) + number
            yield 12 // (self.last - number)
        self.calls.append(("sum", self.store["sum"]))


def test_callbacks_of_a_bounded_source() -> None:
    ctx = mo.StreamContext(engine="reference")
    source = Reading(last=6)
    assert ctx.stream(source).collect() == [2, 2, 3]
    assert source.calls == [("init", 0, 1), ("sum", 3), "exit"]
    source = Reading(last=1)
    with pytest.raises(ZeroDivisionError):
        ctx.stream(source).collect()
    assert source.calls == [("init", 0, 1), ("error", "integer division or modulo by zero"), "exit"]


class Following(Callbacks, mo.OffsetSource[int]):
    """The sums of all numbers so far. The sum is in the key store."""

    def initial_offset(self) -> dict[str, Any]:
        return {"next": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterable[int], dict[str, Any]]:
        number = start["next"]
        if number == 3:
            return [], start
        return self.summed(number), {"next": number + 1}

    def summed(self, number: int) -> Iterator[int]:
        self.store["sum"] = self.store.get("sum", 0) + number
        yield self.store["sum"]


@pytest.fixture
def server() -> Iterator[ReplicaServer]:
    found = ReplicaServer(lambda: "127.0.0.1")
    yield found
    found.end()


def reader_of(source: Following, server: ReplicaServer, number: int) -> OffsetReader:
    placed = Placed(server.run, number, 1, source.read, server.serve(number, "stream", 1, is_source=True), True)
    return OffsetReader(source, INT, "stream (program.py:1)", Seal(), placed)


def test_the_key_store_of_an_offset_source_is_in_its_offsets(server: ReplicaServer) -> None:
    source = Following()
    reader = reader_of(source, server, 0)
    offsets, sums = [reader.initialOffset()], []
    for _ in range(4):
        rows, end = reader.read(offsets[-1])
        sums += [row[0] for row in rows]
        offsets.append(end)
    assert sums == [0, 1, 3]
    assert offsets[3] == offsets[4], "there is nothing new"
    again = reader_of(Following(), server, 1)  # another process
    assert [row[0] for row in again.read(offsets[2])[0]] == [3]
    assert [row[0] for row in again.readBetweenOffsets(offsets[0], offsets[3])] == [0, 1, 3]
    again.commit(offsets[3])
    assert source.calls == [("init", 0, 1)], "once in a process"


class Plain(mo.OffsetSource[int]):
    def initial_offset(self) -> dict[str, Any]:
        return {"next": 0}

    def read(self, start: dict[str, Any]) -> tuple[Iterable[int], dict[str, Any]]:
        return [start["next"]], {"next": start["next"] + 1}


def test_the_offsets_of_a_source_without_a_store_are_its_own() -> None:
    reader = OffsetReader(Plain(), INT, "stream (program.py:1)", Seal())
    rows, end = reader.read(reader.initialOffset())
    assert (list(rows), end) == ([(0,)], {"next": 1})
    assert [row[0] for row in reader.readBetweenOffsets({"next": 0}, {"next": 2})] == [0, 1]


def test_an_offset_source_is_called_back(server: ReplicaServer) -> None:
    source = Following()
    reader = reader_of(source, server, 0)
    offset = reader.initialOffset()
    server.note_stored(0)
    server.note_complete(0)
    server.fail("no more")
    server.end_sources()
    assert source.calls == [("init", 0, 1), ("local", 0), ("global", 0), ("error", "no more"), "exit"]
    rows, end = reader.read(offset)
    assert (list(rows), end) == ([], offset), "Spark reads until the query ends"
    reader.commit(offset)
    assert source.calls[-1] == "exit"


class Twice(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:
        return [2 * element]


def test_replicas_above_the_slots_are_reported() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1])
    applied = numbers.apply(Twice(), replicate=8).apply(Twice(), replicate=2)
    (said,) = too_many_replicas((node for node in walk(applied._node) if isinstance(node, ApplyOnDemand)), 4)
    assert "replicate=8 is more than the 4 slots of the session" in said
