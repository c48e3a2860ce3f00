"""Sources as frames."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames import schema, tables
from morisot.engines.spark.emit.frames.frame import PLACE, Frame
from morisot.engines.spark.emit.lowering.planner import Lowering
from morisot.engines.spark.emit.lowering.registry import emits
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.sources import kafka, offsets
from morisot.engines.spark.emit.stateful.row_order import with_places
from morisot.errors import SourceError
from morisot.physical.ops import ReadOp
from morisot.plan.nodes.source import (
    PathSource,
    Spooled,
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
from morisot.types.element import Record
from morisot.worker.codec.batches import encode, schema_of

_MOST_FILES_READ_ONE_BY_ONE = 64
PIECE = 2**40
"""How large the files of a piece are together, in the words of a list that says so whatever their sizes are."""


@emits(ReadOp, StreamIter)
def lower_stream_iter(node: StreamIter, lowering: Lowering) -> Frame:
    table = pa.Table.from_arrays(encode(node.values, node.type, dumps), schema=schema_of(node.type))
    # without a schema, Spark would take a datetime for an instant in the session's time zone
    return Frame(lowering.spark.createDataFrame(table, schema=schema.ddl(node.type)), node.type)


@emits(ReadOp, StreamRange)
def lower_stream_range(node: StreamRange, lowering: Lowering) -> Frame:
    numbers = node.range
    df = lowering.spark.range(numbers.start, numbers.stop, numbers.step, lowering.parallelism)
    return Frame(df.selectExpr("id AS value"), node.type)


@emits(ReadOp, StreamRate)
def lower_stream_rate(node: StreamRate, lowering: Lowering) -> Frame:
    ticks = lowering.spark.readStream.format("rate").option("rowsPerSecond", node.per_second)
    numbers = ticks.option("numPartitions", lowering.parallelism).load().select("value")
    if not lowering.needs_order(node):
        return Frame(numbers, node.type)
    placed = numbers.selectExpr("value", f"unhex(lpad(hex(value), 16, '0')) AS {PLACE}")
    return Frame(placed, node.type, placed=True)


@emits(ReadOp, StreamFile)
def lower_stream_file(node: StreamFile, lowering: Lowering) -> Frame:
    return Frame(read(node, lowering, lambda reader, path: reader.text(path)), node.type)


@emits(ReadOp, StreamParquet)
def lower_stream_parquet(node: StreamParquet, lowering: Lowering) -> Frame:
    record = node.type
    assert isinstance(record, Record)

    def load(reader: Any, path: str) -> DataFrame:
        if node.unbounded:  # a streaming read wants the schema beforehand
            reader = reader.schema(tables.parquet_schema(lowering.spark, node.path, record))
        elif (plain := tables.plain_parquet_schema(node)) is not None:  # Spark would run a job to find it
            reader = reader.schema(plain)
        df: DataFrame = reader.parquet(path)
        return df

    return tables.as_records(read(node, lowering, load), node)


@emits(ReadOp, StreamCsv)
def lower_stream_csv(node: StreamCsv, lowering: Lowering) -> Frame:
    return tables.csv(node, functools.partial(read, node, lowering))


@emits(ReadOp, StreamJson)
def lower_stream_json(node: StreamJson, lowering: Lowering) -> Frame:
    return tables.json(node, functools.partial(read, node, lowering))


@emits(ReadOp, StreamKafka)
def lower_stream_kafka(node: StreamKafka, lowering: Lowering) -> Frame:
    kafka.require_connector(lowering.spark, node)
    return kafka.records(node, lowering)


@emits(ReadOp, StreamDataframe)
def lower_stream_dataframe(node: StreamDataframe, lowering: Lowering) -> Frame:
    return tables.as_records(node.frame, node)


@emits(ReadOp, StreamArrow)
def lower_stream_arrow(node: StreamArrow, lowering: Lowering) -> Frame:
    return tables.as_records(lowering.spark.createDataFrame(node.table), node)


@emits(ReadOp, StreamSocket, StreamChannel)
def lower_spooled(node: Spooled, lowering: Lowering) -> Frame:
    """What was sent waits in files, so that it can be read again, by several queries, each at its own speed.

    Spark reads the largest file of a micro-batch first; by their places the elements find their order again.
    """
    reader = lowering.spark.readStream.schema(schema.ddl(node.type))
    if node.inlet.rows_per_file is not None:
        reader = reader.option("maxFilesPerTrigger", 1)
    frame = Frame(reader.parquet(node.inlet.directory), node.type)
    return with_places(frame) if lowering.is_ordered(node) else frame


@emits(ReadOp, StreamOffsets)
def lower_stream_offsets(node: StreamOffsets, lowering: Lowering) -> Frame:
    return Frame(offsets.stream(lowering.spark, node), node.type)


def read(node: PathSource, lowering: Lowering, load: Callable[[Any, str], DataFrame]) -> DataFrame:
    """The files as a DataFrame, in the order of their paths if somebody sees it."""
    try:
        if node.unbounded:
            files = node.files_per_batch or (1 if lowering.query.trigger.by_items else None)
            limit = {} if files is None else {"maxFilesPerTrigger": files}
            reader = lowering.spark.readStream.options(**limit)
            return load(reader, node.path) if node.listed is None else load(of_listed_files(reader), node.listed)
        df = load(lowering.spark.read, node.path)
        return in_order(df, lowering, load) if lowering.is_ordered(node) else df
    except AnalysisException as error:
        raise SourceError(f"{node.operator} ({node.location}) cannot read {node.path!r}: {first_line(error)}") from None


def of_listed_files(reader: Any) -> Any:
    """A reader of a directory whose log lists files that lie elsewhere, in the order and the pieces that it says."""
    return reader.options(recursiveFileLookup=True, maxBytesPerTrigger=PIECE, maxFileAge="1000000d")


def in_order(df: DataFrame, lowering: Lowering, load: Callable[[Any, str], DataFrame]) -> DataFrame:
    """Spark packs files into tasks by size; here the order of the paths is the order of the stream."""
    files = sorted(df.inputFiles())
    if len(files) < 2:
        return df
    if len(files) <= _MOST_FILES_READ_ONE_BY_ONE:
        return functools.reduce(DataFrame.unionAll, (load(lowering.spark.read, unquote(file)) for file in files))
    place = ["_metadata.file_path AS `at/file`", "_metadata.file_block_start AS `at/start`"]
    placed = df.selectExpr("*", *place, "monotonically_increasing_id() AS `at/row`")
    return placed.orderBy("at/file", "at/start", "at/row").drop("at/file", "at/start", "at/row")


def first_line(error: Exception) -> str:
    """What Spark says, without the parts that only help those who know Spark."""
    return str(error).splitlines()[0].split(" SQLSTATE")[0]
