"""Windows that select an element of Parquet files: only the elements with the extreme value are compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.emit.window import grouping
from morisot.physical.job import plan_stream

Select = Callable[[Any], Any]


class Offer(NamedTuple):
    at: int
    price: int
    name: str
    note: str | None
    urgent: bool


TUMBLING, SLIDING = mo.EventTimeWindow.tumbling(10), mo.EventTimeWindow.sliding(10, 4, -3)
PROGRAMS: dict[str, tuple[Any, Select]] = {
    "first": (TUMBLING, lambda w: w.reduce(lambda a, b: b if b.price > a.price else a)),
    "last": (TUMBLING, lambda w: w.reduce(lambda a, b: b if b.price >= a.price else a)),
    "least": (SLIDING, lambda w: w.reduce(lambda a, b: a if a.price <= b.price else b)),
    "smallest": (SLIDING, lambda w: w.min_element(lambda o: o.urgent)),
    "largest": (TUMBLING, lambda w: w.max_element(lambda o: o.price % 3)),
}


@pytest.fixture(scope="module")
def offers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few prices, so that most windows have ties; files without rows; windows over several files."""
    directory, random_ = tmp_path_factory.mktemp("offers"), random.Random(5)
    for file, rows in enumerate((9, 0, 40, 1, 25)):
        values = [
            (random_.randint(-30, 30), random_.randint(0, 4), f"{file}-{row}", random_.choice([None, "x"]), row % 3 > 0)
            for row in range(rows)
        ]
        columns: list[list[Any]] = [[value[index] for value in values] for index in range(5)]
        types = (pa.int64(), pa.int64(), pa.string(), pa.string(), pa.bool_())
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
        pq.write_table(pa.table(arrays, names=list(Offer._fields)), directory / f"{file}.parquet")
    return directory


def program(name: str, offers: Path, ctx: mo.StreamContext) -> Any:
    windows, select = PROGRAMS[name]
    stream = ctx.stream_parquet(offers, Offer).filter(lambda o: o.name != "2-3")
    return select(stream.add_timestamps(lambda o: o.at).window_all(windows)).with_bounds()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_element_of_the_reference_engine_is_selected(name: str, offers: Path, ctx: mo.StreamContext) -> None:
    stream = program(name, offers, ctx)
    assert rung(stream) == "candidates"
    assert stream.collect() == program(name, offers, mo.StreamContext(engine="reference")).collect()


def test_all_elements_are_compared_in_windows_whose_extreme_is_not_broadcast(
    offers: Path, ctx: mo.StreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "_MOST_GROUPS", 2)
    assert (
        program("last", offers, ctx).collect()
        == program("last", offers, mo.StreamContext(engine="reference")).collect()
    )


@pytest.mark.parametrize(
    "stream",
    [
        lambda s: s.window_all(TUMBLING).max_element(lambda o: o.price / 2),
        lambda s: s.window_all(TUMBLING).max_element(lambda o: o.name),
        lambda s: s.window_all(mo.AllWindow()).max_element(lambda o: o.price),
        lambda s: s.group_by(lambda o: o.name).window(TUMBLING).max_element(lambda o: o.price),
        lambda s: s.merge(s).window_all(TUMBLING).max_element(lambda o: o.price),
    ],
)
def test_other_windows_compare_all_elements(stream: Select, offers: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    timed = ctx.stream_parquet(offers, Offer).add_timestamps(lambda o: o.at)
    assert rung(stream(timed)) is None


def rung(stream: Any) -> str | None:
    (choice,) = (
        choice for node, choice in plan_stream(stream._node).plan.choices.items() if type(node).__name__ == "Window"
    )
    return None if choice.selection is None else choice.selection.rung
