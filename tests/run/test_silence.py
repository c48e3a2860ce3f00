"""Which inputs are silent and what they are told, without a JVM: reports of a query, and the clock."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from morisot.engines.spark.streaming.idle_inputs import Silence
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
        self.silence = Silence([timestamps(each) for each in idle], directory, now=0.0)

    def batch(self, begin: float, end: float, *marks: int | None) -> None:
        """A micro-batch in which some inputs gave elements."""
        start = datetime.datetime.fromtimestamp(begin, datetime.UTC)
        observed = {f"time-{n}": {"elements": mark is not None, "mark": mark} for n, mark in enumerate(marks)}
        report = {"batchDuration": int((end - begin) * 1000), "observedMetrics": observed}
        self.silence.note({"timestamp": start.isoformat(), **report})

    def told(self, number: int) -> list[int]:
        files = sorted((self._directory / str(number)).iterdir())
        return [int(file.read_text()) for file in files]


def test_a_silent_input_is_told_how_far_the_others_are(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 5000)
    query.batch(0, 1, 100, 40)
    query.batch(3, 4, 200, None)
    query.silence.tell(**BUSY, now=4)
    assert query.told(1) == []
    query.batch(6, 7, 300, None)
    query.silence.tell(**BUSY, now=7)
    query.silence.tell(**BUSY, now=8.5)
    assert query.told(1) == [300]
    assert query.silence.silent == [f"add_timestamps ({HERE})"]
    query.batch(8, 9, 400, None)
    query.silence.tell(**BUSY, now=9)
    assert query.told(0) == []
    assert query.told(1) == [300, 400]


def test_a_long_micro_batch_makes_nobody_silent(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 5000)
    query.batch(0, 60, 100, 40)
    query.silence.tell(**BUSY, now=60)
    query.batch(60, 90, 200, None)
    query.silence.tell(**BUSY, now=90)
    assert query.told(1) == []
    query.silence.tell(**WAITING, now=91)
    assert query.told(1) == [200]


def test_an_input_that_speaks_again_counts_again(tmp_path: Path) -> None:
    query = Query(tmp_path, 1000, 1000)
    query.batch(0, 1, 100, None)
    query.batch(1, 2, 200, None)
    query.silence.tell(**BUSY, now=2)
    assert query.told(1) == [200]
    query.batch(2, 3, 300, 220)
    query.silence.tell(**WAITING, now=3.5)
    assert (query.told(0), query.told(1)) == ([], [200])
    assert query.silence.silent == []
    query.silence.tell(**WAITING, now=4.5)  # now both are silent, and the one that is furthest counts
    assert (query.told(0), query.told(1)) == ([], [200, 300])


def test_one_of_which_nothing_is_known_holds_all_up(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 1000, None)
    query.batch(5, 6, 100, None, None)
    query.silence.tell(**WAITING, now=7)
    assert query.told(1) == []
    query.batch(7, 8, None, None, 50)
    query.silence.tell(**WAITING, now=9)
    assert query.told(1) == [50]


def test_few_files_stay_and_none_after_a_restart(tmp_path: Path) -> None:
    query = Query(tmp_path, None, 1000)
    for second in range(2, 12):
        query.batch(second, second + 0.5, second, None)
        query.silence.tell(**WAITING, now=second + 0.9)
    assert query.told(1) == [9, 10, 11]
    Query(tmp_path, None, 1000)
    assert query.told(1) == []


def test_without_a_word_of_the_user_nobody_is_watched(tmp_path: Path) -> None:
    for idle in ((None, None), (1000,)):
        query = Query(tmp_path, *idle)
        query.batch(0, 1, *(1 for _ in idle))
        query.silence.tell(**WAITING, now=100)
        assert query.told(0) == []
