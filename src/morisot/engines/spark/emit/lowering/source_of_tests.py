"""The source of programs under test."""

from __future__ import annotations

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.lowering.planner import Lowering
from morisot.engines.spark.emit.lowering.registry import emits
from morisot.physical.ops import ReadOp
from morisot.plan.nodes.testing import StreamBatches


@emits(ReadOp, StreamBatches)
def lower_stream_batches(node: StreamBatches, lowering: Lowering) -> Frame:
    reader = lowering.spark.readStream.schema(schema.ddl(node.type)).option("maxFilesPerTrigger", 1)
    return Frame(reader.parquet(node.directory), node.type)
