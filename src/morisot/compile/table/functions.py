"""The table of operators, functions and methods that have a column form, by the types of their arguments.

A row says that for arguments of some types the result has a type and an exact form. To support another function, add
a row. A function without a row runs in Python.
"""

from __future__ import annotations

import ast
import calendar
import datetime as dt
import math
import operator
import zlib
from collections.abc import Callable
from typing import Any

from morisot.compile.exact import arithmetic, dates, text_edges, texts
from morisot.compile.exact.character_scans import Simplified
from morisot.compile.exact.forms import Form, Plain, call
from morisot.compile.ir.values import DELTA, Set
from morisot.compile.table.rows import Constant, Row
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Type


def _binary(type_: Type, form: Form, result: Type | None = None) -> Row:
    return Row((type_, type_), result or type_, form)


def _is_factor(exponent: int) -> bool:
    return 1 <= exponent <= 8


def _is_fixed(directives: str) -> bool:
    return dates.fixed_positions(directives) is not None


def _is_shift(bits: int) -> bool:
    return 0 <= bits <= 62


BINARY: dict[type[ast.operator], tuple[Row, ...]] = {
    ast.Add: (
        _binary(INT, Plain("add", fails=True)),
        _binary(FLOAT, Plain("add")),
        _binary(STR, Plain("concat")),
        _binary(BYTES, Plain("concat")),
        _binary(DELTA, Plain("add", fails=True)),
        Row((DATE, DELTA), DATE, dates.date_moved(+1)),
        Row((DELTA, DATE), DATE, lambda delta, a: dates.date_moved(+1)(a, delta)),
        Row((DATETIME, DELTA), DATETIME, dates.time_moved(+1)),
        Row((DELTA, DATETIME), DATETIME, lambda delta, a: dates.time_moved(+1)(a, delta)),
    ),
    ast.Sub: (
        _binary(INT, Plain("subtract", fails=True)),
        _binary(FLOAT, Plain("subtract")),
        _binary(DELTA, Plain("subtract", fails=True)),
        _binary(DATE, dates.days_between, DELTA),
        _binary(DATETIME, dates.time_between, DELTA),
        Row((DATE, DELTA), DATE, dates.date_moved(-1)),
        Row((DATETIME, DELTA), DATETIME, dates.time_moved(-1)),
    ),
    ast.Mult: (
        _binary(INT, Plain("multiply", fails=True)),
        _binary(FLOAT, Plain("multiply")),
        Row((STR, INT), STR, texts.text_repeat),
        Row((INT, STR), STR, lambda times, a: texts.text_repeat(a, times)),
        Row((DELTA, INT), DELTA, Plain("multiply", fails=True)),
        Row((INT, DELTA), DELTA, Plain("multiply", fails=True)),
    ),
    ast.Div: (
        _binary(INT, arithmetic.int_truediv, FLOAT),
        _binary(FLOAT, Plain("divide", fails=True)),
        _binary(DELTA, arithmetic.int_truediv, FLOAT),
    ),
    ast.FloorDiv: (
        _binary(INT, arithmetic.int_floordiv),
        _binary(FLOAT, arithmetic.float_floordiv),
        _binary(DELTA, arithmetic.int_floordiv, INT),
        Row((DELTA, INT), DELTA, arithmetic.int_floordiv),
    ),
    ast.Mod: (
        _binary(INT, arithmetic.int_mod),
        _binary(FLOAT, arithmetic.float_mod),
        _binary(DELTA, arithmetic.int_mod),
    ),
    # With a float operand Java's pow differs from C's in the last bit, and x * x differs from both.
    ast.Pow: (Row((INT, Constant(int, _is_factor)), INT, arithmetic.int_power),),
    ast.BitAnd: (_binary(BOOL, Plain("and")), _binary(INT, Plain("bit_and"))),
    ast.BitOr: (_binary(BOOL, Plain("or")), _binary(INT, Plain("bit_or"))),
    ast.BitXor: (_binary(BOOL, Plain("unequal")), _binary(INT, Plain("bit_xor"))),
    ast.LShift: (Row((INT, Constant(int, _is_shift)), INT, arithmetic.int_shift_left),),
    ast.RShift: (Row((INT, Constant(int, lambda bits: bits >= 0)), INT, arithmetic.int_shift_right),),
}

