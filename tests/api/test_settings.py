"""The arguments of StreamContext, and durations."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.types.element import DATETIME, INT
from morisot.types.moments import microseconds, shown


@pytest.mark.parametrize(
    ("arguments", "said", "advice"),
    [
        ({"spark": "local[2]"}, "spark='local[2]' is not a SparkSession", "config=mo.Config(master='local[2]')"),
        ({"spark": mo.Config()}, "is not a SparkSession", "StreamContext(config=…)"),
        ({"spark": mo.Snapshots("s")}, "is not a SparkSession", "StreamContext(snapshots=…)"),
        ({"spark": 3}, "spark=3 is not a SparkSession", "pass a SparkSession, or nothing"),
        ({"config": "a.toml"}, "config='a.toml' is not a configuration", "StreamContext.from_file('a.toml')"),
        ({"config": 3}, "config=3 is not a configuration", "a dict of settings"),
        ({"config": {"paralellism": 2}}, "unknown setting 'paralellism'", "did you mean 'parallelism'?"),
        ({"config": {"spark.ui": 1}}, "unknown setting 'spark.ui'", "config={'spark': {'spark.ui': …}}"),
        ({"config": {1: 2}}, "unknown setting 1", "known are master"),
        ({"snapshots": 3}, "snapshots=3 does not say where", "the path of a directory"),
        ({"snapshots": ""}, "snapshots='' does not say where", "the path of a directory"),
    ],
)
def test_wrong_arguments_of_a_context(arguments: dict[str, Any], said: str, advice: str) -> None:
    with pytest.raises(mo.ConfigError) as caught:
        mo.StreamContext(**arguments)
    first, _, remedy = str(caught.value).partition("\n  What to do: ")
    assert said in first
    assert "test_settings.py:" in first
    assert advice in remedy


def test_a_path_is_a_directory_of_snapshots(tmp_path: Path) -> None:
    for path in ("saves", tmp_path / "saves"):
        ctx = mo.StreamContext(engine="reference", snapshots=path)
        assert ctx._snapshots == mo.Snapshots(str(path))


def test_a_dict_has_settings_by_name() -> None:
    ctx = mo.StreamContext(config={"engine": "reference", "parallelism": 3})
    assert ctx.config == mo.Config(engine="reference", parallelism=3)
    with pytest.raises(mo.ConfigError, match="engine is 'flink'"):
        mo.StreamContext(config={"engine": "flink"})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10 seconds", 10), ("1 second", 1), ("1 minute", 60), ("2 Hours", 7200), ("1 day", 86_400), ("1.5 min", 90)],
)
def test_durations_in_words(text: str, seconds: int) -> None:
    assert microseconds(text) == seconds * 10**6


@pytest.mark.parametrize("text", ["10 parsecs", "ten seconds", "10", "", "-1s", "1 2 s"])
def test_texts_that_are_no_durations(text: str) -> None:
    with pytest.raises(mo.PlanError, match="is no duration: give a timedelta"):
        mo.EventTimeWindow.tumbling(text)


@pytest.mark.parametrize("text", ["0s", "1us", "250ms", "90s", "1min", "61min", "2h", "3d"])
def test_a_shown_duration_can_be_read_again(text: str) -> None:
    assert shown(microseconds(text), DATETIME) == text
    if not text.endswith("us"):
        assert shown(microseconds(text) // 1000, INT) == text


def test_explain_shows_durations_with_a_unit(capsys: pytest.CaptureFixture[str]) -> None:
    moments = (
        mo.StreamContext(engine="reference")
        .stream_iter([1])
        .add_timestamps(lambda n: n, delay=datetime.timedelta(seconds=90), idle="1 minute")
    )
    keyed = moments.group_by(lambda n: n)
    keyed.window(mo.EventTimeWindow.sliding(60_000, "10s")).sum().explain()
    keyed.window(mo.ProcessingTimeWindow.tumbling("1 minute", "2s")).sum().explain()
    keyed.window(mo.EventTimeWindow.session("250ms")).sum().explain()
    keyed.interval_join(keyed, "1h", "2 days").explain()
    moments.unique(within="1 hour").explain()
    said = capsys.readouterr().out
    for text in (
        "EventTimeWindow.sliding('1min', '10s')",
        "ProcessingTimeWindow.tumbling('1min', offset='2s')",
        "EventTimeWindow.session('250ms')",
        "interval_join(lower='1h', upper='2d')",
        "unique(within='1h')",
        "add_timestamps(delay='90s', idle='1min')",
    ):
        assert text in said


def test_metrics_show_the_name_of_the_stream() -> None:
    ctx = mo.StreamContext(engine="reference")
    ctx.stream_iter([1]).name("orders").collect_vec()
    ctx.stream_iter([1]).collect_vec()
    assert [sink.shown_name for sink in ctx._sinks] == ["orders", "collect_vec"]
