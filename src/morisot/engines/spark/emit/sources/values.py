"""SQL for the values of CSV fields and JSON objects: the value that worker/files/values.py computes, or a guard."""

from __future__ import annotations

from morisot.compile.ir.values import field_names
from morisot.engines.spark.emit.frames.sql import guard, quoted, sql_text, sql_type
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Record, Type
from morisot.types.records import column_names

_REPLACED = sql_text("\ufffd")
"""The character for bytes that are not UTF-8."""
_FLOATS = {"nan": "NaN", "+nan": "NaN", "-nan": "NaN"} | {
    f"{sign}{name}": f"{'-' if sign == '-' else ''}Infinity" for sign in ("", "+", "-") for name in ("inf", "infinity")
}
_LONG_FORM = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$"


def from_text(column: str, type_: Type) -> str:
    """The value of a CSV field in a column of text. It is NULL if the field is empty and has no quotes."""
    if isinstance(type_, Optional):
        nothing = f"{column} IS NULL" if type_.inner == STR else f"{column} IS NULL OR {column} = ''"
        return f"CASE WHEN {nothing} THEN NULL ELSE {_of_text(column, type_.inner)} END"
    return _of_text(f"coalesce({column}, '')" if type_ == STR else column, type_)


def _of_text(column: str, type_: Type) -> str:
    misfit = guard(f"a value is not of the type {type_}")
    if type_ == STR:
        return f"CASE WHEN contains({column}, {_REPLACED}) THEN {misfit} ELSE {column} END"
    value = f"try_cast({column} AS {sql_type(type_)})"
    if type_ == INT:
        plain = f"CAST({value} AS STRING) = {column} OR {column} RLIKE '^[+-]?[0-9]+$'"
        return f"coalesce(CASE WHEN {plain} THEN {value} END, {misfit})"
    if type_ == FLOAT:
        names = " ".join(f"WHEN '{name}' THEN DOUBLE('{value}')" for name, value in _FLOATS.items())
        special = f"CASE lower({column}) {names} ELSE {misfit} END"
        return f"CASE WHEN {column} RLIKE '[^-+.0-9eE]' THEN {special} ELSE coalesce({value}, {misfit}) END"
    if type_ == BOOL:
        return f"CASE lower({column}) WHEN 'true' THEN true WHEN 'false' THEN false ELSE {misfit} END"
    return _moment(column, type_, value, misfit)


def _moment(column: str, type_: Type, value: str, misfit: str) -> str:
    """A date or datetime. The positions of the separators are cheaper to test than a pattern."""
    assert type_ in (DATE, DATETIME), f"no rule for {type_}"
    after_day = [f"substr({column}, 11, 1) IN (' ', 'T')", f"substr({column}, 14, 1) = ':'"]
    shape = [
        f"length({column}) = {10 if type_ == DATE else 19}",
        f"substr({column}, 5, 1) = '-'",
        f"substr({column}, 8, 1) = '-'",
        *([*after_day, f"substr({column}, 17, 1) = ':'"] if type_ == DATETIME else []),
        f"right({column}, 1) BETWEEN '0' AND '9'",
        f"left({column}, 1) BETWEEN '0' AND '9'",
    ]
    plain = " AND ".join(shape)
    if type_ == DATETIME:
        plain = f"({plain}) OR {column} RLIKE '{_LONG_FORM}'"
    first = f"{'DATE' if type_ == DATE else 'TIMESTAMP_NTZ'}'0001-01-01'"
    return f"coalesce(CASE WHEN ({plain}) AND {value} >= {first} THEN {value} END, {misfit})"


def json_type(type_: Type) -> str:
    """The SQL type with which Spark parses a JSON value. Dates are converted by `from_json`."""
    match type_:
        case Optional(inner):
            return json_type(inner)
        case List(item):
            return f"ARRAY<{json_type(item)}>"
        case Dict(item):
            return f"MAP<STRING, {json_type(item)}>"
        case _ if type_.children:
            fields = ", ".join(
                f"{quoted(name)}: {json_type(child)}"
                for name, (_, child) in zip(_columns(type_), type_.children, strict=True)
            )
            return f"STRUCT<{fields}>"
    return "STRING" if type_ in (DATE, DATETIME) else sql_type(type_)


def _columns(type_: Type) -> tuple[str, ...]:
    """The names that the parts of a value have in the file."""
    return column_names(type_.cls) if isinstance(type_, Record) else field_names(type_)


def from_json(value: str, type_: Type, depth: int = 0) -> str:
    """The value of a field that Spark has parsed as its `json_type`."""
    misfit = guard(f"a value is not of the type {type_}")
    if isinstance(type_, Optional):
        if type_.inner in (INT, FLOAT, BOOL, BYTES):
            return value
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE {from_json(value, type_.inner, depth)} END"
    item = f"x{depth}"
    match type_:
        case List(of):
            value = f"transform({value}, {item} -> {from_json(item, of, depth + 1)})"
        case Dict(of):
            value = f"transform_values({value}, (k{depth}, {item}) -> {from_json(item, of, depth + 1)})"
        case _ if type_.children:
            parts = ", ".join(
                f"{sql_text(name)}, {from_json(f'{value}.{quoted(column)}', child, depth)}"
                for name, column, (_, child) in zip(field_names(type_), _columns(type_), type_.children, strict=True)
            )
            return f"CASE WHEN {value} IS NULL THEN {misfit} ELSE named_struct({parts}) END"
    if type_ == STR:
        return f"CASE WHEN {value} IS NULL OR contains({value}, {_REPLACED}) THEN {misfit} ELSE {value} END"
    if type_ in (DATE, DATETIME):
        return _of_text(value, type_)
    return f"coalesce({value}, {misfit})"
