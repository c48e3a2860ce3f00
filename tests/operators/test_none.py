"""None on every engine: filters exclude it from the type, and aggregates of optional numbers are native."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot import agg
from morisot.plan.analysis.fingerprint import type_text
from tests.operators.engines import Runner, last_by_key


class Row(NamedTuple):
    k: str
    x: int | None
    y: float | None


class Holder(NamedTuple):
    n: int
    row: Row | None


ROWS = [Row("a", 1, None), Row("b", None, 2.0), Row("a", 5, 2.5), Row("b", 7, 0.5)]
FULL = [Row("a", 1, 1.5), Row("b", 3, 2.0), Row("a", 5, 2.5), Row("b", 7, 0.5)]
MISSING = Row("c", None, None)


def test_filters_in_every_form(runner: Runner) -> None:
    """A column, a kernel's stage and a Python stage give the narrower type, and values of it."""

    def program(stream: Any) -> Any:
        column = stream.filter(lambda r: r.x is not None)
        stage = stream.filter(lambda r: r.x is not None and hash(r.k) is not None)
        assert type_text(column.type) == type_text(stage.type) == "Row(k: str, x: int, y: float | None)"
        first = column.map(lambda r: ("column", r.x + 1))
        second = stage.map(lambda r: ("stage", r.x + 2))
        either = stream.filter(lambda r: not (r.x is None or r.y is None)).map(lambda r: (r.k, r.x))
        return first.merge(second, either)

    found = [("column", 2), ("column", 6), ("column", 8), ("stage", 3), ("stage", 7), ("stage", 9), ("a", 5), ("b", 7)]
    assert sorted(runner.run(program, ROWS)) == sorted(found)


def test_an_optional_record_becomes_columns(runner: Runner) -> None:
    """A record that may be None is one column; without None it has a column for each field."""
    holders = [Holder(1, None), *(Holder(n, row) for n, row in enumerate(ROWS, 2))]

    def program(stream: Any) -> Any:
        column = stream.filter(lambda h: h.row is not None and h.row.x is not None)
        stage = stream.filter(lambda h: h.row and h.row.x is not None and hash(h.n) is not None)
        assert type_text(column.type) == "Holder(n: int, row: Row(k: str, x: int, y: float | None))"
        assert column.type == stage.type
        keyed = stream.group_by(lambda h: h.row).filter(lambda k, h: k is not None and h.row is not None)
        _, there = stream.route(lambda h: h.row is None, lambda h: h.row.y)
        true = stream.filter(lambda h: h.row).map(lambda h: 1000 if h.row else 0)
        sums = [each.map(lambda h: h.n * 100 + h.row.x) for each in (column, stage)]
        return sums[0].merge(sums[1], keyed.map(lambda k, h: h.n).drop_key(), there.map(lambda h: h.n * 10), true)

    expected = [201, 405, 507] * 2 + [2, 3, 4, 5] + [30, 40, 50] + [1000] * 4
    assert sorted(runner.run(program, holders)) == sorted(expected)


@pytest.mark.bounded_thorough
def test_a_narrower_stream_is_merged_and_joined_with_a_wider_one(bounded_runner: Runner) -> None:
    def program(stream: Any) -> Any:
        there = stream.filter(lambda r: r.x is not None)
        pairs = there.group_by(lambda r: r.x).join(stream.group_by(lambda r: r.x)).map(lambda k, p: p[1]).drop_key()
        merged = there.merge(stream, pairs)
        assert type_text(merged.type) == "Row(k: str, x: int | None, y: float | None)"
        return merged

    there = [ROWS[0], ROWS[2], ROWS[3]]
    assert sorted(bounded_runner.run(program, ROWS), key=repr) == sorted([*there, *ROWS, *there], key=repr)


AGGREGATES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda s: s.group_by_sum(lambda r: r.k, lambda r: r.x),
    "avg": lambda s: s.group_by_avg(lambda r: r.k, lambda r: r.y),
    "min": lambda s: s.group_by_min_element(lambda r: r.k, lambda r: r.x).map(lambda k, r: r.x),
    "max": lambda s: s.group_by_max_element(lambda r: r.k, lambda r: r.y).map(lambda k, r: r.y),
    "fold": lambda s: s.group_by(lambda r: r.k).fold(0, lambda total, r: total + r.x),
}
RESULTS: dict[str, dict[str, float]] = {
    "sum": {"a": 6, "b": 10},
    "avg": {"a": 2.0, "b": 1.25},
    "min": {"a": 1, "b": 3},
    "max": {"a": 2.5, "b": 2.0},
    "fold": {"a": 6, "b": 10},
}


def optional(stream: Any) -> Any:
    """The stream, whose type says that x and y may be None."""
    return stream.filter(lambda r: r.k != "drop")


def test_aggregates_of_optional_numbers(bounded_runner: Runner) -> None:
    """In one job: each result has the name of its aggregate."""

    def program(stream: Any) -> Any:
        several = [each(optional(stream)).unkey() for each in AGGREGATES.values()]
        named = [each.map(lambda pair: (pair[0], pair[1] + 0.0)) for each in several]
        return named[0].merge(*named[1:])

    found = bounded_runner.run(program, [Row("drop", None, None), *FULL])
    assert sorted(found) == sorted(pair for each in RESULTS.values() for pair in each.items())


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_of_optional_numbers_on_unbounded_input(name: str, unbounded_runner: Runner) -> None:
    changes = unbounded_runner.run(lambda s: AGGREGATES[name](optional(s)), [Row("drop", None, None), *FULL])
    assert dict(last_by_key(changes)) == RESULTS[name]


