"""The source of programs under test."""

from __future__ import annotations

from morisot.lower import schema
from morisot.lower.frame import Frame
from morisot.lower.planner import Lowering
from morisot.lower.registry import lowers
from morisot.plan.nodes.testing import StreamBatches


@lowers(StreamBatches, "unbounded")
def lower_stream_batches(node: StreamBatches, lowering: Lowering) -> Frame:
    reader = lowering.spark.readStream.schema(schema.ddl(node.type)).option("maxFilesPerTrigger", 1)
    return Frame(reader.parquet(node.directory), node.type)
