"""What sources mean."""

from __future__ import annotations

import csv
import datetime
import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

from morisot.errors import SourceError
from morisot.plan.files import local_files, normal
from morisot.plan.source import (
    StreamArrow,
    StreamCsv,
    StreamFile,
    StreamIter,
    StreamJson,
    StreamParIter,
    StreamParquet,
    StreamRange,
)
from morisot.reference.registry import call, evaluates
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Record, Tuple, Type


@evaluates(StreamIter)
def evaluate_stream_iter(node: StreamIter) -> Iterable[Any]:
    return node.values


@evaluates(StreamRange)
def evaluate_stream_range(node: StreamRange) -> Iterable[Any]:
    return node.range


@evaluates(StreamParIter)
def evaluate_stream_par_iter(node: StreamParIter) -> Iterable[Any]:
    """One instance makes the whole stream."""
    yield from call(node, node.generator, 0, 1)


@evaluates(StreamFile)
def evaluate_stream_file(node: StreamFile) -> Iterator[str]:
    for file in local_files(node.path):
        with open_text(file) as lines:
            for line in lines:
                yield line.removesuffix("\n")


@evaluates(StreamCsv)
def evaluate_stream_csv(node: StreamCsv) -> Iterator[Any]:
    for file in local_files(node.path):
        with open_text(file, newline="") as lines:
            rows = csv.reader(lines, delimiter=node.delimiter, quotechar=node.quote)
            places = columns_by_place(node, next(rows, None)) if node.header else None
            for row in rows:
                if row:
                    yield from fitting(node, file, rows.line_num, row, lambda row=row, at=places: read_row(node, row, at))


@evaluates(StreamJson)
def evaluate_stream_json(node: StreamJson) -> Iterator[Any]:
    for file in local_files(node.path):
        with open_text(file) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from fitting(node, file, number, line.strip(), lambda line=line: read_object(node, line))


@evaluates(StreamParquet)
def evaluate_stream_parquet(node: StreamParquet) -> Iterator[Any]:
    import pyarrow.parquet as pq

    for file in local_files(node.path):
        yield from rows_of_table(node, pq.read_table(file))


@evaluates(StreamArrow)
def evaluate_stream_arrow(node: StreamArrow) -> Iterator[Any]:
    return rows_of_table(node, node.table)


def rows_of_table(node: StreamParquet | StreamArrow, table: Any) -> Iterator[Any]:
    """The rows of an Arrow table as records."""
    assert isinstance(node.type, Record)
    by_name = {normal(name): name for name in table.column_names}
    for row in table.to_pylist():
        values = (row[by_name.get(normal(name), name)] for name in node.type.names)
        yield node.type.cls(*(of_table(v, t) for v, t in zip(values, node.type.items, strict=True)))


def of_table(value: Any, type_: Type) -> Any:
    """A table's value as a Python element's: structs are records, maps are dicts."""
    match type_:
        case Optional(inner):
            return None if value is None else of_table(value, inner)
        case Record(cls, names, items):
            return cls(*(of_table(value[name], item) for name, item in zip(names, items, strict=True)))
        case Tuple(items):
            return tuple(map(of_table, value.values(), items))
        case List(item):
            return [of_table(each, item) for each in value]
        case Dict(item):
            return {key: of_table(each, item) for key, each in (value.items() if isinstance(value, dict) else value)}
        case _:
            return value


def open_text(file: str, newline: str | None = None) -> TextIO:
    if file.endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8", newline=newline)  # type: ignore[return-value]
    return open(file, encoding="utf-8", newline=newline)


def fitting(
    node: StreamCsv | StreamJson, file: str, line: int, row: Any, build: Callable[[], Any]
) -> Iterator[Any]:
    """The record of a row; a row that does not fit is an error, or is left out."""
    try:
        yield build()
    except (ValueError, KeyError, TypeError) as error:
        if node.on_error == "skip":
            return
        raise SourceError(
            f"{node.operator} ({node.location}): a row does not fit {node.type}: {row} in {file}, line {line}: {error}"
        ) from None


def columns_by_place(node: StreamCsv, header: Sequence[str] | None) -> list[int] | None:
    """Where each field's column stands; by the header's names if they are the fields', else in the fields' order."""
    assert isinstance(node.type, Record)
    names = [normal(name) for name in header or ()]
    wanted = [normal(name) for name in node.type.names]
    if all(name in names for name in wanted):
        return [names.index(name) for name in wanted]
    if header is None or len(names) == len(wanted):
        return None
    raise SourceError(
        f"{node.operator} ({node.location}): {node.type} has the fields {', '.join(node.type.names)}, "
        f"but the header of {node.path!r} says {', '.join(header)}"
    )


def read_row(node: StreamCsv, row: Sequence[str], places: Sequence[int] | None) -> Any:
    assert isinstance(node.type, Record)
    if places is None and len(row) != len(node.type.names):
        raise ValueError(f"{len(row)} values for {len(node.type.names)} fields")
    chosen = row if places is None else [row[place] for place in places]
    return node.type.cls(*map(from_text, chosen, node.type.items))


def from_text(text: str, type_: Type) -> Any:
    """A CSV field as a value: numbers in plain decimal notation, ISO dates, true or false; empty is None or ''."""
    if isinstance(type_, Optional):
        return None if text == "" else from_text(text, type_.inner)
    if type_ == STR:
        return text
    if type_ == INT and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if type_ == FLOAT and text == text.strip() and "_" not in text:
        return float(text)
    if type_ == BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if type_ == DATE:
        return datetime.date.fromisoformat(text)
    if type_ == DATETIME:
        return datetime.datetime.fromisoformat(text)
    raise ValueError(f"{text!r} is not of the type {type_}")


def read_object(node: StreamJson, line: str) -> Any:
    assert isinstance(node.type, Record)
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
    fields = zip(node.type.names, node.type.items, strict=True)
    return node.type.cls(*(from_json(found.get(name), type_) for name, type_ in fields))


def from_json(value: Any, type_: Type) -> Any:
    """A JSON value as a value of the type."""
    match type_, value:
        case Optional(inner), _:
            return None if value is None else from_json(value, inner)
        case _, None if type_ == STR:
            return ""
        case List(item), list():
            return [from_json(each, item) for each in value]
        case Dict(item), dict():
            return {key: from_json(each, item) for key, each in value.items()}
        case Record(cls, names, items), dict():
            return cls(*(from_json(value.get(name), item) for name, item in zip(names, items, strict=True)))
        case _, bool() if type_ == BOOL:
            return value
        case _, str() if type_ in (DATE, DATETIME):
            return from_text(value, type_)
        case _, str() if type_ == STR:
            return value
        case _, int() | float() if not isinstance(value, bool):
            if type_ == FLOAT:
                return float(value)
            if type_ == INT and isinstance(value, int):
                return value
    raise ValueError(f"{value!r} is not of the type {type_}")


