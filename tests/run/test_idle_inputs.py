"""Which inputs are idle and how they are advanced, without a JVM: reports of a query, and the clock."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from morisot.engines.spark.streaming.idle_inputs import IdleInputs
from morisot.errors import Location
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.testing import StreamBatches
from morisot.plan.nodes.time import AddTimestamps
from morisot.types.element import INT

HERE = Location(__file__, 1)
WAITING: dict[str, Any] = {"isDataAvailable": False, "isTriggerActive": False, "message": "Waiting for data to arrive"}
BUSY: dict[str, Any] = {"isDataAvailable": True, "isTriggerActive": True, "message": "Processing new data"}


def timestamps(idle: int | None) -> AddTimestamps:
    source = StreamBatches(directory="", type=INT, location=HERE)
    closure = Closure(lambda n: n, HERE, "add_timestamps")
    return AddTimestamps(source, closure, delay=0, kind=INT, idle=idle, type=INT, location=HERE)


class Query:
    """What a query with some inputs says of itself."""

    def __init__(self, directory: Path, *idle: int | None) -> None:
        self._directory = directory
        for number in range(len(idle)):
            (directory / str(number)).mkdir(exist_ok=True)
        self.inputs = IdleInputs([timestamps(each) for each in idle], directory, now=0.0)

    def batch(self, begin: float, end: float, *marks: int | None) -> None:
        """A micro-batch in which some inputs gave elements."""
        start = datetime.datetime.fromtimestamp(begin, datetime.UTC)
        observed = {f"time-{n}": {"elements": mark is not None, "mark": mark} for n, mark in enumerate(marks)}
        report = {"batchDuration": int((end - begin) * 1000), "observedMetrics": observed}
        self.inputs.note({"timestamp": start.isoformat(), **report})

    def written(self, number: int) -> list[int]:
        files = sorted((self._directory / str(number)).iterdir())
        return [int(file.read_text()) for file in files]


def test_an_idle_input_is_advanced_to_the_others(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 5000)
    query.batch(0, 1, 100, 40)
    query.batch(3, 4, 200, None)
    query.inputs.advance(**BUSY, now=4)
    assert query.written(1) == []
    query.batch(6, 7, 300, None)
    query.inputs.advance(**BUSY, now=7)
    query.inputs.advance(**BUSY, now=8.5)
    assert query.written(1) == [300]
    assert query.inputs.idle == [f"add_timestamps ({HERE})"]
    query.batch(8, 9, 400, None)
    query.inputs.advance(**BUSY, now=9)
    assert query.written(0) == []
    assert query.written(1) == [300, 400]


def test_a_long_micro_batch_makes_no_input_idle(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 5000)
    query.batch(0, 60, 100, 40)
    query.inputs.advance(**BUSY, now=60)
    query.batch(60, 90, 200, None)
    query.inputs.advance(**BUSY, now=90)
    assert query.written(1) == []
    query.inputs.advance(**WAITING, now=91)
    assert query.written(1) == [200]


def test_an_input_with_new_elements_is_not_idle(tmp_path: Path) -> None:
    query = Query(tmp_path, 1000, 1000)
    query.batch(0, 1, 100, None)
    query.batch(1, 2, 200, None)
    query.inputs.advance(**BUSY, now=2)
    assert query.written(1) == [200]
    query.batch(2, 3, 300, 220)
    query.inputs.advance(**WAITING, now=3.5)
    assert (query.written(0), query.written(1)) == ([], [200])
    assert query.inputs.idle == []
    query.inputs.advance(**WAITING, now=4.5)  # now both are idle, and the latest watermark counts
    assert (query.written(0), query.written(1)) == ([], [200, 300])


def test_an_input_without_a_watermark_holds_up_all(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 1000, None)
    query.batch(5, 6, 100, None, None)
    query.inputs.advance(**WAITING, now=7)
    assert query.written(1) == []
    query.batch(7, 8, None, None, 50)
    query.inputs.advance(**WAITING, now=9)
    assert query.written(1) == [50]


def test_few_files_stay_and_none_after_a_restart(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 1000)
    for second in range(2, 12):
        query.batch(second, second + 0.5, second, None)
        query.inputs.advance(**WAITING, now=second + 0.9)
    assert query.written(1) == [9, 10, 11]
    Query(tmp_path, None, 1000)
    assert query.written(1) == []


def test_without_a_timeout_or_another_input_nothing_is_advanced(tmp_path: Path) -> None:
    for idle in ((None, None), (1000,)):
        query = Query(tmp_path, *idle)
        query.batch(0, 1, *(1 for _ in idle))
        query.inputs.advance(**WAITING, now=100)
        assert query.written(0) == []
