"""The meaning of sources."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from morisot.engines.reference.registry import call, evaluates, leave_out
from morisot.errors import Location, PlanError, SourceError
from morisot.plan.nodes.source import (
    PathSource,
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
from morisot.runtime.file_formats import columns_of_fields, format_of
from morisot.runtime.local_files import is_partitioned, local_files
from morisot.types.element import Record
from morisot.types.records import maker
from morisot.worker.files.format import RowMisfit
from morisot.worker.files.parquet_rows import field_of
from morisot.worker.files.reader import elements_of


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
@evaluates(StreamCsv)
@evaluates(StreamJson)
@evaluates(StreamParquet)
def evaluate_path_source(node: PathSource) -> Iterator[Any]:
    """The elements of the files of a path, in the order of the files' paths."""
    format_ = format_of(node)
    refuse_partitions(node.path, node.operator, node.location)
    for file in local_files(node.path):
        yield from elements_of(format_, file, functools.partial(leave_out, node))


def refuse_partitions(path: str, operator: str, location: Location | None) -> None:
    """Raises an error for directories like `year=2024`, whose names are values of a column on Spark."""
    if operator == "stream_parquet" and is_partitioned(path):
        raise SourceError(
            f"{operator} ({location}): the reference engine does not read {path!r}, because its directories have names "
            'that are values of a column\n  What to do: use engine="spark", or name the directories by a pattern, as '
            f"{str(Path(path) / '*')!r}"
        )


@evaluates(StreamArrow)
def evaluate_stream_arrow(node: StreamArrow) -> Iterator[Any]:
    return rows_of_table(node, node.table)


def rows_of_table(node: StreamArrow, table: Any) -> Iterator[Any]:
    """The rows of an Arrow table as records."""
    assert isinstance(node.type, Record)
    indexes = columns_of_fields(node, table.column_names, by_position=True)
    columns = [table.column_names[index] for index in indexes]
    for number, row in enumerate(table.to_pylist(), 1):
        try:
            fields = [field_of(row[c], t, c) for c, t in zip(columns, node.type.items, strict=True)]
        except RowMisfit as misfit:
            raise SourceError(
                f"{node.operator} ({node.location}): row {number}, field {misfit.field}: {misfit.reason}"
                f"\n  What to do: {misfit.remedy}"
            ) from None
        yield maker(node.type.cls)(*fields)
