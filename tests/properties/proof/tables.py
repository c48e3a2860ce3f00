"""Rows of arguments as columns and back, apart from the code under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from morisot.compile.ir.expressions import Input
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Dict,
    List,
    Optional,
    Record,
    Tuple,
    Type,
)
from morisot.types.records import field_names, is_record_class

_ARROW: dict[Type, pa.DataType] = {
    INT: pa.int64(), FLOAT: pa.float64(), BOOL: pa.bool_(), STR: pa.string(), BYTES: pa.binary(), DATE: pa.date32(),
    DATETIME: pa.timestamp("us"),
}  # fmt: skip


def arrow_type(type_: Type) -> pa.DataType:
    match type_:
        case Optional(inner):
            return arrow_type(inner)
        case List(item):
            return pa.list_(arrow_type(item))
        case Dict(value):
            return pa.map_(pa.string(), arrow_type(value))
        case Tuple() | Record():
            names = type_.names if isinstance(type_, Record) else [f"_{i}" for i in range(len(type_.items))]
            return pa.struct([(name, arrow_type(item)) for name, item in zip(names, type_.items, strict=True)])
    return _ARROW[type_]


def table_of(types: Sequence[Type], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """One column for each leaf, named by parameter and path, and the number of the row."""
    columns: dict[str, Any] = {"row": pa.array(range(len(rows)), pa.int64())}

    def add(type_: Type, values: list[Any], index: int, path: tuple[int, ...]) -> None:
        for place, (name, child) in enumerate(type_.children):
            parts = [value[place] if isinstance(value, tuple) else getattr(value, name) for value in values]
            add(child, parts, index, (*path, place))
        if not type_.children:
            columns[column_name(Input(index, path))] = pa.array(list(map(_plain, values)), arrow_type(type_))

    for index, type_ in enumerate(types):
        add(type_, [row[index] for row in rows], index, ())
    return pa.table(columns)


def _plain(value: Any) -> Any:
    """As Arrow takes it: a tuple inside a column is a struct."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [(key, _plain(item)) for key, item in value.items()]
    if is_record_class(type(value)):
        return {name: _plain(getattr(value, name)) for name in field_names(type(value))}
    return {f"_{place}": _plain(item) for place, item in enumerate(value)} if type(value) is tuple else value


def column_name(leaf: Input) -> str:
    return "/".join(map(str, (f"p{leaf.parameter}", *leaf.path)))


def name_of(leaf: Input) -> str:
    return quoted(column_name(leaf))


def assemble(type_: Type, leaves: Iterator[Any]) -> Any:
    """The Python value from its leaves as Arrow gives them."""
    if not type_.children:
        return _revived(type_, next(leaves))
    items = [assemble(child, leaves) for _, child in type_.children]
    return type_.cls(*items) if isinstance(type_, Record) else tuple(items)


def _revived(type_: Type, value: Any) -> Any:
    if value is None:
        return None
    match type_:
        case Optional(inner):
            return _revived(inner, value)
        case List(item):
            return [_revived(item, one) for one in value]
        case Tuple(items):
            return tuple(_revived(item, one) for item, one in zip(items, value.values(), strict=True))
        case Dict(item):
            return {key: _revived(item, one) for key, one in value}
        case Record(cls, _, items):
            return cls(*(_revived(item, one) for item, one in zip(items, value.values(), strict=True)))
    return value
