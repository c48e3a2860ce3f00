"""The meaning of sinks: the files that they write."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from morisot.engines.reference.registry import evaluates
from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteCsv, WriteJson, WriteParquet, WriteSink, WriteText
from morisot.types.element import Record, Type, table_columns
from morisot.worker.codec.batches import arrow_type, encode_leaf


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
    new_file(node, "reference.txt").write_text("".join(f"{line}\n" for line in elements), encoding="utf-8")
    return ()


@evaluates(WriteCsv)
def evaluate_write_csv(node: WriteCsv, elements: Iterable[Any]) -> Iterable[Any]:
    with new_file(node, "reference.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter=node.delimiter, lineterminator="\n")
        if node.header:
            rows.writerow([name for name, _, _ in table_columns(node.input.type)])
        rows.writerows(map(csv_value, as_row(element, node.input.type)) for element in elements)
    return ()


def csv_value(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


@evaluates(WriteJson)
def evaluate_write_json(node: WriteJson, elements: Iterable[Any]) -> Iterable[Any]:
    names = [name for name, _, _ in table_columns(node.input.type)]
    with new_file(node, "reference.json").open("w", encoding="utf-8") as file:
        for element in elements:
            row = zip(names, as_row(element, node.input.type), strict=True)
            shown = {name: value for name, value in row if value is not None}
            file.write(json.dumps(shown, ensure_ascii=False, separators=(",", ":"), default=str) + "\n")
    return ()


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