@pytest.mark.parametrize(
    "name", ["sum", *(pytest.param(each, marks=pytest.mark.bounded_thorough) for each in ("avg", "fold"))]
)
def test_none_fails_as_in_python(name: str, runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match=r"unsupported operand type\(s\) for \+: 'int' and 'NoneType'") as caught:
        runner.run(lambda s: AGGREGATES[name](optional(s)), [*FULL, MISSING])
    assert "test_none.py:" in str(caught.value)
    assert "Row(k='c', x=None, y=None)" in str(caught.value)


@pytest.mark.bounded_thorough
def test_none_alone_is_its_own_extreme(bounded_runner: Runner) -> None:
    def program(stream: Any) -> Any:
        return optional(stream).group_by_min_element(lambda r: r.k, lambda r: r.x).map(lambda k, r: r.x)

    assert sorted(bounded_runner.run(program, [*FULL, MISSING])) == [("a", 1), ("b", 3), ("c", None)]
    with pytest.raises(mo.ElementError, match="'<' not supported"):
        bounded_runner.run(program, [*FULL, MISSING, MISSING])


@pytest.mark.bounded_thorough
def test_windows_of_optional_numbers(runner: Runner) -> None:
    def program(stream: Any) -> Any:
        windows = optional(stream).window_all(mo.CountWindow.tumbling(2))
        found = windows.aggregate(s=agg.sum(lambda r: r.x), m=agg.mean(lambda r: r.y), lo=agg.min(lambda r: r.x))
        assert type_text(found.type) == "Row(s: int, m: float, lo: int | None)"
        numbers = optional(stream).map(lambda r: r.x).window_all(mo.CountWindow.tumbling(4))
        return found.map(lambda w: (w.s, w.m, w.lo)).merge(numbers.sum().map(lambda n: (n, 0.0, None)))

    expected = [(4, 1.75, 1), (12, 1.5, 5), (16, 0.0, None)]
    assert sorted(runner.run(program, [Row("drop", None, None), *FULL]), key=repr) == sorted(expected, key=repr)


@pytest.mark.bounded_thorough
def test_reduce_and_sort_of_optional_numbers(bounded_runner: Runner) -> None:
    def program(stream: Any) -> Any:
        numbers = optional(stream).map(lambda r: r.x)
        total = numbers.reduce(lambda a, b: a + b)
        assert str(total.type) == "int | None"
        ordered = optional(stream).sorted_by(lambda r: (r.k, r.x)).map(lambda r: r.x)
        return total.merge(numbers.reduce_assoc(lambda a, b: max(a, b)), ordered)

    assert bounded_runner.run(program, [Row("drop", None, None), *reversed(FULL)]) == [16, 7, 1, 5, 3, 7]
    with pytest.raises(mo.ElementError, match="not supported between instances of 'NoneType'"):
        bounded_runner.run(lambda s: optional(s).sorted_by(lambda r: r.x), [*FULL, MISSING])


@pytest.mark.bounded_thorough
def test_a_loop_whose_body_excludes_none_keeps_its_types(bounded_runner: Runner) -> None:
    def program(stream: Any) -> Any:
        _, elements = stream.iterate(
            2,
            0,
            lambda s, state: s.filter(lambda r: r.x is not None).inspect(lambda r: None),
            local_fold=lambda total, r: total + (r.x or 0),
            global_fold=lambda total, part: total + part,
            condition=lambda total: True,
            delta=0,
        )
        assert type_text(elements.type) == "Row(k: str, x: int | None, y: float | None)"
        return elements

    assert bounded_runner.run(program, ROWS) == [ROWS[0], ROWS[2], ROWS[3]]


def test_sinks_and_timestamps_accept_what_a_filter_excludes_none_from(ctx: mo.StreamContext, tmp_path: Path) -> None:
    rows = ctx.stream_iter(ROWS)
    there = rows.filter(lambda r: r.x is not None)
    there.add_timestamps(lambda r: r.x).window_all(mo.EventTimeWindow.tumbling(2)).mean(lambda r: r.x)
    with pytest.raises(mo.PlanError, match="have the type int . None"):
        rows.add_timestamps(lambda r: r.x)
    assert list(there.group_by_sum(lambda r: r.k, lambda r: r.x).unkey().to_pandas()["_1"]) == [6, 7]
    rows.group_by_sum(lambda r: r.k, lambda r: r.x).write_parquet(tmp_path / "sums")


def test_a_predicate_may_combine_values_of_different_types(runner: Runner) -> None:
    """Only the truth of a predicate matters, so `and` and `or` of a bool and a number are a column."""

    def program(stream: Any) -> Any:
        both = stream.filter(lambda r: r.x is not None and r.y)
        keyed = stream.group_by(lambda r: r.x).filter(lambda k, r: (k is not None and r.k == "a" and r.y) or r.x == 7)
        assert [record.form for record in both.forms() if record.operator == "filter"] == ["column"]
        assert type_text(both.type) == "Row(k: str, x: int, y: float)"
        return both.map(lambda r: r.x).merge(keyed.map(lambda k, r: k * 10).drop_key())

    assert sorted(runner.run(program, [*ROWS, Row("c", 0, 0.0)])) == [5, 7, 50, 70]
