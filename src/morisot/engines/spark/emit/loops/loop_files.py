"""Parquet files that the tasks of a loop read themselves, if that gives the same values as Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.parquet as pq

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.tables import complete_in_file
from morisot.engines.spark.session.addresses import runs_here
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamParquet
from morisot.runtime.file_formats import columns_of_fields
from morisot.runtime.local_files import local_files
from morisot.types.element import BOOL, FLOAT, INT, Record, Type
from morisot.worker.codec.file_rows import FileRows, Groups

_WIDENED: dict[Type, frozenset[str]] = {
    BOOL: frozenset({"bool"}),
    INT: frozenset({"int64", "int32"}),
    FLOAT: frozenset({"double", "float"}),
}
"""The Arrow types of columns whose values are the same when read by Arrow and by Spark."""
_MOST_FILES = 1024


def rows_of(node: Node, emission: Emission) -> FileRows | None:
    """The rows of a source in parts; None if only Spark can read them, or Spark would read other values.

    Workers must have access to the files of the driver, so Spark has to run on this machine only.
    """
    if (
        not isinstance(node, StreamParquet)
        or node.unbounded
        or not is_local(node.path)
        or not runs_here(emission.spark)
    ):
        return None
    record, files = node.type, local_files(node.path)
    if not isinstance(record, Record) or not 0 < len(files) <= _MOST_FILES:
        return None
    if not all(type_ in _WIDENED for _, type_ in record.children):
        return None
    columns = columns_in(node, record, files)
    return None if columns is None else FileRows(parts_of(files, emission.parallelism), columns, record)


def columns_in(node: StreamParquet, record: Record, files: Sequence[str]) -> tuple[str, ...] | None:
    """The columns of the record's fields, if all files have them with one name, with numbers and without NULL."""
    found: set[tuple[str, ...]] = set()
    for file in files:
        schema = pq.read_schema(file)
        indexes = columns_of_fields(node, schema.names)
        columns = tuple(schema.names[index] for index in indexes)
        alike = all(
            str(schema.field(index).type) in _WIDENED[type_]
            for index, (_, type_) in zip(indexes, record.children, strict=True)
        )
        if not alike or len(set(schema.names)) < len(schema.names) or not complete_in_file(file).issuperset(columns):
            return None
        found.add(columns)
    return found.pop() if len(found) == 1 else None


def parts_of(files: Sequence[str], parts: int) -> tuple[tuple[Groups, ...], ...]:
    """The row groups of the files in order, in `parts` parts of about the same number of rows."""
    sizes = []
    for file in files:
        footer = pq.read_metadata(file)
        sizes += [(file, group, footer.row_group(group).num_rows) for group in range(footer.num_row_groups)]
    total = sum(rows for *_, rows in sizes)
    cut: list[list[Groups]] = [[] for _ in range(parts)]
    before = 0
    for file, group, rows in sizes:
        middle = before + rows / 2
        part = cut[min(int(middle * parts / total), parts - 1) if total else 0]
        if part and part[-1].file == file and part[-1].last == group:
            part[-1] = part[-1]._replace(last=group + 1)
        else:
            part.append(Groups(file, group, group + 1))
        before += rows
    return tuple(map(tuple, cut))
