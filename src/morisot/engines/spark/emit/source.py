"""Sources as frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import AnalysisException

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema, tables
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.placing import placed
from morisot.engines.spark.emit.sources import kafka, offsets, rows
from morisot.engines.spark.emit.sources.parsed import parsed
from morisot.engines.spark.emit.stateful.row_order import with_row_order
from morisot.errors import SourceError
from morisot.physical.ops import ParseOp, ReadOp
from morisot.plan.files import is_local
from morisot.plan.life_cycle import has_life_cycle
from morisot.plan.nodes.source import (
    BufferedSource,
    PathSource,
    StreamArrow,
    StreamChannel,
    StreamCsv,
    StreamDataframe,
    StreamFile,
    StreamIter,
    StreamJson,
    StreamKafka,
    StreamOffsets,
    StreamParquet,
    StreamRange,
    StreamRate,
    StreamSocket,
)
from morisot.runtime.file_formats import format_of
from morisot.runtime.local_files import local_files
from morisot.worker.codec.batches import encode, schema_of
from morisot.worker.files.format import FileProblem
from morisot.worker.files.lines import has_end
from morisot.worker.files.parquet_rows import tables_of

P = TypeVar("P", bound=PathSource)


@emits(ReadOp, StreamIter)
def emit_stream_iter(node: StreamIter, emission: Emission) -> Frame:
    table = pa.Table.from_arrays(encode(node.values, node.type, dumps), schema=schema_of(node.type))
    # without a schema, Spark would read a datetime as an instant in the session's time zone
    return Frame(emission.spark.createDataFrame(table, schema=schema.ddl(node.type)), node.type)


@emits(ReadOp, StreamRange)
def emit_stream_range(node: StreamRange, emission: Emission) -> Frame:
    numbers = node.range
    df = emission.spark.range(numbers.start, numbers.stop, numbers.step, emission.parallelism)
    return Frame(df.selectExpr("id AS value"), node.type)


@emits(ReadOp, StreamRate)
def emit_stream_rate(node: StreamRate, emission: Emission) -> Frame:
    ticks = emission.spark.readStream.format("rate").option("rowsPerSecond", node.per_second)
    numbers = ticks.option("numPartitions", emission.parallelism).load().select("value")
    if not emission.needs_order(node):
        return Frame(numbers, node.type)
    ordered = numbers.selectExpr("value", f"unhex(lpad(hex(value), 16, '0')) AS {ROW_ORDER}")
    return Frame(ordered, node.type, has_row_order=True)


@emits(ParseOp, StreamFile, StreamCsv, StreamJson, StreamParquet)
def emit_parsed(node: PathSource, emission: Emission) -> Frame:
    try:
        return parsed(node, emission)
    except AnalysisException as error:
        raise unreadable(node, error) from None


@emits(ReadOp, StreamFile)
def emit_stream_file(node: StreamFile, emission: Emission) -> Frame:
    return natively(node, emission, rows.text)


@emits(ReadOp, StreamParquet)
def emit_stream_parquet(node: StreamParquet, emission: Emission) -> Frame:
    refuse_empty(node)
    return natively(node, emission, rows.parquet)


@emits(ReadOp, StreamCsv)
def emit_stream_csv(node: StreamCsv, emission: Emission) -> Frame:
    return natively(node, emission, rows.csv)


@emits(ReadOp, StreamJson)
def emit_stream_json(node: StreamJson, emission: Emission) -> Frame:
    return natively(node, emission, rows.json)


def natively(node: P, emission: Emission, emit: Callable[[P, Emission], Frame | None]) -> Frame:
    """The rows as Spark reads them; as Python reads them, if Spark cannot, or would give other values."""
    try:
        frame = emit(node, emission) if are_complete(node) else None
    except AnalysisException as error:
        if not is_local(node.path):
            raise unreadable(node, error) from None
        frame = None
    return emit_parsed(node, emission) if frame is None else frame


def are_complete(node: PathSource) -> bool:
    """Whether the files on this machine have their ends, as far as Spark's readers do not test it."""
    return all(map(has_end, local_files(node.path))) if is_local(node.path) else True


def refuse_empty(node: StreamParquet) -> None:
    """Raises the error of an empty file, which Spark ignores. In a directory that is followed, it is ignored."""
    if not is_local(node.path) or (node.unbounded and node.listed is None):
        return
    for file in local_files(node.path):
        if not Path(file).stat().st_size:
            try:
                next(tables_of(file), None)
            except FileProblem as problem:
                raise format_of(node).file_error(file, problem) from None


def unreadable(node: PathSource, error: Exception) -> SourceError:
    """The error of Spark about a path, without Spark-specific details."""
    said = str(error).splitlines()[0].split(" SQLSTATE")[0]
    return SourceError(f"{node.operator} ({node.location}) cannot read {node.path!r}: {said}")


@emits(ReadOp, StreamKafka)
def emit_stream_kafka(node: StreamKafka, emission: Emission) -> Frame:
    kafka.require_connector(emission.spark, node)
    return kafka.records(node, emission)


@emits(ReadOp, StreamDataframe)
def emit_stream_dataframe(node: StreamDataframe, emission: Emission) -> Frame:
    return tables.as_records(node.frame, node)


@emits(ReadOp, StreamArrow)
def emit_stream_arrow(node: StreamArrow, emission: Emission) -> Frame:
    return tables.as_records(emission.spark.createDataFrame(node.table), node)


@emits(ReadOp, StreamSocket, StreamChannel)
def emit_buffered(node: BufferedSource, emission: Emission) -> Frame:
    """Sent elements are in channel files, so that several queries can read and replay them.

    Spark reads the largest file of a micro-batch first. The row order column restores the order.
    """
    reader = emission.spark.readStream.schema(schema.ddl(node.type))
    if node.inlet.rows_per_file is not None:
        reader = reader.option("maxFilesPerTrigger", 1)
    frame = Frame(reader.parquet(node.inlet.directory), node.type)
    return with_row_order(frame) if emission.is_ordered(node) else frame


@emits(ReadOp, StreamOffsets)
def emit_stream_offsets(node: StreamOffsets, emission: Emission) -> Frame:
    user = placed(node, node.source.read, 1, emission, is_source=True) if has_life_cycle(node.source) else None
    return Frame(offsets.stream(emission.spark, node, user), node.type)
