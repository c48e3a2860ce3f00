"""Column forms on Spark: each expression tried on every row, then run on the rows it can do as a job would run it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from morisot.compile.ir.expressions import Expr
from morisot.compile.verdict import ColumnForm
from morisot.engines.spark.emit.frames.sql import quoted, render
from tests.properties.proof.outcomes import FAILED
from tests.properties.proof.tables import assemble, name_of

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    # a zone that skipped and repeated hours, midnight among them: no form may go through the zone of the session
    "spark.sql.session.timeZone": "America/Sao_Paulo",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    # else rows given by the driver are computed by the optimizer's interpreter, not by generated code
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.shuffle.partitions": "1",
}
_ELIMINATION = "spark.sql.subexpressionElimination.enabled"


@contextmanager
def set_for_proof(spark: SparkSession, **more: str) -> Iterator[SparkSession]:
    """The session with generated code only; as it was afterwards."""
    wanted = SETTINGS | more
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


def tried(spark: SparkSession, forms: Sequence[ColumnForm], table: pa.Table) -> list[list[Any]]:
    """Each form's result for each row, FAILED where the expression fails: every expression is tried on its own."""
    spark.conf.set(
        _ELIMINATION, "false"
    )  # it hoists an expression that fails out of TryEval, which then catches nothing
    try:
        return _tried(spark, forms, table)
    finally:
        spark.conf.unset(_ELIMINATION)


def _tried(spark: SparkSession, forms: Sequence[ColumnForm], table: pa.Table) -> list[list[Any]]:
    frame = spark.createDataFrame(table).coalesce(1)
    outputs = []
    for place in range(max(len(form.shared) for form in forms)):  # one select for each level: analysis is slow
        level = [(number, form, *form.shared[place]) for number, form in enumerate(forms) if place < len(form.shared)]
        kept = [_try(spark, _kept(expr, form, number)).alias(f"{number}{name}") for number, form, name, expr in level]
        frame = frame.select("*", *kept)
    for number, form in enumerate(forms):
        leaves = enumerate(form.result.leaves())
        outputs += [_try(spark, _kept(leaf, form, number)).alias(f"{number}:{place}") for place, leaf in leaves]
    result = frame.select("row", *outputs).toArrow().sort_by("row")
    return [
        [
            FAILED if None in row else assemble(form.type, iter([leaf for (leaf,) in row]))
            for row in _rows(result, form, f"{number}:")
        ]
        for number, form in enumerate(forms)
    ]


def _rows(result: pa.Table, form: ColumnForm, prefix: str) -> Iterator[tuple[Any, ...]]:
    """The leaves of one form's result, row by row."""
    return zip(*(result[f"{prefix}{place}"].to_pylist() for place in range(len(form.result.leaves()))), strict=True)


def _kept(expr: Expr, form: ColumnForm, number: int) -> str:
    """The value in an array, which tells None from a failure; a shared value that failed fails where it is used."""
    text = render(expr, name_of)
    for name, _ in form.shared:
        column = quoted(f"{number}{name}")
        text = text.replace(
            quoted(name), f"(CASE WHEN {column} IS NULL THEN raise_error('shared') ELSE {column}[0] END)"
        )
    return f"array({text})"


def _try(spark: SparkSession, text: str) -> Column:
    """NULL where the expression fails; Spark has this for single functions only (try_add, …)."""
    jvm: Any = spark.sparkContext._jvm
    parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(text)
    wrapped = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(wrapped))


def as_in_a_job(spark: SparkSession, forms: Sequence[ColumnForm], tables: Sequence[pa.Table]) -> list[list[Any]]:
    """The results as a job computes them, each form on rows of its own; the forms have one result type."""
    frames = [
        _frame(spark, form, table, number) for number, (form, table) in enumerate(zip(forms, tables, strict=True))
    ]
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionAll(frame)
    result = together.toArrow().sort_by([("form", "ascending"), ("row", "ascending")])
    values = [assemble(forms[0].type, iter(row)) for row in _rows(result, forms[0], "out")]
    found: list[list[Any]] = [[] for _ in forms]
    numbers: list[Any] = result["form"].to_pylist()
    for number, value in zip(numbers, values, strict=True):
        found[number].append(value)
    return found


def _frame(spark: SparkSession, form: ColumnForm, table: pa.Table, number: int) -> DataFrame:
    frame = spark.createDataFrame(table).coalesce(1)
    for name, expr in form.shared:
        frame = frame.selectExpr("*", f"{render(expr, name_of)} AS {quoted(name)}")
    outputs = [f"{render(leaf, name_of)} AS `out{place}`" for place, leaf in enumerate(form.result.leaves())]
    return frame.selectExpr("row", f"{number} AS form", *outputs)
