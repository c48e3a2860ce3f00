"""explain, forms, repr, and Spark's plan behind them."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import pytest

import morisot as mo


class Line(NamedTuple):
    text: str
    price: float


def word_count(ctx: mo.StreamContext) -> mo.KeyedStream[str, int]:
    lines = ctx.stream_iter(["a b", "c"])
    return lines.flat_map(lambda line: line.lower().split()).group_by_count(lambda word: word)


def test_explain_shows_operators_types_lines_and_forms(
    ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]
) -> None:
    word_count(ctx).explain()
    text = capsys.readouterr().out
    assert re.search(r"group_by_count +: str → int +\[.*test_explain.py:\d+\]", text)
    assert re.search(r"flat_map +: str +\[", text)
    assert "key: column" in text
    assert "function: column" in text


def test_explain_says_why_not_and_what_would_change_it(
    ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]
) -> None:
    ctx.stream_iter([1]).map(lambda n: n.as_integer_ratio()).map(lambda x: x + 1).explain()  # type: ignore[operator]
    text = capsys.readouterr().out
    assert re.search(r"function: stage — .*as_integer_ratio", text)
    assert re.search(r"function: stage — .*type.*not known", text)
    assert "↳" in text


@pytest.mark.jvm
def test_explain_detail_adds_sparks_plan(spark_ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]) -> None:
    word_count(spark_ctx).explain(detail=True)
    assert "== Physical Plan ==" in capsys.readouterr().out


def test_forms_one_record_per_function(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter([1, 2]).filter(lambda n: n > 1).map(lambda n: math.sin(n)).map(lambda x: x.hex())
    column, kernel, stage = stream.forms()
    assert (column.operator, column.form) == ("filter", "column")
    assert (kernel.operator, kernel.form) == ("map", "kernel")
    assert "math.sin" in kernel.reason
    assert (stage.operator, stage.form) == ("map", "stage")
    assert "hex" in stage.reason
    assert column.location.file == __file__


def looping(n: int) -> object:
    total = 0
    for digit in str(n):
        total += int(digit)
    return total


def test_explain_says_where_and_what_was_captured(ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]) -> None:
    factor, words = 3, ["a" * 100]
    stream = ctx.stream_iter([1]).map(lambda n: n * factor + OFFSET + len(words)).map(looping)
    stream.explain()
    text = capsys.readouterr().out
    assert "captured: OFFSET=100, factor=3, words=['aaaa" in text
    assert "…" in text
    line = looping.__code__.co_firstlineno + 2
    assert f"(line {line})" in text
    column, stage = stream.forms()
    assert column.captured[:2] == ("OFFSET=100", "factor=3")
    assert (stage.line, stage.captured) == (line, ())
    assert "captured: OFFSET=100" in stream._repr_html_()


def test_forms_after_a_demotion(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_iter([2**62]).map(lambda n: n * 4 - n * 3)
    assert stream.forms()[0].form == "column"
    stream.collect()
    (record,) = stream.forms()
    assert record.form == "stage"
    assert "at run time" in record.reason
    assert spark_ctx.metrics()["moved_to_python"] == [f"map ({record.location})"]


@pytest.mark.parametrize(("numbers", "moved"), [((2**60 + 1, 3), 0), ((3, 2**60 + 1), 1)])
def test_only_the_operator_whose_guard_stopped_the_job_is_moved(
    spark_ctx: mo.StreamContext, numbers: tuple[int, int], moved: int
) -> None:
    first = spark_ctx.stream_iter([numbers]).map(lambda pair: (pair[0] / 3, pair[1]))
    second = first.map(lambda pair: (pair[0], pair[1] / 3))
    assert second.collect() == [(numbers[0] / 3, numbers[1] / 3)]
    location = (first, second)[moved].forms()[-1].location
    assert spark_ctx.metrics()["moved_to_python"] == [f"map ({location})"]


def test_two_lambdas_on_one_line_each_have_their_own_source(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter([1, 2, 3]).map(lambda n: n + 1).filter(lambda n: n % 2 == 0)
    assert [record.form for record in stream.forms()] == ["column", "column"]
    assert stream.collect() == [2, 4]


OFFSET = 100


def test_closures_over_locals_and_globals(ctx: mo.StreamContext) -> None:
    factor = 3
    stream = (
        ctx.stream_iter([1, 2])
        .map(lambda n: n * factor)
        .map(
            lambda n: n + OFFSET,
        )
    )
    assert [record.form for record in stream.forms()] == ["column", "column"]
    assert stream.collect() == [103, 106]


@pytest.mark.jvm
def test_no_python_in_the_plan_where_every_closure_is_a_column(spark_ctx: mo.StreamContext) -> None:
    lines = spark_ctx.stream_iter([Line("A b", 2.0), Line("c", 0.5)])
    stream = (
        lines.filter(lambda line: line.price > 1.0 and "b" in line.text)
        .map(lambda line: (line.text.lower(), line.price * 2))
        .flat_map(lambda pair: pair[0].split())
        .group_by_count(lambda word: word)
    )
    assert {record.form for record in stream.forms()} == {"column"}
    plan = spark_ctx.engine.spark_plan(stream._node)
    assert not re.search("python|arrow", plan.split("== Physical Plan ==")[1], re.IGNORECASE)


@pytest.mark.jvm
def test_neighbouring_stages_are_one_pass(spark_ctx: mo.StreamContext) -> None:
    stream = (
        spark_ctx.stream_iter([1.0, 2.0])
        .map(lambda x: float(x.hex() == ""), returns=float)
        .filter(lambda x: x > 0)
        .map(lambda x: float(x.hex() > ""), returns=float)
        .filter(lambda x: x > 0.5)
    )
    plan = spark_ctx.engine.spark_plan(stream._node).split("== Physical Plan ==")[1]
    assert len(re.findall("(?i)mapinarrow", plan)) == 1
    assert [record.form for record in stream.forms()] == ["stage", "stage", "stage", "column"]


@pytest.mark.jvm
def test_neighbouring_kernels_are_one_pass_with_the_column_between(spark_ctx: mo.StreamContext) -> None:
    stream = (
        spark_ctx.stream_iter([1.0, 2.0])
        .map(lambda x: math.sin(x))
        .filter(lambda x: x > 0)
        .map(lambda x: math.cos(x))
        .filter(lambda x: x > 0.5)
    )
    plan = spark_ctx.engine.spark_plan(stream._node).split("== Physical Plan ==")[1]
    assert len(re.findall("(?i)mapinarrow", plan)) == 1
    assert [record.form for record in stream.forms()] == ["kernel", "kernel", "kernel", "kernel"]


def test_repr(ctx: mo.StreamContext) -> None:
    assert repr(word_count(ctx)) == "KeyedStream[str → int]: stream_iter → flat_map → group_by_count"
    named = ctx.stream_iter([1]).map(lambda n: n).name("same")
    assert repr(named) == "Stream[int]: stream_iter → same"


def test_repr_html(ctx: mo.StreamContext) -> None:
    page = word_count(ctx)._repr_html_()
    assert page.startswith("<table")
    assert "flat_map" in page
    assert "column" in page


def test_what_is_shared_is_printed_once(ctx: mo.StreamContext, capsys: pytest.CaptureFixture[str]) -> None:
    words = ctx.stream_iter(["a b"]).flat_map(lambda line: line.split()).filter(lambda word: word != "")
    words.map(lambda word: word.upper()).merge(words, words).explain()
    lines = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert [re.sub(r"  [:\[].*", "", line) for line in lines if "function" not in line and "predicate" not in line] == [
        "merge",
        "├─ map",
        "│  └─ filter #1",
        "│     └─ flat_map",
        "│        └─ stream_iter",
        "├─ filter #1, shown above",
        "└─ filter #1, shown above",
    ]
