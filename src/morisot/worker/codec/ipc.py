"""Record batches as single binary values, for Spark operators that process rows only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa


class PackBatches:
    """Given to mapInArrow: each batch becomes one binary row."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([pack_batch(batch)], pa.binary())], ["batch"])


def pack_batch(batch: Any) -> bytes:
    """A batch as one binary value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def unpack_batch(packed: bytes) -> Any:
    """The inverse of `pack_batch`."""
    with pa.ipc.open_stream(packed) as reader:
        return reader.read_next_batch()
