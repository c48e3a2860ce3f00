"""Rows of CSV and JSON files, read in plain Python, with their line numbers and the errors of rows that do not fit."""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from morisot.errors import SourceError
from morisot.plan.files import columns_of_fields
from morisot.plan.nodes.source import StreamCsv, StreamJson
from morisot.runtime.local_files import local_files, open_text
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Record, Type

_LONGEST_FIELD = 2**31 - 1
"""Python's limit for a field is 131,072 characters, for the whole process; Spark has no limit."""


class RawRow(NamedTuple):
    """A row of a file, and how it is converted to a record."""

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


def misfits(node: StreamCsv | StreamJson) -> Iterator[SourceError]:
    """The error of each row that does not fit."""
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
    indexes = columns_of_fields(node, header, by_position=True)
    return node.type.cls(*(from_text(row[index], type_) for index, type_ in zip(indexes, node.type.items, strict=True)))


def from_text(text: str, type_: Type) -> Any:
    """The value of a CSV field: numbers in decimal notation, ISO dates, true or false. An empty field is None or ''."""
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
    """The Python value of the type for a JSON value."""
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
