"""The source of tested programs."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.physical.ops import ReadOp
from morisot.plan.nodes.testing import StreamBatches


@emits(ReadOp, StreamBatches)
def emit_stream_batches(node: StreamBatches, emission: Emission) -> Frame:
    reader = emission.spark.readStream.schema(schema.ddl(node.type)).option("maxFilesPerTrigger", 1)
    return Frame(reader.parquet(node.directory), node.type)
