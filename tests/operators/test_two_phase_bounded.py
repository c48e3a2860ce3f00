"""Sinks that commit after the snapshot, for bounded jobs: all are prepared, then all are committed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.runtime.faults import FaultPoint, Moment
from tests.run.test_two_phase_on_spark import SHIPPED, Database


class Listing(mo.Sink[int], commit="after_snapshot"):
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def prepare(self, batch: int, elements: Sequence[int]) -> None:
        self.calls.append(("prepare", batch, list(elements)))
        if 13 in elements:
            raise ValueError("13")

    def commit(self, batch: int) -> None:
        self.calls.append(("commit", batch))

    def abort(self, batch: int) -> None:
        self.calls.append(("abort", batch))


class Wide(mo.Sink[int], commit="after_snapshot", parallel=True):
    def __init__(self) -> None:
        self.committed: list[int] = []
        self.attempts: set[int] = set()

    def prepare(self, batch: int, elements: Sequence[int], part: mo.SinkPart) -> tuple[mo.SinkPart, list[int]]:
        return part, list(elements)

    def commit(self, batch: int, receipts: Sequence[tuple[mo.SinkPart, list[int]]]) -> None:
        assert len({part.instance for part, _ in receipts}) == len(receipts)
        self.committed += [element for _, elements in receipts for element in elements]


def test_a_bounded_stream_is_one_batch(ctx: mo.StreamContext) -> None:
    sink, wide = Listing(), Wide()
    numbers = ctx.stream_iter([1, 2, 3])
    numbers.write_to(sink)
    numbers.map(lambda n: n * 10).write_to(wide)
    ctx.execute()
    assert sink.calls == [("prepare", 0, [1, 2, 3]), ("commit", 0)]
    assert sorted(wide.committed) == [10, 20, 30]


def test_a_batch_that_cannot_be_prepared_is_aborted(ctx: mo.StreamContext) -> None:
    sink = Listing()
    ctx.stream_iter([13]).write_to(sink)
    with pytest.raises(mo.SinkError, match="Listing.prepare of batch 0 failed: ValueError: 13"):
        ctx.execute()
    assert sink.calls == [("prepare", 0, [13]), ("abort", 0)]


KEPT = {("directory", "before", "commit entry"), ("sqlite", "after", "commit")}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("kind", "moment", "point"),
    [
        pytest.param(k, m, p, marks=() if (k, m, p) in KEPT else pytest.mark.thorough)
        for k in SHIPPED
        for m in ("before", "after")
        for p in ("prepare", "commit entry", "commit", "log append")
    ],
)
def test_a_fault_and_a_new_start(
    kind: str, moment: Moment, point: FaultPoint, spark: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    conninfo = request.getfixturevalue("postgres") if kind == "postgresql" else ""
    database = Database(kind, tmp_path, conninfo)

    def run() -> None:
        with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=mo.Snapshots(tmp_path / "s")) as ctx:
            ctx.stream_iter(range(8)).map(lambda n: n).write_to(database.sink())
            ctx.execute()

    with mo.testing.fault(moment, point), pytest.raises(mo.testing.InjectedFault):
        run()
    for _ in range(2):  # a finished job delivers nothing again
        run()
        assert database.numbers() == list(range(8))
