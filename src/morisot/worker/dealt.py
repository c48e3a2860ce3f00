"""The order of rows that were dealt out to tasks one by one, as Spark's socket source does."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from morisot.worker.buckets import as_bytes


@dataclass(frozen=True)
class DealtRows:
    """Given to mapInArrow: rows with their place behind them, the first one of each task, then the second of each."""

    partition: Callable[[], int]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        task = pa.scalar(struct.pack(">q", self.partition()), pa.binary())
        counted = 0
        for batch in batches:
            rows = as_bytes(range(counted, counted + batch.num_rows))
            counted += batch.num_rows
            places = pc.binary_join_element_wise(rows, task, pa.scalar(b"", pa.binary()))
            yield pa.RecordBatch.from_arrays([*batch.columns, places], names=[*batch.schema.names, "at"])
