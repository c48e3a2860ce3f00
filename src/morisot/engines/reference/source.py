"""What sources mean."""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from morisot.engines.reference.registry import call, evaluates
from morisot.errors import PlanError, SourceError
from morisot.plan.files import columns_of_fields, local_files, open_text
from morisot.plan.nodes.source import (
    StreamArrow,
    StreamChannel,
    StreamCsv,
    StreamFile,
    StreamIter,
    StreamJson,
    StreamParIter,
    StreamParquet,
    StreamRange,
)
from morisot.types import arrow, infer
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


@evaluates(StreamChannel)
def evaluate_stream_channel(node: StreamChannel) -> Iterable[Any]:
    """What was sent before the inlet was closed."""
    if not node.inlet.closed:
        raise PlanError(
            f"{node.operator} is open: nobody knows yet where the stream ends",
            location=node.location,
            advice="close the inlet before the job runs; on Spark, ctx.start() runs beside whoever sends",
        )
    return list(node.inlet.elements)


@evaluates(StreamFile)
def evaluate_stream_file(node: StreamFile) -> Iterator[str]:
    for file in local_files(node.path):
        with open_text(file) as lines:
            for line in lines:
                yield line.removesuffix("\n")


@evaluates(StreamCsv)
def evaluate_stream_csv(node: StreamCsv) -> Iterator[Any]:
    return fitting(node, csv_rows(node))


@evaluates(StreamJson)
def evaluate_stream_json(node: StreamJson) -> Iterator[Any]:
    return fitting(node, json_rows(node))


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
    places = columns_of_fields(node, table.column_names, by_place=isinstance(node, StreamArrow))
    columns = [table.column_names[place] for place in places]
    for row in table.to_pylist():
        for column, type_ in zip(columns, node.type.items, strict=True):
            if row[column] is None and not isinstance(type_, Optional):
                raise SourceError(f"{node.operator} ({node.location}): a row has no value for `{column}`, a {type_}")
        yield node.type.cls(*(of_table(row[c], t) for c, t in zip(columns, node.type.items, strict=True)))


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


_LONGEST_FIELD = 2**31 - 1
"""Python's reader takes 131,072 characters unless it is told otherwise, for the whole process; Spark takes any."""


class RawRow(NamedTuple):
    """A row as it stands in its file, and how it becomes a record."""

    file: str
    line: int
    text: str
    record: Callable[[], Any]


def csv_rows(node: StreamCsv) -> Iterator[RawRow]:
    assert isinstance(node.type, Record)
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    for file in local_files(node.path):
        with open_text(file, newline="") as lines:
            rows = csv.reader(lines, delimiter=node.delimiter, quotechar=node.quote)
            header = next(rows, ()) if node.header else node.type.names
            for row in filter(None, rows):
                yield RawRow(file, rows.line_num, node.delimiter.join(row), partial(read_row, node, row, header))


def json_rows(node: StreamJson) -> Iterator[RawRow]:
    for file in local_files(node.path):
        with open_text(file) as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield RawRow(file, number, line.strip(), partial(read_object, node, line))


def fitting(node: StreamCsv | StreamJson, rows: Iterable[RawRow]) -> Iterator[Any]:
    """The records of the rows; one that does not fit is an error, or is left out."""
    for row in rows:
        try:
            yield row.record()
        except (ValueError, KeyError, TypeError) as error:
            if node.on_error == "raise":
                raise bad_row(node, row, error) from None


def misfits(node: StreamCsv | StreamJson) -> Iterator[SourceError]:
    """What is wrong with each row that does not fit."""
    for row in csv_rows(node) if isinstance(node, StreamCsv) else json_rows(node):
        try:
            row.record()
        except (ValueError, KeyError, TypeError) as error:
            yield bad_row(node, row, error)


def bad_row(node: StreamCsv | StreamJson, row: RawRow, error: Exception) -> SourceError:
    return SourceError(
        f"{node.operator} ({node.location}): a row does not fit {node.type}: {row.text!r} in {row.file}, "
        f"line {row.line}: {error}"
    )


def read_row(node: StreamCsv, row: Sequence[str], header: Sequence[str]) -> Any:
    assert isinstance(node.type, Record)
    if len(row) != len(header):
        raise ValueError(f"{len(row)} values for {len(header)} columns")
    places = columns_of_fields(node, header, by_place=True)
    return node.type.cls(*(from_text(row[place], type_) for place, type_ in zip(places, node.type.items, strict=True)))


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


# ---- the type of files' rows


def row_type(kind: str, files: Sequence[str], path: str) -> Record:
    """What the rows of Parquet or JSON files are."""
    if not files:
        raise SourceError(f"cannot read {path!r}: no file is there")
    if kind == "parquet":
        import pyarrow.parquet as pq

        return arrow.row_type_of(pq.read_schema(files[0]))
    rows = [json.loads(line) for file in files for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    names = sorted({name for row in rows for name in row})
    return infer.row_type([(name, infer.of_values([row.get(name) for row in rows])) for name in names])
