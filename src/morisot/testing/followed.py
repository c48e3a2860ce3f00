"""Micro-batches as files: a directory that a job follows, into which a test writes one file after the other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from morisot.api.location import caller
from morisot.plan.nodes.testing import StreamBatches
from morisot.types import infer
from morisot.types.element import ANY, NONE, Type, leaves


class Followed:
    """The directory of one input."""

    def __init__(self, directory: Path, batches: Sequence[Sequence[Any]]) -> None:
        directory.mkdir()
        self._directory = directory
        self._files = 0
        self._type = stored_type([element for batch in batches for element in batch])
        self.node = StreamBatches(directory=str(directory), type=self._type, location=caller(), operator="testing.run")

    def put(self, batch: Sequence[Any]) -> None:
        """Writes the elements of the next micro-batch. A followed directory is read by modification times."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        from morisot.engines.spark.emit.python.fused_stage import dumps
        from morisot.worker.codec.batches import encode, schema_of

        table = pa.Table.from_arrays(encode(list(batch), self._type, dumps), schema=schema_of(self._type))
        self._files += 1
        unseen = self._directory / f"_{self._files}"  # Spark ignores files with this prefix
        pq.write_table(table, unseen)
        os.utime(unseen, (self._files, self._files))
        unseen.rename(self._directory / f"batch-{self._files}.parquet")


def stored_type(elements: list[Any]) -> Type:
    """The type that `stream_iter` infers; `object` if a part is always None, which files cannot store."""
    type_ = infer.of_values(elements)
    return ANY if any(leaf.type == NONE for leaf in leaves(type_)) else type_
