"""The meaning of sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from morisot.engines.reference.registry import call, evaluates
from morisot.errors import PlanError, SourceError
from morisot.plan.files import columns_of_fields
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
from morisot.runtime.file_rows import RawRow, bad_row, csv_rows, json_rows
from morisot.runtime.local_files import local_files, open_text
from morisot.types import arrow, infer
from morisot.types.element import Dict, List, Optional, Record, Tuple, Type


@evaluates(StreamIter)
def evaluate_stream_iter(node: StreamIter) -> Iterable[Any]:
    return node.values


@evaluates(StreamRange)
def evaluate_stream_range(node: StreamRange) -> Iterable[Any]:
    return node.range


@evaluates(StreamParIter)
def evaluate_stream_par_iter(node: StreamParIter) -> Iterable[Any]:
    """One instance generates the whole stream."""
    yield from call(node, node.generator, 0, 1)


@evaluates(StreamChannel)
def evaluate_stream_channel(node: StreamChannel) -> Iterable[Any]:
    """The elements that were sent before the inlet was closed."""
    if not node.inlet.closed:
        raise PlanError(
            f"{node.operator} is open: the end of the stream is not known yet",
            location=node.location,
            advice="close the inlet before the job runs; on Spark, ctx.start() runs concurrently with the sender",
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
    indexes = columns_of_fields(node, table.column_names, by_position=isinstance(node, StreamArrow))
    columns = [table.column_names[index] for index in indexes]
    for row in table.to_pylist():
        for column, type_ in zip(columns, node.type.items, strict=True):
            if row[column] is None and not isinstance(type_, Optional):
                raise SourceError(f"{node.operator} ({node.location}): a row has no value for `{column}`, a {type_}")
        yield node.type.cls(*(of_table(row[c], t) for c, t in zip(columns, node.type.items, strict=True)))


def of_table(value: Any, type_: Type) -> Any:
    """The Python value of a table's value: structs are records, maps are dicts."""
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


def fitting(node: StreamCsv | StreamJson, rows: Iterable[RawRow]) -> Iterator[Any]:
    """The records of the rows. A row that does not fit is an error, or is skipped."""
    for row in rows:
        try:
            yield row.record()
        except (ValueError, KeyError, TypeError) as error:
            if node.on_error == "raise":
                raise bad_row(node, row, error) from None


# ---- the type of files' rows


def row_type(kind: str, files: Sequence[str], path: str) -> Record:
    """The type of the rows of Parquet or JSON files."""
    if not files:
        raise SourceError(f"cannot read {path!r}: there is no such file")
    if kind == "parquet":
        import pyarrow.parquet as pq

        return arrow.row_type_of(pq.read_schema(files[0]))
    rows = [json.loads(line) for file in files for line in Path(file).read_text("utf-8").splitlines() if line.strip()]
    names = sorted({name for row in rows for name in row})
    return infer.row_type([(name, infer.of_values([row.get(name) for row in rows])) for name in names])