UNARY: dict[type[ast.unaryop], tuple[Row, ...]] = {
    ast.USub: (
        Row((INT,), INT, Plain("negative", fails=True)),
        Row((FLOAT,), FLOAT, Plain("negative")),
        Row((DELTA,), DELTA, Plain("negative", fails=True)),
    ),
    ast.UAdd: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), FLOAT, Plain("itself"))),
    ast.Invert: (Row((INT,), INT, Plain("bit_not")),),
}

_ORDERED = (INT, STR, BYTES, DATE, DATETIME, BOOL, DELTA)


def _comparison(name: str, floats: Form) -> tuple[Row, ...]:
    plain = tuple(_binary(type_, Plain(name), BOOL) for type_ in _ORDERED)
    mixed = arithmetic.mixed_compare(name)
    swapped = arithmetic.mixed_compare(_MIRRORED[name])
    return (
        *plain,
        _binary(FLOAT, floats, BOOL),
        Row((INT, FLOAT), BOOL, mixed),
        Row((FLOAT, INT), BOOL, lambda a, b: swapped(b, a)),
    )


_MIRRORED = {
    "equal": "equal",
    "unequal": "unequal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}

COMPARE: dict[type[ast.cmpop], tuple[Row, ...]] = {
    ast.Eq: _comparison("equal", arithmetic.float_equal),
    ast.NotEq: _comparison("unequal", arithmetic.float_unequal),
    ast.Lt: _comparison("less", arithmetic.float_less),
    ast.LtE: _comparison("less_equal", arithmetic.float_less_equal),
    ast.Gt: _comparison("greater", arithmetic.float_greater),
    ast.GtE: _comparison("greater_equal", arithmetic.float_greater_equal),
}

IN: tuple[Row, ...] = (
    Row((STR, STR), BOOL, Plain("contained")),
    *(Row((type_, List(type_)), BOOL, Plain("array_member")) for type_ in (INT, STR, BOOL, BYTES, DATE, DATETIME)),
)

_SORTED = (INT, STR, BYTES, DATE, DATETIME, BOOL)

FUNCTIONS: dict[Any, tuple[Row, ...]] = {
    len: (
        Row((Set,), INT, Plain("size")),
        Row((STR,), INT, Plain("length")),
        Row((BYTES,), INT, Plain("octet_length")),
        Row((List,), INT, Simplified("size")),
        Row((Dict,), INT, Plain("size")),
    ),
    abs: (
        Row((INT,), INT, Plain("abs", fails=True)),
        Row((FLOAT,), FLOAT, Plain("abs")),
        Row((DELTA,), DELTA, Plain("abs", fails=True)),
    ),
    min: (
        *(_binary(type_, Plain("least")) for type_ in (INT, STR, BYTES, DATE, DATETIME, DELTA)),
        _binary(FLOAT, arithmetic.float_min),
        *(Row((List(type_),), type_, texts.list_extreme("array_min")) for type_ in _SORTED),
        Row((List(FLOAT),), FLOAT, arithmetic.float_extreme("array_min")),
    ),
    max: (
        *(_binary(type_, Plain("greatest")) for type_ in (INT, STR, BYTES, DATE, DATETIME, DELTA)),
        _binary(FLOAT, arithmetic.float_max),
        *(Row((List(type_),), type_, texts.list_extreme("array_max")) for type_ in _SORTED),
        Row((List(FLOAT),), FLOAT, arithmetic.float_extreme("array_max")),
    ),
    sum: (
        Row((List(INT),), INT, Simplified("sum", fails=True)),
        Row((List(INT), INT), INT, Plain("fold_sum", fails=True)),
        Row((List(BOOL),), INT, Simplified("sum_of_bools")),
        Row((List(FLOAT),), FLOAT, texts.list_sum),
        Row((List(FLOAT), FLOAT), FLOAT, Plain(texts.SUM_OF_FLOATS)),
    ),
    sorted: (
        *(Row((List(type_),), List(type_), Plain("sorted")) for type_ in _SORTED),
        Row((STR,), List(STR), lambda a: call("sorted", text_edges.characters(a))),
    ),
    round: (
        Row((INT,), INT, Plain("itself")),
        Row((INT, Constant(int, lambda ndigits: ndigits >= 0)), INT, lambda a, _: a),
        Row((FLOAT,), INT, arithmetic.float_to_int("rint")),
        Row((FLOAT, Constant(type(None))), INT, lambda a, _: arithmetic.float_to_int("rint")(a)),
    ),
    ord: (Row((STR,), INT, text_edges.code_point),),
    chr: (Row((INT,), STR, text_edges.character),),
    int: (
        Row((INT,), INT, Plain("itself")),
        Row((BOOL,), INT, Plain("bigint")),
        Row((FLOAT,), INT, arithmetic.float_to_int("")),
        Row((STR,), INT, texts.text_to_int),
        Row((STR, Constant(int, lambda base: base in (2, 8, 16))), INT, texts.text_to_int_of_base),
    ),
    float: (
        Row((FLOAT,), FLOAT, Plain("itself")),
        Row((INT,), FLOAT, Plain("double")),
        Row((BOOL,), FLOAT, Plain("double_of_bool")),
        Row((STR,), FLOAT, texts.text_to_float),
    ),
    str: (
        Row((STR,), STR, Plain("itself")),
        Row((INT,), STR, Plain("string")),
        Row((BOOL,), STR, arithmetic.bool_text),
        Row((FLOAT,), STR, arithmetic.float_text),
        Row((DATE,), STR, Plain("string")),
        Row((DATETIME,), STR, dates.isoformat(" ")),
    ),
    dt.date: (Row((INT, INT, INT), DATE, dates.make_date),),
    dt.datetime: tuple(Row((INT,) * count, DATETIME, dates.make_time) for count in (3, 4, 5, 6)),
    dt.date.fromisoformat: (Row((STR,), DATE, dates.date_of_text),),
    dt.datetime.fromisoformat: (Row((STR,), DATETIME, dates.time_of_text),),
    math.floor: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int("floor"))),
    math.ceil: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int("ceil"))),
    math.trunc: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int(""))),
    math.sqrt: (
        Row((FLOAT,), FLOAT, arithmetic.float_sqrt),
        Row((INT,), FLOAT, lambda a: arithmetic.float_sqrt(call("double", a))),
    ),
    math.isinf: (Row((FLOAT,), BOOL, arithmetic.is_infinite),),
    math.isfinite: (Row((FLOAT,), BOOL, arithmetic.is_finite),),
    hash: (Row((INT,), INT, arithmetic.int_hash), Row((BOOL,), INT, Plain("bigint"))),
    bin: (Row((INT,), STR, arithmetic.with_base("0b", "bin")),),
    hex: (Row((INT,), STR, arithmetic.with_base("0x", "hex")),),
    zlib.crc32: (Row((BYTES,), INT, Plain("crc32")),),
    calendar.isleap: (Row((INT,), BOOL, dates.is_leap),),
    dt.datetime.strptime: (Row((STR, Constant(str, _is_fixed)), DATETIME, dates.strptime),),
    math.fabs: (Row((FLOAT,), FLOAT, Plain("abs")),),
    math.isnan: (Row((FLOAT,), BOOL, Plain("is_nan")),),
}

FOLDED = frozenset({min, max})
"""Functions with rows for two arguments that take any number of them, from left to right."""

FOLDS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
"""Operators between two constants are computed by Python."""
