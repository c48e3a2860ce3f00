"""The meaning of sinks: the files that they write."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from morisot.engines.reference.registry import evaluates
from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteCsv, WriteJson, WriteParquet, WriteSink, WriteText
from morisot.types.element import Dict, List, Optional, Record, Type, table_columns
from morisot.worker.codec.batches import arrow_type, encode_leaf, field_name


def as_row(element: Any, type_: Type) -> Sequence[Any]:
    """The values of the element's columns."""
    if isinstance(type_, Record) and not type_.is_tuple:
        return [getattr(element, name) for name in type_.names]
    return element if type_.children else [element]


def new_file(node: WriteSink, name: str) -> Path:
    """The file to write, in a directory that is new, or that the mode allows to exist."""
    directory = Path(node.path)
    if directory.exists() and node.mode == "error":
        raise SinkError(
            f"{node.operator} ({node.location}): {node.path!r} exists already; "
            'pass mode="overwrite" or mode="append", or choose another path'
        )
    if directory.exists() and node.mode == "overwrite":
        shutil.rmtree(directory)
    directory.mkdir(parents=True, exist_ok=True)
    return directory / f"part-{len(list(directory.iterdir())):05}-{name}"


@evaluates(WriteText)
def evaluate_write_text(node: WriteText, elements: Iterable[Any]) -> Iterable[Any]:
    text = "".join(f"{line}\n" for line in elements)
    new_file(node, "reference.txt").write_text(text, encoding="utf-8", newline="")
    return ()


@evaluates(WriteCsv)
def evaluate_write_csv(node: WriteCsv, elements: Iterable[Any]) -> Iterable[Any]:
    with new_file(node, "reference.csv").open("w", encoding="utf-8", newline="") as file:
        if node.header:
            file.write(csv_line([name for name, _, _ in table_columns(node.input.type)], node.delimiter))
        file.writelines(csv_line(as_row(element, node.input.type), node.delimiter) for element in elements)
    return ()


def csv_line(values: Sequence[Any], delimiter: str) -> str:
    """A line of a CSV file. A line with one blank field is quoted, because readers skip blank lines."""
    line = delimiter.join(csv_field(value, delimiter) for value in values)
    return (f'"{line}"' if len(values) == 1 and is_blank(line) else line) + "\n"


def is_blank(line: str) -> bool:
    return all(character <= " " for character in line)


def csv_field(value: Any, delimiter: str) -> str:
    """A field of a CSV file: nothing for None, quotes for an empty text. Line breaks and blanks are unchanged."""
    if value is None:
        return ""
    text = plain_text(value)
    if text == "" or any(character in text for character in (delimiter, '"', "\n", "\r")):
        return '"' + text.replace('"', '""') + '"'
    return text


def plain_text(value: Any) -> str:
    """A value as text that every engine reads back as the same value."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime.datetime():
            return value.isoformat(timespec="microseconds")
        case datetime.date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return str(value)


@evaluates(WriteJson)
def evaluate_write_json(node: WriteJson, elements: Iterable[Any]) -> Iterable[Any]:
    columns = [(name, child) for name, _, child in table_columns(node.input.type)]
    with new_file(node, "reference.json").open("w", encoding="utf-8", newline="") as file:
        for element in elements:
            file.write(json_object(columns, as_row(element, node.input.type)) + "\n")
    return ()


def json_object(fields: Iterable[tuple[str, Type]], values: Iterable[Any]) -> str:
    """A JSON object without the fields that are None."""
    pairs = ((name, type_, value) for (name, type_), value in zip(fields, values, strict=True) if value is not None)
    return "{" + ",".join(f"{json_string(name)}:{json_text(value, type_)}" for name, type_, value in pairs) + "}"


def json_text(value: Any, type_: Type) -> str:
    """A value as JSON. Numbers that JSON cannot express are texts, as are dates and bytes."""
    match type_:
        case _ if value is None:
            return "null"
        case Optional(inner):
            return json_text(value, inner)
        case List(item):
            return "[" + ",".join(json_text(each, item) for each in value) + "]"
        case Dict(item):
            return "{" + ",".join(f"{json_string(key)}:{json_text(each, item)}" for key, each in value.items()) + "}"
        case _ if type_.children:
            fields = [(field_name(type_, name), child) for name, child in type_.children]
            return json_object(fields, as_row(value, type_))
    text = plain_text(value)
    is_number = isinstance(value, bool | int | decimal.Decimal) or (isinstance(value, float) and math.isfinite(value))
    return text if is_number else json_string(text)


def json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@evaluates(WriteParquet)
def evaluate_write_parquet(node: WriteParquet, elements: Iterable[Any]) -> Iterable[Any]:
    import pyarrow.parquet as pq

    pq.write_table(as_table(list(elements), node.input.type), new_file(node, "reference.parquet"))
    return ()


def as_table(elements: Sequence[Any], type_: Type) -> Any:
    """The elements as an Arrow table, with a column for each field."""
    import pickle

    import pyarrow as pa

    dumps: Callable[[Any], bytes] = pickle.dumps
    columns = table_columns(type_)
    rows = [as_row(element, type_) for element in elements]
    by_column = zip(*rows, strict=True) if rows else [()] * len(columns)
    arrays = [encode_leaf(list(values), child, dumps) for values, (_, _, child) in zip(by_column, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema([(name, arrow_type(child)) for name, _, child in columns]))
