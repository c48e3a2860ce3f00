"""Sinks that commit after the snapshot, on Spark: a fault in the job, a new start, and every element once."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.runtime.faults import FaultPoint, Moment
from tests.run.test_shipped_sinks import lines_in

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded]
FILES = 4


def write_files(directory: Path) -> list[int]:
    """Files that are read one after the other, and their numbers."""
    (directory / "in").mkdir()
    for number in range(FILES):
        file = directory / "in" / f"{number}.txt"
        file.write_text(f"{2 * number}\n{2 * number + 1}\n")
        os.utime(file, (number + 1, number + 1))
    return list(range(2 * FILES))


class Recorded(mo.Sink[int], commit="after_snapshot"):
    """Notes its calls in a file."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "calls"

    def note(self, *words: object) -> None:
        with self.file.open("a") as calls:
            calls.write(" ".join(map(str, words)) + "\n")

    def on_init(self, place: mo.Replica) -> None:
        self.note("init", place.instance, place.instances)

    def prepare(self, batch: int, elements: Sequence[int]) -> None:
        self.note("prepare", batch, *elements)

    def commit(self, batch: int) -> None:
        self.note("commit", batch)

    def abort(self, batch: int) -> None:
        self.note("abort", batch)

    def on_exit(self) -> None:
        self.note("exit")


@contextlib.contextmanager
def following(
    spark: Any, directory: Path, sink: mo.Sink[Any], *more: mo.Sink[Any], retries: int = 0, **snapshots: Any
) -> Iterator[Any]:
    saves = mo.Snapshots(directory / "saves", **snapshots) if snapshots.get("restart", "") != "off" else None
    with mo.StreamContext(spark, config=mo.Config(progress=False, max_retries=retries), snapshots=saves) as ctx:
        numbers = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1).map(lambda line: int(line))
        for each in (sink, *more):
            numbers.write_to(each)
        job = ctx.start()
        try:
            yield job
        finally:
            job.stop()


def test_a_batch_is_committed_when_its_snapshot_is_complete(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    sink = Recorded(tmp_path)
    with following(spark, tmp_path, sink) as job:
        job.catch_up()
        calls = sink.file.read_text().splitlines()
    assert calls[0] == "init 0 1"
    assert calls[1:] == [
        call for batch in range(FILES) for call in (f"prepare {batch} {2 * batch} {2 * batch + 1}", f"commit {batch}")
    ]
    assert job.metrics()["elements_out"] == 2 * FILES
    with following(spark, tmp_path, sink) as job:
        job.catch_up()
    assert sink.file.read_text().splitlines()[len(calls) :] == ["exit", "init 0 1", "exit"]


@pytest.mark.parametrize("error", [OSError("no space")])
def test_a_commit_that_fails_is_repeated_by_the_next_start(spark: Any, tmp_path: Path, error: Exception) -> None:
    write_files(tmp_path)

    class Failing(Recorded):
        broken = True

        def commit(self, batch: int) -> None:
            if batch == 1 and self.broken:
                raise error
            super().commit(batch)

    sink = Failing(tmp_path)
    with pytest.raises(mo.SinkError, match=r"Failing.commit of batch 1 failed: OSError: no space"):  # noqa: SIM117
        with following(spark, tmp_path, sink) as job:
            job.wait(120)
    sink.broken = False
    with following(spark, tmp_path, sink) as job:
        job.catch_up()
    calls = [call.split()[:2] for call in sink.file.read_text().splitlines()]
    assert [int(number) for call, number, *_ in filter(lambda c: c[0] == "commit", calls)] == [0, 1, 2, 3]


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["prepare", "commit"])
def test_a_call_that_fails_once_is_retried(spark: Any, tmp_path: Path, method: str) -> None:
    write_files(tmp_path)

    class Unsteady(Recorded):
        def note(self, *words: object) -> None:
            if words[:2] == (method, 1) and not (tmp_path / "failed").exists():
                (tmp_path / "failed").touch()
                raise OSError("the connection was lost")
            super().note(*words)

    sink = Unsteady(tmp_path)
    with following(spark, tmp_path, sink, retries=1) as job:
        job.catch_up()
    calls = [call.split()[:2] for call in sink.file.read_text().splitlines()]
    assert [int(call[1]) for call in calls if call[0] == "commit"] == [0, 1, 2, 3]


