"""Rows of Parquet files, read by the task that processes them, so that they do not pass through Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from morisot.types.element import Type
from morisot.worker.codec.batches import schema_of


class Groups(NamedTuple):
    """Consecutive row groups of one file."""

    file: str
    first: int
    last: int
    """The index after the last row group."""


@dataclass(frozen=True)
class FileRows:
    """The rows of files in parts, one for each task, in stream order."""

    parts: tuple[tuple[Groups, ...], ...]
    columns: tuple[str, ...]
    """The columns of the leaves of an element."""
    type: Type

    def batches(self, partition: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        schema = schema_of(self.type)
        for groups in self.parts[partition]:
            with pq.ParquetFile(groups.file, memory_map=True) as file:
                table = file.read_row_groups(list(range(groups.first, groups.last)), columns=list(self.columns))
            arrays = [table.column(name) for name in self.columns]  # a table has the columns in the order of the file
            yield from pa.Table.from_arrays(arrays, names=schema.names).cast(schema).to_batches()
