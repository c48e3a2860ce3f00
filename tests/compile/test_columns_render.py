"""Expressions as Spark SQL text."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, NamedTuple

import pytest

from morisot.compile.ir.expressions import (
    Call,
    Case,
    Each,
    Expr,
    Field,
    Input,
    Literal,
    Raise,
    Shared,
    Struct,
    Variable,
)
from morisot.engines.spark.emit.frames.sql import TEMPLATES, literal, quoted, render, sql_text, sql_type
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Decimal,
    Dict,
    Keyed,
    List,
    Optional,
    Tuple,
    Type,
)  # fmt: skip
from morisot.types.infer import of_record_class


class Reading(NamedTuple):
    """A record inside a list."""

    sensor: str
    value: float | None


X = Input(0, (1,))


def name_of(leaf: Input) -> str:
    return quoted("/".join(map(str, ("value", *leaf.path))))


@pytest.mark.parametrize(
    ("expr", "sql"),
    [
        (X, "`value/1`"),
        (Shared("s0"), "`s0`"),
        (Call("add", (X, Literal(1, INT))), "(`value/1` + 1L)"),
        (Call("in", (X, Literal(1, INT), Literal(2, INT))), "(`value/1` IN (1L, 2L))"),
        (Call("concat", (X, Literal("{0}", STR))), "concat(`value/1`, '{0}')"),
        (
            Case(((Call("is_null", (X,)), Literal(0, INT)),), X),
            "(CASE WHEN (`value/1` IS NULL) THEN 0L ELSE `value/1` END)",
        ),
        (Raise("it's over"), r"raise_error('morisot: it\'s over')"),
        (Struct(("_0", "b"), (X, Literal(True, BOOL))), "named_struct('_0', `value/1`, 'b', true)"),
        (Field(X, "_0"), "`value/1`.`_0`"),
        (Each("transform", X, "w", Call("lower", (Variable("w"),))), "transform(`value/1`, `w` -> lower(`w`))"),
    ],
)
def test_render(expr: Expr, sql: str) -> None:
    assert render(expr, name_of) == sql


@pytest.mark.parametrize(
    ("value", "type_", "sql"),
    [
        (5, INT, "5L"),
        (2**63 - 1, INT, "9223372036854775807L"),
        (-(2**63), INT, "CAST(-9223372036854775808 AS BIGINT)"),
        (0.1, FLOAT, "0.1D"),
        (1e300, FLOAT, "1e+300D"),
        (math.nan, FLOAT, "CAST('nan' AS DOUBLE)"),
        (-math.inf, FLOAT, "CAST('-inf' AS DOUBLE)"),
        (-0.0, FLOAT, "(- abs(0.0D))"),
        (True, BOOL, "true"),
        (None, Optional(STR), "CAST(NULL AS STRING)"),
        (None, Optional(Tuple((INT, STR))), "CAST(NULL AS STRUCT<`_0`: BIGINT, `_1`: STRING>)"),
        (b"\x00\xff", BYTES, "X'00ff'"),
        (dt.date(2024, 2, 29), DATE, "DATE '2024-02-29'"),
        (dt.datetime(2024, 2, 29, 1, 2, 3, 4), DATETIME, "TIMESTAMP_NTZ '2024-02-29 01:02:03.000004'"),
        ([1, 2], List(INT), "array(1L, 2L)"),
        ((), List(STR), "CAST(array() AS ARRAY<STRING>)"),
        ((1, "a"), Tuple((INT, STR)), "named_struct('_0', 1L, '_1', 'a')"),
    ],
)
def test_literals(value: Any, type_: Type, sql: str) -> None:
    assert literal(value, type_) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("it's", r"'it\'s'"),
        ("back\\slash", r"'back\\slash'"),
        ("a\nb\x00", r"'a\u000ab\u0000'"),
        ("😀é", "'😀é'"),
        ("\U000e0001", r"'\U000e0001'"),
        ("${spark.x}", r"'\u0024{spark.x}'"),
    ],
)
def test_texts_are_escaped(text: str, sql: str) -> None:
    assert sql_text(text) == sql


@pytest.mark.parametrize(
    ("type_", "sql"),
    [
        (INT, "BIGINT"),
        (ANY, "BINARY"),
        (DATETIME, "TIMESTAMP_NTZ"),
        (Decimal(10, 2), "DECIMAL(10, 2)"),
        (Dict(List(FLOAT)), "MAP<STRING, ARRAY<DOUBLE>>"),
        (List(of_record_class(Reading)), "ARRAY<STRUCT<`sensor`: STRING, `value`: DOUBLE>>"),
        (Optional(Keyed(STR, INT)), "STRUCT<`_0`: STRING, `_1`: BIGINT>"),
    ],
)
def test_types(type_: Type, sql: str) -> None:
    assert sql_type(type_) == sql


def test_names_are_quoted() -> None:
    assert quoted("value/a`b") == "`value/a``b`"


def test_every_template_is_well_formed() -> None:
    for name, template in TEMPLATES.items():
        assert template.count("(") == template.count(")"), name