class Undoing(Recorded):
    def roll_back(self, batch: int) -> None:
        self.note("roll_back", batch)


def test_a_sink_goes_back_with_the_job_or_refuses(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    sink = Undoing(tmp_path)
    with following(spark, tmp_path, sink) as job:
        job.catch_up()
    refused = pytest.raises(mo.SinkError, match="has committed batch 3, and the job starts from the snapshot 1")
    with monkeypatch.context() as patch, refused:
        patch.setattr(Undoing, "roll_back", mo.Sink.roll_back)
        with following(spark, tmp_path, sink, restart=1):
            pass
    sink.file.unlink()
    with following(spark, tmp_path, sink, restart=1) as job:
        assert [each.id for each in job.snapshots()][:2] == [0, 1], "the refused start has removed nothing"
        job.catch_up()
    assert sink.file.read_text().splitlines()[:3] == ["init 0 1", "roll_back 1", "prepare 2 4 5"]


def test_one_sink_cannot_take_two_streams(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    sink = Recorded(tmp_path)
    with pytest.raises(mo.PlanError, match="two streams are written to one Recorded"):  # noqa: SIM117
        with following(spark, tmp_path, sink, sink):
            pass


class Database:
    """One of the shipped sinks on a directory, and the numbers that it has."""

    def __init__(self, kind: str, directory: Path, conninfo: str = "") -> None:
        self.kind = kind
        self.path = directory / "out"
        self.conninfo = conninfo
        self.table = f"t{uuid.uuid4().hex}"
        if kind == "postgresql":
            with self.server() as server:
                server.execute(f"CREATE TABLE {self.table} (n bigint)")

    def server(self) -> Any:
        import psycopg

        return psycopg.connect(self.conninfo)

    def sink(self) -> mo.Sink[int]:
        if self.kind == "directory":
            return mo.sinks.Directory(self.path)
        if self.kind == "sqlite":
            return mo.sinks.SQLite(self.path, "numbers", ["n"])
        return mo.sinks.PostgreSQL(self.conninfo, self.table, ["n"])

    def numbers(self) -> list[int]:
        if self.kind == "directory":
            return sorted(int(line) for line in lines_in(self.path))
        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self.path)) as database:
                return sorted(n for (n,) in database.execute("SELECT n FROM numbers"))
        with self.server() as server:
            return sorted(n for (n,) in server.execute(f"SELECT n FROM {self.table}").fetchall())


POINTS: tuple[FaultPoint, ...] = ("prepare", "commit entry", "commit", "abort", "log append")
SHIPPED = ("directory", "sqlite", "postgresql")
KEPT = {("directory", "after", "prepare"), ("sqlite", "after", "commit")}


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    kind: str = request.param
    return Database(kind, tmp_path, request.getfixturevalue("postgres") if kind == "postgresql" else "")


@pytest.mark.parametrize(
    ("database", "moment", "point"),
    [
        pytest.param(k, m, p, marks=() if (k, m, p) in KEPT else pytest.mark.thorough)
        for k in SHIPPED
        for m in ("before", "after")
        for p in POINTS
    ],
    indirect=["database"],
)
def test_a_fault_and_a_new_start(
    database: Database, moment: Moment, point: FaultPoint, spark: Any, tmp_path: Path
) -> None:
    """An abort follows a prepared micro-batch that is not complete, so there are two faults."""
    expected = write_files(tmp_path)
    before: list[tuple[Moment, FaultPoint]] = [("after", "prepare")] if point == "abort" else []
    for now, at in (*before, (moment, point)):
        with mo.testing.fault(now, at, number=1) as injected, pytest.raises(mo.testing.InjectedFault):  # noqa: SIM117
            with following(spark, tmp_path, database.sink()) as job:
                job.wait(120)
        assert injected.times == 1
        assert len(database.numbers()) < len(expected)
    with following(spark, tmp_path, database.sink()) as job:
        job.catch_up()
    assert database.numbers() == expected
