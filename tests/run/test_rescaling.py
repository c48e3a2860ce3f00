"""A checkpoint with another number of state partitions, without Spark: what is noted, refused and finished."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.checkpoints import rescaling
from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.emit.stateful.keyed_state import buckets_of, spread_buckets
from morisot.engines.spark.internals.streaming import NotRepartitioned, state_partition
from morisot.errors import Location
from morisot.plan.analysis.fingerprint import describe
from morisot.plan.nodes.sink import ForEach
from morisot.plan.nodes.source import StreamFile
from morisot.types.element import STR
from tests.run.test_checkpoint import put

SPARK: Any = None
"""The session, which is only passed on."""


@dataclasses.dataclass
class Query:
    """The files of a query with a state, as Spark writes them."""

    directory: Path

    def start(self, number: int, partitions: int) -> None:
        conf = {"spark.sql.shuffle.partitions": str(partitions)}
        put(self.directory / "offsets" / str(number), {"batchWatermarkMs": 0, "conf": conf}, {"logOffset": number})
        put(self.directory / "state" / "0" / "0" / f"{number + 1}.changelog")

    def commit(self, number: int) -> None:
        put(self.directory / "commits" / str(number), {"nextBatchWatermarkMs": 0})


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Checkpoint, Query]:
    """Three committed micro-batches with two state partitions."""
    location = Location("program.py", 3)
    source = StreamFile(str(tmp_path), unbounded=True, type=STR, location=location)
    sink = ForEach(source, None, type=STR, location=location)  # type: ignore[arg-type]
    made, query = Checkpoint({sink: tmp_path / "saves"}, keep=100), Query(tmp_path / "saves" / "spark")
    made.begin({**describe(source), "settings": {"all buckets": 96}})
    for number in range(3):
        query.start(number, 2)
        query.commit(number)
    return made, query


@pytest.fixture
def repartition(monkeypatch: pytest.MonkeyPatch, saved: tuple[Checkpoint, Query]) -> list[int]:
    """The numbers of partitions that Spark was asked for. It adds a micro-batch."""
    asked: list[int] = []
    _, query = saved

    def change(_: Any, __: Path, partitions: int) -> None:
        asked.append(partitions)
        started = max(int(file.name) for file in (query.directory / "offsets").glob("[0-9]*"))
        number = started if not (query.directory / "commits" / str(started)).exists() else started + 1
        query.start(number, partitions)
        query.commit(number)

    monkeypatch.setattr(rescaling, "repartition", change)
    return asked


def named(*titles: str) -> Callable[[], list[str]]:
    return lambda: list(titles)


def test_a_change_is_a_micro_batch_of_its_own(saved: tuple[Checkpoint, Query], repartition: list[int]) -> None:
    checkpoint, query = saved
    assert checkpoint.rescale(SPARK, 5, named("rich_map"))
    assert checkpoint.rescale(SPARK, 5, named("rich_map"))
    assert repartition == [5]
    assert checkpoint.rescaling.partitions() == 5
    assert checkpoint.completed() == [0, 1, 2], "no sink gets the one that was added"
    assert checkpoint.newest() == (3, 2)
    query.start(4, 5)
    query.commit(4)
    assert checkpoint.completed() == [0, 1, 2, 4]
    assert checkpoint.settings({}) == {"all buckets": 96}


def test_an_open_micro_batch_is_finished_first(saved: tuple[Checkpoint, Query], repartition: list[int]) -> None:
    checkpoint, query = saved
    query.start(3, 2)
    assert not checkpoint.rescale(SPARK, 5, named())
    assert repartition == []
    query.commit(3)
    assert checkpoint.rescale(SPARK, 5, named())
    assert checkpoint.completed() == [0, 1, 2, 3]


def test_an_interrupted_change_is_finished(saved: tuple[Checkpoint, Query], repartition: list[int]) -> None:
    checkpoint, query = saved
    with pytest.MonkeyPatch.context() as patched:

        def killed(_: Any, __: Path, partitions: int) -> None:
            query.start(3, partitions)
            raise KeyboardInterrupt

        patched.setattr(rescaling, "repartition", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.rescale(SPARK, 5, named())
    assert checkpoint.rescale(SPARK, 4, named())
    assert repartition == [5, 4], "Spark finishes the first one before another"
    assert checkpoint.completed() == [0, 1, 2]


def test_what_spark_refuses_is_named(saved: tuple[Checkpoint, Query], monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, _ = saved

    def refuse(*_: Any) -> None:
        raise NotRepartitioned("Unsupported stateful operator x.")

    monkeypatch.setattr(rescaling, "repartition", refuse)
    with pytest.raises(mo.SnapshotError, match=r"from 2 to 5 for the state of join \(p.py:4\) and y: Unsupported"):
        checkpoint.rescale(SPARK, 5, named("join (p.py:4)", "y"))
    assert checkpoint.rescaling.added == []
    assert checkpoint.completed() == [0, 1, 2]


def test_a_restored_snapshot_has_its_own_micro_batches(saved: tuple[Checkpoint, Query], repartition: list[int]) -> None:
    checkpoint, query = saved
    checkpoint.rescale(SPARK, 5, named())
    for file in ("offsets/3", "commits/3"):
        (query.directory / file).unlink()
    checkpoint.rescaling.forget_after(2)
    query.start(3, 2)
    query.commit(3)
    assert checkpoint.completed() == [0, 1, 2, 3]
    assert repartition == [5]


@pytest.mark.parametrize(("settings", "buckets"), [({"parallelism": 3, "buckets": 4}, 12), ({"all buckets": 64}, 64)])
def test_numbers_of_buckets(settings: dict[str, int], buckets: int) -> None:
    assert buckets_of(settings) == buckets


@pytest.mark.parametrize("partitions", [1, 2, 3, 4, 5, 6, 8, 10])
def test_replicas_are_spread_over_state_partitions(partitions: int) -> None:
    used = [state_partition(bucket, partitions) for bucket in spread_buckets(2 * partitions)]
    assert used == [*range(partitions)] * 2
