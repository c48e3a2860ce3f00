"""The corpus of closures: what form each gets, that refusals help, and that its columns answer as CPython does."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from benchmarks.closures import data
from benchmarks.closures.corpus import CORPUS
from benchmarks.closures.entry import Entry
from benchmarks.closures.forms import TARGETS, counted, verdict
from benchmarks.closures.measure import Measurement, Options, same
from benchmarks.closures.report import as_json
from benchmarks.closures.rows import Rows
from benchmarks.closures.variants import ARROW_UDF, MORISOT
from morisot.compile.ir.expressions import Expr
from morisot.compile.verdict import ColumnForm, KernelForm
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted, render
from morisot.types.element import arguments
from morisot.worker.codec.batches import decode, encode, schema_of
from morisot.worker.rowwise.stage import Pipeline
from morisot.worker.rowwise.steps import Step

SAMPLE = 60


def test_the_corpus_is_large_and_every_closure_has_a_name_of_its_own() -> None:
    assert len(CORPUS) >= 220
    assert len({entry.key for entry in CORPUS}) == len(CORPUS)
    assert set(TARGETS) <= {entry.key for entry in CORPUS}


def test_most_closures_without_loops_are_columns() -> None:
    forms = counted(CORPUS)["loop-free"]
    assert forms["column"] / forms.total() >= 0.85


def problems(check: Callable[[Entry], bool], entries: Iterable[Entry] = CORPUS) -> list[str]:
    """The closures for which a check does not hold, or raises."""
    found = []
    for entry in entries:
        try:
            if not check(entry):
                found.append(entry.key)
        except Exception as error:
            found.append(f"{entry.key}: {error!r}")
    return found


def test_a_closure_loops_if_it_says_so() -> None:
    def says_so(entry: Entry) -> bool:
        if not isinstance(entry.function, types.FunctionType) or entry.function.__name__ == "<lambda>":
            return True
        tree = ast.parse(textwrap.dedent(inspect.getsource(entry.function)))
        loops = any(isinstance(node, ast.For | ast.While) for node in ast.walk(tree))
        return loops == (entry.kind == "numeric loop") or entry.key == "helper_functions.power_of"

    assert problems(says_so, (entry for entry in CORPUS if entry.kind != "other loop")) == []


def test_a_refusal_has_a_reason_and_an_advice() -> None:
    def helps(entry: Entry) -> bool:
        found = verdict(entry)
        return isinstance(found, ColumnForm) or bool(found.refusal.reason and found.refusal.advice)

    assert problems(helps) == []


def test_the_rows_have_their_type_and_the_closure_takes_them() -> None:
    def fits(entry: Entry) -> bool:
        rows = entry.rows.take(20)
        results = Pipeline([Step("map", "map", None, function=entry.function)]).run(rows)
        decoded = decode(encode(results, entry.returns, lambda _: b""), entry.returns)
        return rows == entry.rows.take(20) and (same(decoded, results) or not entry.repeatable)

    assert problems(fits) == []


def test_a_numeric_loop_is_a_kernel() -> None:
    loops = (entry for entry in CORPUS if entry.kind == "numeric loop")
    assert problems(lambda entry: isinstance(verdict(entry), KernelForm), loops) == []


def test_the_report_tells_what_was_found() -> None:
    entry = CORPUS[0]
    result = Measurement(entry, "column", "", "", micros={MORISOT: 0.5, ARROW_UDF: 2.0})
    broken = Measurement(CORPUS[1], "stage", "a reason", "an advice", problem="1: 2 instead of 3")
    document = as_json([result, broken], [entry], {}, Options())
    assert document["closures"][entry.key]["arrow_udf_ratio"] == 4.0
    assert document["closures"][entry.key]["transpiled_by_spark"]
    assert document["closures"][CORPUS[1].key]["problem"] == "1: 2 instead of 3"


def groups() -> list[tuple[Rows, list[tuple[Entry, ColumnForm]]]]:
    """The columns, by the rows they are for: one query does all closures of a group."""
    by_rows: dict[Rows, list[tuple[Entry, ColumnForm]]] = defaultdict(list)
    for entry in CORPUS:
        form = verdict(entry)
        if isinstance(form, ColumnForm):
            by_rows[entry.rows].append((entry, form))
    return list(by_rows.items())


@pytest.mark.jvm
@pytest.mark.parametrize("kinds", [1, pytest.param(None, marks=pytest.mark.thorough)], ids=["one kind", "all kinds"])
def test_columns_answer_as_python_does(kinds: int | None, spark: SparkSession) -> None:
    """The columns of the corpus, in one query for each kind of rows."""
    before = spark.conf.get("spark.sql.timestampType")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        different = list(
            itertools.chain.from_iterable(_different(spark, rows, forms) for rows, forms in groups()[:kinds])
        )
    finally:
        spark.conf.set("spark.sql.timestampType", str(before))
    assert not different


def _different(spark: SparkSession, rows: Rows, forms: list[tuple[Entry, ColumnForm]]) -> Iterator[str]:
    elements = rows.take(SAMPLE)
    table = pa.Table.from_arrays(encode(elements, rows.type, lambda _: b""), schema=schema_of(rows.type))
    frame = Frame(spark.createDataFrame(table).coalesce(1), rows.type)
    wide, outputs = frame.df, []
    shared = [[(number, entry) for entry in form.shared] for number, (_, form) in enumerate(forms)]
    for level in itertools.zip_longest(*shared):  # a shared value may use those before it in its own closure
        added = [(number, name, expr) for number, (name, expr) in filter(None, level)]
        columns = [f"{_sql(frame, forms, number, expr)} AS `{number}{name}`" for number, name, expr in added]
        wide = wide.selectExpr("*", *columns)
    for number, (_, form) in enumerate(forms):
        leaves = enumerate(form.result.leaves())
        outputs += [f"{_sql(frame, forms, number, leaf)} AS `{number}:{place}`" for place, leaf in leaves]
    result = wide.selectExpr(*outputs).toArrow()
    for number, (entry, form) in enumerate(forms):
        arrays = [result[f"{number}:{place}"].combine_chunks() for place in range(len(form.result.leaves()))]
        for element, found in zip(elements, decode(arrays, form.type), strict=True):
            expected: Any = entry.function(element)
            if not same(found, expected):
                yield f"{entry.key} of {element!r}: {found!r} instead of {expected!r}"


def _sql(frame: Frame, forms: list[tuple[Entry, ColumnForm]], number: int, expr: Expr) -> str:
    """The expression with the names of its closure's shared values made unique."""
    text = render(expr, frame.names())
    for name, _ in forms[number][1].shared:
        text = text.replace(quoted(name), quoted(f"{number}{name}"))
    return text


def test_a_closure_takes_one_argument() -> None:
    assert all(len(arguments(entry.rows.type)) == 1 for entry in CORPUS)
    assert {len(data.columns_of(entry.rows)) for entry in CORPUS} <= set(range(1, 9))
