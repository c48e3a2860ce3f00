"""Renders expressions as Spark SQL text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

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
from morisot.compile.ir.values import DAY, DELTA, Match, Set, field_names
from morisot.engines.spark.emit.frames.guards import message_of_guard
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Decimal,
    Dict,
    List,
    Optional,
    Type,
)

NameOf = Callable[[Input], str]
"""Returns the SQL of the column of an input, a quoted name."""

_TYPES: dict[Type, str] = {
    INT: "BIGINT",
    FLOAT: "DOUBLE",
    BOOL: "BOOLEAN",
    STR: "STRING",
    BYTES: "BINARY",
    DATE: "DATE",
    DATETIME: "TIMESTAMP_NTZ",
    NONE: "VOID",
    ANY: "BINARY",
    DELTA: "BIGINT",
    DAY: "BIGINT",
}

TEMPLATES: dict[str, str] = {
    "itself": "{0}",
    # arithmetic; ANSI mode makes overflow and division by zero an error
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "div": "({0} div {1})",
    "rem": "({0} % {1})",
    "pmod": "pmod({0}, {1})",
    "negative": "(- {0})",
    "abs": "abs({0})",
    "rint": "rint({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    # floor() of a DOUBLE is a BIGINT; from 2**53 on every float is whole
    "floor_double": "(CASE WHEN abs({0}) < 9007199254740992D THEN double(floor({0})) ELSE {0} END)",
    "sqrt": "sqrt({0})",
    "least": "least({*})",
    "greatest": "greatest({*})",
    "is_nan": "isnan({0})",
    "bit_and": "({0} & {1})",
    "bit_or": "({0} | {1})",
    "bit_xor": "({0} ^ {1})",
    "bit_not": "(~ {0})",
    "shift_left": "shiftleft({0}, int({1}))",
    "shift_right": "shiftright({0}, int({1}))",
    # comparison and logic
    "equal": "({0} = {1})",
    "unequal": "({0} <> {1})",
    "same": "({0} <=> {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    # not BETWEEN, whose first operand Spark computes before, even inside a CASE branch that is not taken
    "between": "({0} >= {1} AND {0} <= {2})",
    "in": "({0} IN ({*1}))",
    "and": "({0} AND {1})",
    "or": "({0} OR {1})",
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
    "is_not_null": "({0} IS NOT NULL)",
    "coalesce": "coalesce({*})",
    # always true, but Spark has to evaluate the hashed expression
    "evaluated": "(xxhash64({*}) >= CAST(-9223372036854775808 AS BIGINT))",
    # conversion
    "bigint": "CAST({0} AS BIGINT)",
    "double": "CAST({0} AS DOUBLE)",
    "double_of_bool": "CAST(CAST({0} AS INT) AS DOUBLE)",
    "string": "CAST({0} AS STRING)",
    # text
    "concat": "concat({*})",
    "length": "bigint(length({0}))",
    "octet_length": "bigint(octet_length({0}))",
    "lower": "lower({0})",
    "upper": "upper({0})",
    "trim": "trim({0})",
    "trim_left": "ltrim({0})",
    "trim_right": "rtrim({0})",
    "trim_of": "btrim({0}, {1})",
    "trim_left_of": "ltrim({1}, {0})",
    "trim_right_of": "rtrim({1}, {0})",
    "split": "split({0}, {1}, int({2}))",
    "translate": "translate({0}, {1}, {2})",
    "replace": "replace({0}, {1}, {2})",
    "startswith": "startswith({0}, {1})",
    "endswith": "endswith({0}, {1})",
    "contained": "contains({1}, {0})",
    "find": "bigint(instr({0}, {1}) - 1)",
    "substring": "substring({0}, int({1}), int({2}))",
    "substring_from": "substring({0}, int({1}))",
    "repeat": "repeat({0}, int({1}))",
    "reverse": "reverse({0})",
    "rlike": "({0} RLIKE {1})",
    "lpad": "lpad({0}, int({1}), {2})",
    "rpad": "rpad({0}, int({1}), {2})",
    "code_point": "bigint(ascii({0}))",
    "character": "chr({0})",
    "characters": "split({0}, '', -1)",
    "no_texts": "CAST(array() AS ARRAY<STRING>)",
    "utf8": "encode({0}, 'UTF-8')",
    "hex": "hex({0})",
    "bin": "bin({0})",
    "grouped": "format_number({0}, 0)",
    "join": "array_join({1}, {0})",
    "initcap": "initcap({0})",
    "substring_index": "substring_index({0}, {1}, int({2}))",
    "locate": "bigint(locate({0}, {1}, int({2})) - 1)",
    "conv": "conv({0}, int({1}), 10)",
    "regexp_replace": "regexp_replace({0}, {1}, {2})",
    "regexp_extract": "regexp_extract({0}, {1}, int({2}))",
    "regexp_extract_all": "regexp_extract_all({0}, {1}, int({2}))",
    "crc32": "crc32({0})",
    "bit_count": "bigint(bit_count({0}))",
    # lists
    "array": "array({*})",
    "size": "bigint(size({0}))",
    "get": "get({0}, int({1}))",
    "slice": "slice({0}, int({1}), int({2}))",
    "array_member": "array_contains({1}, {0})",
    "array_min": "array_min({0})",
    "array_max": "array_max({0})",
    "sum": "aggregate({0}, 0L, (total, item) -> total + item)",
    "sum_of_bools": "aggregate({0}, 0L, (total, item) -> total + bigint(item))",
    # not array_sort, which calls a lambda for every comparison
    "sorted": "sort_array({0})",
    "array_position": "array_position({0}, {1})",
    "occurrences": "bigint(size(filter({0}, item -> item = {1})))",
    "intersect": "array_intersect({0}, {1})",
    "union": "array_union({0}, {1})",
    "except": "array_except({0}, {1})",
    "map_concat": "map_concat({0}, {1})",
    "flatten": "flatten({0})",
    "has_key": "map_contains_key({0}, {1})",
    "value_at": "try_element_at({0}, {1})",
    "array_remove": "array_remove({0}, {1})",
    "reverse_list": "reverse({0})",
    "repeat_list": "flatten(array_repeat({0}, int({1})))",
    "sequence": "sequence({0}, {1}, {2})",
    "fold_sum": "aggregate({0}, {1}, (total, item) -> total + item)",
    # Neumaier's summation, as in CPython 3.12: rounding errors are added at the end, if their sum is finite and not 0
    "compensated_sum": (
        "aggregate({0}, struct({1} AS total, 0D AS lost), (state, item) -> struct("
        "state.total + item AS total, state.lost + IF(abs(state.total) >= abs(item), "
        "(state.total - (state.total + item)) + item, (item - (state.total + item)) + state.total) AS lost), "
        "state -> IF(state.lost <> 0D AND abs(state.lost) < double('Infinity'), state.total + state.lost, state.total))"
    ),
    "keys": "map_keys({0})",
    "values": "map_values({0})",
    "entries": "map_entries({0})",
    "map": "map({*})",
    "map_of_entries": "map_from_entries({0})",
    "map_of_lists": "map_from_arrays({0}, {1})",
    "distinct": "array_distinct({0})",
    # dates and times
    "year": "bigint(year({0}))",
    "month": "bigint(month({0}))",
    "day": "bigint(day({0}))",
    "hour": "bigint(hour({0}))",
    "minute": "bigint(minute({0}))",
    "second": "bigint(second({0}))",
    "microsecond": "(bigint(extract(SECOND FROM {0}) * 1000000) % 1000000)",
    "weekday": "bigint(weekday({0}))",
    "day_of_year": "bigint(dayofyear({0}))",
    "last_day": "bigint(day(last_day({0})))",
    "iso_week": "bigint(weekofyear({0}))",
    "iso_year": "bigint(extract(YEAROFWEEK FROM {0}))",
    "day_name": "dayname({0})",
    "month_name": "monthname({0})",
    "full_day_name": (
        "elt(weekday({0}) + 1, 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday')"
    ),
    "full_month_name": (
        "elt(month({0}), 'January', 'February', 'March', 'April', 'May', 'June', "
        "'July', 'August', 'September', 'October', 'November', 'December')"
    ),
    "date": "CAST({0} AS DATE)",
    "timestamp": "CAST({0} AS TIMESTAMP_NTZ)",
    "date_diff": "bigint(datediff({0}, {1}))",
    "date_add": "date_add({0}, int({1}))",
    # not timestampdiff, which uses the time zone of the session; the seconds, then the fraction as seconds
    "time_diff": (
        "(bigint(CAST({0} - {1} AS INTERVAL SECOND)) * 1000000L + bigint(CAST(({0} - {1} - INTERVAL '1' SECOND "
        "* bigint(CAST({0} - {1} AS INTERVAL SECOND))) * 1000000L AS INTERVAL SECOND)))"
    ),
    "time_add": "timestampadd(MICROSECOND, {1}, {0})",
    "make_date": "make_date(int({0}), int({1}), int({2}))",
    "make_time": "make_timestamp_ntz(int({0}), int({1}), int({2}), int({3}), int({4}), {5})",
}
"""The template of each call. {*} is replaced by all arguments, {*1} by all from the second on."""


def render(expr: Expr, name_of: NameOf) -> str:
    """The expression as Spark SQL text.

    >>> render(Call("add", (Input(0), Literal(1, INT))), lambda _: "`value/0`")
    '(`value/0` + 1L)'
    """

    def sql(part: Expr) -> str:
        return render(part, name_of)

    match expr:
        case Input():
            return name_of(expr)
        case Shared():
            return quoted(expr.name)
        case Variable(name):
            return quoted(name)
        case Literal(value, type_):
            return literal(value, type_)
        case Call(name, arguments):
            return _fill(TEMPLATES[name], [sql(argument) for argument in arguments])
        case Case(branches, otherwise):
            whens = " ".join(f"WHEN {sql(condition)} THEN {sql(then)}" for condition, then in branches)
            return f"(CASE {whens} ELSE {sql(otherwise)} END)"
        case Struct(names, items):
            fields = (f"{sql_text(name)}, {sql(item)}" for name, item in zip(names, items, strict=True))
            return f"named_struct({', '.join(fields)})"
        case Field(struct, name):
            return f"{sql(struct)}.{quoted(name)}"
        case Each(function, items, variable, body, index):
            bound = f"({quoted(variable)}, {quoted(index)})" if index else quoted(variable)
            return f"{function}({sql(items)}, {bound} -> {sql(body)})"
        case Raise(reason):
            return guard(reason)
    raise AssertionError(f"an expression without a rendering: {expr}")


def _fill(template: str, arguments: list[str]) -> str:
    """Fills a template. str.format is not enough: the arguments may contain braces."""
    every = {"{*}": ", ".join(arguments), "{*1}": ", ".join(arguments[1:])}
    every |= {f"{{{index}}}": argument for index, argument in enumerate(arguments)}
    parts = template.split("{")
    filled = [parts[0]]
    for part in parts[1:]:
        index, rest = part.split("}", 1)
        filled.append(every["{" + index + "}"] + rest)
    return "".join(filled)


EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"


def micros_since_epoch(moment: str) -> str:
    """The ticks of a naive datetime, independent of the time zone of the session."""
    return _fill(TEMPLATES["time_diff"], [moment, EPOCH])


def quoted(name: str) -> str:
    """A quoted column name, with any characters.

    >>> quoted("value/a`b")
    '`value/a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "$": "\\u0024"}
