"""The table of what is understood: operators, functions and methods, by the types of their arguments.

A row says: with arguments of these types the result has that type and this exact form. To teach the compiler a
function is to add a row. What has no row runs as Python.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from morisot.compile import arithmetic, texts
from morisot.compile.forms import Form, Plain, call, text
from morisot.compile.rows import Constant, Row, apply, constant_of, find
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Type

__all__ = ["apply", "constant_of", "find"]


def _binary(type_: Type, form: Form, result: Type | None = None) -> Row:
    return Row((type_, type_), result or type_, form)


def _is_factor(exponent: int) -> bool:
    return 1 <= exponent <= 8


def _are_texts(affixes: tuple[Any, ...]) -> bool:
    return all(type(affix) is str for affix in affixes)


def _is_shift(places: int) -> bool:
    return 0 <= places <= 62


BINARY: dict[type[ast.operator], tuple[Row, ...]] = {
    ast.Add: (
        _binary(INT, Plain("add", fails=True)),
        _binary(FLOAT, Plain("add")),
        _binary(STR, Plain("concat")),
        _binary(BYTES, Plain("concat")),
    ),
    ast.Sub: (_binary(INT, Plain("subtract", fails=True)), _binary(FLOAT, Plain("subtract"))),
    ast.Mult: (
        _binary(INT, Plain("multiply", fails=True)),
        _binary(FLOAT, Plain("multiply")),
        Row((STR, INT), STR, texts.text_repeat),
        Row((INT, STR), STR, lambda times, a: texts.text_repeat(a, times)),
    ),
    ast.Div: (_binary(INT, arithmetic.int_truediv, FLOAT), _binary(FLOAT, Plain("divide", fails=True))),
    ast.FloorDiv: (_binary(INT, arithmetic.int_floordiv), _binary(FLOAT, arithmetic.float_floordiv)),
    ast.Mod: (_binary(INT, arithmetic.int_mod), _binary(FLOAT, arithmetic.float_mod)),
    # With a float operand Java's pow differs from C's in the last bit, and x * x differs from both.
    ast.Pow: (Row((INT, Constant(int, _is_factor)), INT, arithmetic.int_power),),
    ast.BitAnd: (_binary(BOOL, Plain("and")), _binary(INT, Plain("bit_and"))),
    ast.BitOr: (_binary(BOOL, Plain("or")), _binary(INT, Plain("bit_or"))),
    ast.BitXor: (_binary(BOOL, Plain("unequal")), _binary(INT, Plain("bit_xor"))),
    ast.LShift: (Row((INT, Constant(int, _is_shift)), INT, arithmetic.int_shift_left),),
    ast.RShift: (Row((INT, Constant(int, lambda places: places >= 0)), INT, arithmetic.int_shift_right),),
}

UNARY: dict[type[ast.unaryop], tuple[Row, ...]] = {
    ast.USub: (Row((INT,), INT, Plain("negative", fails=True)), Row((FLOAT,), FLOAT, Plain("negative"))),
    ast.UAdd: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), FLOAT, Plain("itself"))),
    ast.Invert: (Row((INT,), INT, Plain("bit_not")),),
}

_ORDERED = (INT, STR, BYTES, DATE, DATETIME, BOOL)


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
        Row((STR,), INT, Plain("length")),
        Row((BYTES,), INT, Plain("octet_length")),
        Row((List,), INT, Plain("size")),
        Row((Dict,), INT, Plain("size")),
    ),
    abs: (Row((INT,), INT, Plain("abs", fails=True)), Row((FLOAT,), FLOAT, Plain("abs"))),
    min: (
        *(_binary(type_, Plain("least")) for type_ in (INT, STR, BYTES, DATE, DATETIME)),
        _binary(FLOAT, arithmetic.float_min),
        *(Row((List(type_),), type_, texts.list_extreme("array_min")) for type_ in _SORTED),
    ),
    max: (
        *(_binary(type_, Plain("greatest")) for type_ in (INT, STR, BYTES, DATE, DATETIME)),
        _binary(FLOAT, arithmetic.float_max),
        *(Row((List(type_),), type_, texts.list_extreme("array_max")) for type_ in _SORTED),
    ),
    sum: (Row((List(INT),), INT, Plain("sum", fails=True)),),
    sorted: tuple(Row((List(type_),), List(type_), Plain("sorted")) for type_ in _SORTED),
    list: tuple(Row((List(type_),), List(type_), Plain("itself")) for type_ in (*_SORTED, FLOAT)),
    round: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int("rint"))),
    int: (
        Row((INT,), INT, Plain("itself")),
        Row((BOOL,), INT, Plain("bigint")),
        Row((FLOAT,), INT, arithmetic.float_to_int("")),
        Row((STR,), INT, texts.text_to_int),
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
    ),
    math.floor: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int("floor"))),
    math.ceil: (Row((INT,), INT, Plain("itself")), Row((FLOAT,), INT, arithmetic.float_to_int("ceil"))),
    math.sqrt: (Row((FLOAT,), FLOAT, arithmetic.float_sqrt),),
    math.fabs: (Row((FLOAT,), FLOAT, Plain("abs")),),
    math.isnan: (Row((FLOAT,), BOOL, Plain("is_nan")),),
}

FOLDED = frozenset({min, max})
"""Functions of two arguments that take any number of them, from left to right."""

METHODS: dict[tuple[Type, str], tuple[Row, ...]] = {
    (STR, "lower"): (Row((STR,), STR, texts.text_case("lower")),),
    (STR, "upper"): (Row((STR,), STR, texts.text_case("upper")),),
    **{
        (STR, name): (
            Row((STR,), STR, texts.text_strip(function)),
            Row((STR, Constant(type(None))), STR, texts.text_strip(function)),
            Row((STR, Constant(str)), STR, texts.text_strip(function)),
        )
        for name, function in (("strip", "btrim"), ("lstrip", "ltrim"), ("rstrip", "rtrim"))
    },
    (STR, "split"): (
        Row((STR,), List(STR), texts.text_split_words),
        Row((STR, Constant(type(None))), List(STR), lambda a, _: texts.text_split_words(a)),
        Row((STR, Constant(str, bool)), List(STR), texts.text_split),
        Row((STR, Constant(str, bool), Constant(int)), List(STR), texts.text_split),
    ),
    (STR, "replace"): (
        Row((STR, Constant(str, bool), STR), STR, lambda a, old, new: call("replace", a, text(old), new)),
    ),
    **{
        (STR, name): (
            Row((STR, Constant(tuple, _are_texts)), BOOL, texts.text_starts(name)),
            Row((STR, STR), BOOL, Plain(name)),
        )
        for name in ("startswith", "endswith")
    },
    (STR, "join"): (Row((STR, List(STR)), STR, Plain("join")),),
    (STR, "find"): (Row((STR, STR), INT, Plain("find")),),
}

ATTRIBUTES: dict[tuple[Type, str], tuple[Row, ...]] = {
    **{(DATE, name): (Row((DATE,), INT, Plain(name)),) for name in ("year", "month", "day")},
    **{
        (DATETIME, name): (Row((DATETIME,), INT, Plain(name)),)
        for name in ("year", "month", "day", "hour", "minute", "second", "microsecond")
    },
}

KEYWORDS: dict[str, tuple[str, ...]] = {"split": ("sep", "maxsplit")}
"""The methods whose arguments may be given by name."""

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
"""Operators between two constants are Python's own."""
