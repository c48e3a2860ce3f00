"""A closed channel is the end of the stream: windows and buffers that are open emit what a bounded run emits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import morisot as mo

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded]


class Reading(NamedTuple):
    key: str
    at: int
    n: int


READINGS = [Reading("ab"[number % 2], 7 * number, number) for number in range(9)]
"""The last ones are in windows that no later element completes."""


def timed(readings: mo.Stream[Reading]) -> mo.Stream[Reading]:
    return readings.add_timestamps(lambda r: r.at, delay=1000)


def by_key(readings: mo.Stream[Reading]) -> mo.KeyedStream[str, int]:
    return timed(readings).key_by(lambda r: r.key).map(lambda _, r: r.n)


def in_pairs_of_keys(readings: mo.Stream[Reading]) -> mo.KeyedStream[tuple[str, float], int]:
    """Keys that are not their own identity."""
    return readings.key_by(lambda r: (r.key, r.n % 2 / 2)).map(lambda _, r: r.n)


def tumbling_then_rest_of_pairs(readings: mo.Stream[Reading]) -> Any:
    """Windows of time, and then windows of their results that are incomplete at the end."""
    sums = by_key(readings).window(mo.EventTimeWindow.tumbling(20)).sum()
    return sums.window(mo.CountWindow.tumbling(2, exact=False)).map(lambda found: sorted(found))


class Threes(mo.CustomWindow[int, int]):
    """Three elements, or the rest."""

    def start(self) -> int:
        return 0

    def assign(self, state: int, element: int, time: Any) -> Any:
        return mo.Assigned(state + 1, [state // 3], [state // 3] if state % 3 == 2 else [])

    def end(self, state: int) -> list[int]:
        return [state // 3]


def committed_later(n: int) -> mo.Tx:
    return mo.Tx.commit_after(10_000) if n == 4 else mo.Tx.NONE


PROGRAMS: dict[str, Callable[[mo.Stream[Reading]], Any]] = {
    "windows of windows": tumbling_then_rest_of_pairs,
    "sliding": lambda s: by_key(s).window(mo.EventTimeWindow.sliding(20, 10)).count(),
    "sessions": lambda s: by_key(s).window(mo.EventTimeWindow.session(15)).sum(),
    "processing time": lambda s: by_key(s).window(mo.ProcessingTimeWindow.tumbling("1h")).sum(),
    "rest of a count": lambda s: in_pairs_of_keys(s).window(mo.CountWindow.tumbling(2, exact=False)).sum(),
    "rest of all": lambda s: s.map(lambda r: r.n).window_all(mo.CountWindow.sliding(4, 4, exact=False)).sum(),
    "custom": lambda s: s.key_by(lambda r: r.key).map(lambda _, r: r.n).window(Threes()).sum(),
    "committed at the end": lambda s: by_key(s).window(mo.TransactionWindow(committed_later)).sum(),
    "never committed": lambda s: by_key(s).window(mo.TransactionWindow(lambda n: mo.Tx.NONE)).sum(),
    "reorder": lambda s: timed(s).reorder().map(lambda r: r.n),
    "without a partner": lambda s: (
        timed(s)
        .filter(lambda r: r.n % 3 == 0)
        .left_join(timed(s).filter(lambda r: r.n < 4), lambda r: r.key, lambda r: r.key, within=5)
    ),
    "window join": lambda s: (
        by_key(s).window(mo.EventTimeWindow.tumbling(20)).join(by_key(s).filter(lambda _, n: n % 2 == 0))
    ),
    "unique": lambda s: timed(s).unique_by(lambda r: r.key, within=15).map(lambda r: r.n),
}
IN_MAKE_TEST = ("windows of windows",)


def bounded(program: Callable[[mo.Stream[Reading]], Any]) -> list[Any]:
    ctx = mo.StreamContext(engine="reference")
    inlet, readings = ctx.stream_channel(Reading)
    with inlet:
        inlet.send_all(READINGS)
    return sorted(program(readings).collect(), key=repr)


@pytest.mark.parametrize(
    "name", [name if name in IN_MAKE_TEST else pytest.param(name, marks=pytest.mark.thorough) for name in PROGRAMS]
)
def test_a_closed_channel_completes_what_is_open(spark: SparkSession, name: str) -> None:
    with mo.StreamContext(spark, config=mo.Config(progress=False, parallelism=1)) as ctx:
        inlet, readings = ctx.stream_channel(Reading)
        found = PROGRAMS[name](readings).collect_channel()
        job = ctx.start()
        inlet.send_all(READINGS[:4])
        if name != "processing time":  # its micro-batches never pause
            job.catch_up()
        inlet.send_all(READINGS[4:])
        inlet.close()
        results = sorted(found, key=repr)
        job.wait()
        assert not any(job.metrics()["late"].values())
    assert results == bounded(PROGRAMS[name])
    if name != "never committed":
        assert results


def run(spark: SparkSession, directory: Path, *readings: Reading, ending: str) -> tuple[list[Any], Any]:
    """The results of a job that resumes from its snapshots, with more elements, and ends by close() or stop()."""
    seen: list[Any] = []
    config = mo.Config(progress=False, parallelism=1)
    with mo.StreamContext(spark, config=config, snapshots=mo.Snapshots(directory)) as ctx:
        inlet, stream = ctx.stream_channel(Reading)
        tumbling_then_rest_of_pairs(stream).for_each(lambda key, value: seen.append((key, value)))
        job = ctx.start()
        inlet.send_all(readings)
        if ending == "close":
            inlet.close()
            job.wait()
        else:
            job.catch_up()
            job.stop()
        return sorted(seen, key=repr), job.metrics()


@pytest.mark.thorough
def test_a_resumed_job_neither_repeats_nor_reopens_the_end(spark: SparkSession, tmp_path: Path) -> None:
    stopped, _ = run(spark, tmp_path, *READINGS[:5], ending="stop")
    ended, _ = run(spark, tmp_path, *READINGS[5:], ending="close")
    assert stopped == []
    assert ended == bounded(tumbling_then_rest_of_pairs)
    again, _ = run(spark, tmp_path, ending="close")
    assert again == []
    after, metrics = run(spark, tmp_path, Reading("a", 1000, 1), ending="close")
    assert after == []
    assert sum(metrics["late"].values()) == 1