"""Escaped characters. A dollar sign could begin a variable, which Spark replaces in every text that it parses."""


def guard(reason: str) -> str:
    """The expression that stops a job, because the native form would compute another value than Python."""
    return f"raise_error({sql_text(message_of_guard(reason))})"


def sql_text(value: str) -> str:
    r"""A string literal.

    >>> print(sql_text("it's\n${x}"))
    'it\'s\u000a\u0024{x}'
    """
    return "'" + "".join(map(_escape, value)) + "'"


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def literal(value: Any, type_: Type) -> str:
    """A constant of a type.

    >>> literal(-(2**63), INT), literal(0.1, FLOAT), literal(None, Optional(STR))
    ('CAST(-9223372036854775808 AS BIGINT)', '0.1D', 'CAST(NULL AS STRING)')
    """
    if value is None:
        return f"CAST(NULL AS {sql_type(type_)})"
    match type_:
        case Optional(inner):
            return literal(value, inner)
        case List(item):
            items = ", ".join(literal(one, item) for one in value)
            return f"array({items})" if value else f"CAST(array() AS {sql_type(type_)})"
    if type_.children:
        parts = zip(field_names(type_), value, (child for _, child in type_.children), strict=True)
        return f"named_struct({', '.join(f'{sql_text(name)}, {literal(item, child)}' for name, item, child in parts)})"
    return _SCALARS[type_](value)


