"""Stopping and failing while a streaming query starts: nothing runs afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import morisot as mo
from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.overrides import OVERRIDES

SECONDS = 60


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """A hold on the restart of a query: its second plan waits until the test lets it go."""
    hold = Held(BatchRunner.planned_query)
    monkeypatch.setattr(BatchRunner, "planned_query", lambda *args, **options: hold.planned(*args, **options))
    yield hold
    hold.goes.set()


class Held:
    def __init__(self, planned: Callable[..., Any]) -> None:
        self._planned = planned
        self._plans = 0
        self.reached = threading.Event()
        self.goes = threading.Event()

    def planned(self, *args: Any, **options: Any) -> Any:
        self._plans += 1
        if self._plans == 2:
            self.reached.set()
            assert self.goes.wait(SECONDS)
        return self._planned(*args, **options)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[StreamingQuery]:
    """The queries that Spark has started."""
    queries: list[StreamingQuery] = []
    begin = DataStreamWriter.start

    def start(*args: Any, **options: Any) -> StreamingQuery:
        queries.append(begin(*args, **options))
        return queries[-1]

    monkeypatch.setattr(DataStreamWriter, "start", start)
    return queries


def test_no_query_starts_once_a_stop_was_requested(
    spark: Any, held: Held, started: list[StreamingQuery], tmp_path: Path
) -> None:
    """The column form fails on a value, and the job is stopped while its query is planned again."""
    (tmp_path / "a.txt").write_text(f"{2**62}\n")
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        numbers = ctx.stream_file(tmp_path, unbounded=True).map(lambda t: int(t) * 4 - int(t) * 3)
        results = numbers.collect_channel()
        job = ctx.start()
        assert held.reached.wait(SECONDS)
        stopping = threading.Thread(target=job.stop)
        stopping.start()
        assert list(results) == [], "it is closed as soon as the stop was requested"
        held.goes.set()
        stopping.join(SECONDS)
        assert not stopping.is_alive()
        assert not job.running
        assert job.exception() is None
    assert [query.isActive for query in started] == [False]
    for thread in threading.enumerate():
        if thread.name == "morisot-collect_channel":
            thread.join(SECONDS)
            assert not thread.is_alive()


def test_a_query_is_stopped_if_what_follows_its_start_fails(
    spark: Any, started: list[StreamingQuery], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(query: StreamingQuery) -> dict[str, Any]:
        raise RuntimeError("the connection broke")

    monkeypatch.setattr(StreamingQuery, "status", property(status))
    saved = mo.Snapshots(tmp_path / "saved", keep=1000)  # so many that the start waits for the query's sources
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=saved) as ctx:
        ctx.stream_rate(10).for_each(lambda _: None)
        with pytest.raises(RuntimeError, match="the connection broke"):
            ctx.start()
    assert [query.isActive for query in started] == [False]


def test_the_micro_batch_that_runs_when_a_supervised_program_ends_is_its_last_snapshot(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OVERRIDES, "supervised", True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("1\n")
    runs = threading.Event()

    def slowly(_: str) -> None:
        runs.set()
        time.sleep(1)

    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=tmp_path / "saves") as ctx:
        ctx.stream_file(tmp_path / "in", unbounded=True).for_each(slowly)
        job = ctx.start()
        assert runs.wait(SECONDS)
        job.stop()
        assert [snapshot.id for snapshot in job.snapshots()] == [0]
