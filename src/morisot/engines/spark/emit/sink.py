"""Sinks as frames: the elements in the schema that the sink writes. The runners write them."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.sources import kafka
from morisot.physical.ops import WriteOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from morisot.plan.nodes.sink import (
    CollectChannel,
    CollectCount,
    CollectVec,
    ForEach,
    SinkNode,
    WriteCsv,
    WriteJson,
    WriteKafka,
    WriteParquet,
    WriteText,
    WriteTo,
)
from morisot.plan.nodes.window import Window, WindowJoin
from morisot.types.element import NONE, Type, table_columns
from morisot.worker.codec.batches import field_name


@emits(WriteOp, CollectVec, CollectCount, CollectChannel, ForEach, WriteTo)
def emit_handed_over(node: SinkNode, emission: Emission, frame: Frame) -> Frame:
    """The elements, which the driver passes to the sink."""
    in_parts = isinstance(node, WriteTo) and node.sink.is_parallel
    return frame.untimed() if in_parts or isinstance(node, CollectCount) else shown(node.input, frame)


def shown(node: Node, frame: Frame) -> Frame:
    """The elements for the driver. It sorts those that have timestamps: windows, by their ends."""
    return frame if node.bounded and are_windows_by_time(node) else frame.untimed()


def are_windows_by_time(node: Node) -> bool:
    """Whether the elements are the results of windows by time, after row-wise operators."""
    while isinstance(node, Rowwise):
        node = node.inputs[0]
    return isinstance(node, Window | WindowJoin) and node.kind.timed


@emits(WriteOp, WriteText, WriteCsv, WriteJson, WriteParquet)
def emit_table(node: SinkNode, emission: Emission, frame: Frame) -> Frame:
    """The elements as rows with the column names of the files."""
    return Frame(as_table(frame), node.type)


@emits(WriteOp, WriteKafka)
def emit_write_kafka(node: WriteKafka, emission: Emission, frame: Frame) -> Frame:
    kafka.require_connector(emission.spark, node)
    named = zip(frame.columns[-2:], ("key", "value")[-len(frame.columns) :], strict=True)
    row_order = [ROW_ORDER] if frame.has_row_order else []
    return Frame(frame.df.selectExpr(*(f"{column} AS {name}" for column, name in named), *row_order), node.type)


def as_table(frame: Frame) -> DataFrame:
    """A DataFrame with one column for each field: a record's names, `_0`, `_1`… for tuples, key and value, or value."""
    columns = table_columns(frame.type)
    parts = (f"{rebuilt(path, type_, frame.references_to)} AS {quoted(name)}" for name, path, type_ in columns)
    return frame.projected(list(parts))


def rebuilt(path: tuple[int, ...], type_: Type, leaves_under: Callable[..., list[str]]) -> str:
    """A part of the element as one column, over the given columns of its leaves. Products become structs."""
    if not type_.children:
        (leaf,) = leaves_under(*path)
        # files cannot have a column of the type VOID
        return "CAST(NULL AS STRING)" if type_ == NONE else leaf
    parts = [
        f"{rebuilt((*path, index), child, leaves_under)} AS {quoted(field_name(type_, name))}"
        for index, (name, child) in enumerate(type_.children)
    ]
    return f"struct({', '.join(parts)})"
