"""Bounded streams combined with an unbounded one: history and new elements, on every engine."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.driver.run import Drive
from tests.driver.spark_runs import check_claims
from tests.operators.engines import Runner

ENGINES = (
    "reference",
    pytest.param("spark", marks=pytest.mark.jvm),
    "driver",
    pytest.param("unbounded", marks=pytest.mark.jvm),
)


class Event(NamedTuple):
    key: str
    at: int


def events(*pairs: tuple[str, int]) -> list[Event]:
    return [Event(key, at) for key, at in pairs]


BEFORE = events(("a", 5), ("b", 3), ("a", 12), ("c", 18))
NOW = [events(("a", 21), ("b", 14)), events(("c", 19), ("a", 33)), events(("b", 41)), events(("z", 900))]
OUT_OF_ORDER = 10


def beside(live: Any, elements: list[Any], **types: Any) -> Any:
    """A bounded stream in the same program."""
    return live._context.stream_iter(elements, **types)


def timed(stream: Any) -> Any:
    return stream.add_timestamps(lambda e: e.at, delay=OUT_OF_ORDER)


def by_key(stream: Any) -> Any:
    return timed(stream).group_by(lambda e: e.key)


WINDOW = mo.EventTimeWindow.tumbling(10)
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "merge": lambda live: beside(live, BEFORE).merge(live).map(lambda e: e.at),
    "merge behind": lambda live: live.merge(beside(live, BEFORE)).map(lambda e: e.at),
    "merge of three": lambda live: live.merge(beside(live, BEFORE), live, beside(live, BEFORE[:1])).map(lambda e: e.at),
    "merge keyed": lambda live: (
        live.group_by(lambda e: e.key).merge(beside(live, BEFORE).group_by(lambda e: e.key)).unkey()
    ),
    "running": lambda live: live.merge(beside(live, BEFORE)).group_by_sum(lambda e: e.key, lambda e: e.at),
    "windows": lambda live: timed(beside(live, BEFORE)).merge(timed(live)).window_all(WINDOW).sum(lambda e: e.at),
    "windows with nothing before": lambda live: (
        timed(beside(live, BEFORE).filter(lambda e: e.at < 0)).merge(timed(live)).window_all(WINDOW).sum(lambda e: e.at)
    ),
    "time behind": lambda live: timed(beside(live, BEFORE).merge(live)).reorder().map(str),
    "reorder": lambda live: timed(live).merge(timed(beside(live, BEFORE))).reorder().rich_map(0, numbered),
    "zip": lambda live: live.zip(beside(live, list("xyz"))).map(str),
    "zip from the table": lambda live: beside(live, list("stuvwxyz")).zip(live.map(lambda e: e.at)).map(str),
    "window join": lambda live: by_key(live).window(WINDOW).join(by_key(beside(live, BEFORE + NOW[0]))).map(pair),
    "join within": lambda live: by_key(live).join(by_key(beside(live, BEFORE)), within=9).map(pair),
    "left join within": lambda live: by_key(live).left_join(by_key(beside(live, BEFORE)), within=9).map(pair),
    "outer join within": lambda live: by_key(beside(live, BEFORE)).outer_join(by_key(live), within=9).map(pair),
    "interval join": lambda live: timed(beside(live, BEFORE)).interval_join(timed(live), 2, 9).map(str),
    "twice": lambda live: (
        live.merge(before := beside(live, BEFORE)).map(lambda e: e.at).merge(live.merge(before).map(lambda e: -e.at))
    ),
    "table and stream": lambda live: (
        live.merge(numbers := beside(live, BEFORE)).join(numbers, lambda e: e.key, lambda e: e.key).map(pair)
    ),
    "always None": lambda live: live.map(lambda e: None).merge(beside(live, [None])).map(str),
}


def numbered(n: int, event: Any) -> tuple[int, Any]:
    return n + 1, f"{n}: {event}"


def pair(key: Any, both: Any) -> str:
    return f"{key}: {both}"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_answer_is_that_of_bounded_input(
    name: str, engine: Any, request: pytest.FixtureRequest, chance: random.Random
) -> None:
    """The last element in time is left out: the watermark never passes it."""
    expected = mo.testing.run(PROGRAMS[name], NOW)
    if engine == "driver":
        drive = Drive(PROGRAMS[name], [NOW], chance)
        found = drive.run()
        check_claims(request.node.nodeid, [drive])
    else:
        spark = None if engine == "reference" else request.getfixturevalue("spark")
        found = mo.testing.observe(PROGRAMS[name], NOW, engine=engine, spark=spark)
    assert sorted(map(repr, found.results)) == sorted(repr(each) for each in expected if shown(each, name, engine))
    assert not any(found.metrics.get("late", {}).values())


def shown(result: Any, name: str, engine: str) -> bool:
    waits = any(word in name for word in ("window", "reorder", "time", "within"))
    return not (engine in ("driver", "unbounded") and waits and ("900" in str(result)))


@pytest.mark.parametrize("name", ["reorder", "left join within"])
def test_time_goes_on_after_a_restart(name: str, unbounded_runner: Runner) -> None:
    """The bounded elements came before it, and do not delay the watermark."""
    found = unbounded_runner.observe(PROGRAMS[name], [NOW[0], mo.testing.CRASH, *NOW[1:]])
    expected = mo.testing.run(PROGRAMS[name], NOW)
    assert sorted(map(repr, found.results)) == sorted(repr(each) for each in expected if "900" not in str(each))


def put(directory: Path, number: int, *lines: str) -> None:
    directory.mkdir(exist_ok=True)
    file = directory / f"{number}.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (number + 1, number + 1))


@pytest.mark.jvm
def test_what_was_there_at_the_first_start_is_read_once(spark: Any, tmp_path: Path) -> None:
    """A job that resumes from a snapshot has the bounded elements that it had, each once."""
    put(tmp_path / "in", 0, "new")

    def run(before: list[str], **settings: Any) -> list[str]:
        put(tmp_path / "old", 0, *before)
        seen: list[str] = []
        snapshots = mo.Snapshots(tmp_path / "saves", **settings)
        with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
            live = ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=1)
            live.merge(ctx.stream_file(tmp_path / "old")).for_each(seen.append)
            job = ctx.start()
            job.catch_up()
            job.stop()
            assert job.exception() is None
        return sorted(seen)

    assert run(["old"]) == ["new", "old"]
    put(tmp_path / "in", 1, "newer")
    assert run(["old", "another"]) == ["newer"]
    assert run(["old", "another"], restart=0) == ["newer"]
    assert run(["old", "another"], restart=None) == ["another", "new", "newer", "old"]


@pytest.mark.jvm
def test_a_closed_channel_does_not_end_a_job_before_the_bounded_elements_came(spark_ctx: mo.StreamContext) -> None:
    channel, live = spark_ctx.stream_channel(int)
    results = live.merge(spark_ctx.stream_iter([1, 2])).collect_channel()
    channel.close()
    job = spark_ctx.start()
    assert sorted(results) == [1, 2]
    assert job.wait(60)


@pytest.mark.jvm
def test_explain_shows_it(spark_ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]) -> None:
    spark_ctx.stream_rate(1).merge(spark_ctx.stream_iter([1])).explain(detail=True)
    assert "Union" in capsys.readouterr().out
