"""Datetimes with a time zone on every engine: they come back as they were, or are refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from tests.operators.engines import Runner

TEXTS = ["2025-01-01T12:00:00", "2025-01-01T12:00:00+02:00", "2025-01-01T10:00:00Z"]
ZONED = [dt.datetime(2025, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))), dt.datetime(2025, 6, 1, tzinfo=dt.UTC)]


def read(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "map": lambda s: s.map(lambda t: dt.datetime.fromisoformat(t)),
    "annotated": lambda s: s.map(read),
    "returns": lambda s: s.map(lambda t: [dt.datetime.fromisoformat(t)][0], returns=dt.datetime),
    "in a list": lambda s: s.map(lambda t: (1, [dt.datetime.fromisoformat(t)])),
    "filter_map": lambda s: s.filter_map(lambda t: dt.datetime.fromisoformat(t)),
    "flat_map": lambda s: s.flat_map(lambda t: [dt.datetime.fromisoformat(t)]),
    "rich_map": lambda s: s.rich_map(0, lambda a, t: (a, dt.datetime.fromisoformat(t)), returns=dt.datetime),
    "key_by": lambda s: s.key_by(lambda t: dt.datetime.fromisoformat(t)),
    "fold": lambda s: s.fold(dt.datetime(1, 1, 1), lambda a, t: dt.datetime.fromisoformat(t)),
}


def check_refused(runner: Runner, name: str) -> None:
    with pytest.raises(mo.ElementError, match=r"has a time zone, and a datetime element has none"):
        runner.run(REFUSED[name], TEXTS[1:])


def test_a_datetime_with_an_offset_is_refused(runner: Runner) -> None:
    check_refused(runner, "map")


@pytest.mark.bounded_thorough
@pytest.mark.unbounded_thorough
@pytest.mark.parametrize("name", [name for name in REFUSED if name != "map"])
def test_a_datetime_with_an_offset_is_refused_everywhere(runner: Runner, name: str) -> None:
    check_refused(runner, name)


def test_datetimes_with_an_offset_survive(runner: Runner) -> None:
    program = lambda s: s.shuffle().map(lambda t: (dt.datetime.fromisoformat(t), t), returns=object)  # noqa: E731
    found = sorted(runner.run(program, TEXTS), key=lambda pair: pair[1])
    assert [(str(time), text) for time, text in found] == sorted(
        ((str(read(text)), text) for text in TEXTS), key=lambda pair: pair[1]
    )


def test_their_parts_are_those_of_python(runner: Runner) -> None:
    program = lambda s: s.map(lambda t: (dt.datetime.fromisoformat(t).isoformat(), dt.datetime.fromisoformat(t).hour))  # noqa: E731
    assert runner.run(program, TEXTS) == [(read(text).isoformat(), read(text).hour) for text in TEXTS]


def test_given_datetimes_survive(runner: Runner) -> None:
    found = runner.run(lambda s: s.map(lambda t: t), ZONED)
    assert [*map(repr, found)] == [*map(repr, ZONED)]


def test_columns_with_a_time_zone_are_read_in_utc(ctx: mo.StreamContext, tmp_path: Path) -> None:
    times = pa.array([dt.datetime(2025, 7, 1, 12)], pa.timestamp("us", tz="Europe/Paris"))
    table = pa.table({"time": times, "times": pa.array([times.to_pylist()], pa.list_(times.type))})
    pq.write_table(table, tmp_path / "times.parquet")
    for rows in (ctx.stream_arrow(table), ctx.stream_parquet(tmp_path / "times.parquet")):
        (row,) = rows.collect()
        assert (row.time, row.times) == (dt.datetime(2025, 7, 1, 12), [dt.datetime(2025, 7, 1, 12)])


def test_timestamps_have_no_time_zone() -> None:
    ctx = mo.StreamContext(engine="reference")
    with pytest.raises(mo.ElementError, match="time zone"):
        ctx.stream_iter(TEXTS).add_timestamps(lambda t: dt.datetime.fromisoformat(t)).collect()