def _integer(value: int) -> str:
    return f"{value}L" if value > -(2**63) else f"CAST({value} AS BIGINT)"


def _double(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return f"CAST('{value}' AS DOUBLE)"
    if math.copysign(1.0, value) < 0 and value == 0:
        return "(- abs(0.0D))"
    return f"{value!r}D"


def _time(value: dt.datetime) -> str:
    return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"


_SCALARS: dict[Type, Callable[[Any], str]] = {
    INT: _integer,
    FLOAT: _double,
    BOOL: lambda value: "true" if value else "false",
    STR: sql_text,
    BYTES: lambda value: f"X'{value.hex()}'",
    DATE: lambda value: f"DATE '{value.isoformat()}'",
    DATETIME: _time,
}


def sql_type(type_: Type) -> str:
    """The Spark type of a column that holds values of `type_`.

    >>> sql_type(List(Optional(INT)))
    'ARRAY<BIGINT>'
    """
    match type_:
        case Optional(inner):
            return sql_type(inner)
        case List(item) | Set(item):
            return f"ARRAY<{sql_type(item)}>"
        case Match():
            return "STRING"
        case Dict(value):
            return f"MAP<STRING, {sql_type(value)}>"
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
    if type_.children:
        fields = zip(field_names(type_), type_.children, strict=True)
        return f"STRUCT<{', '.join(f'{quoted(name)}: {sql_type(child)}' for name, (_, child) in fields)}>"
    return _TYPES[type_]
