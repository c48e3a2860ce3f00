"""Sources as frames."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema, tables
from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.sources import kafka, offsets
from morisot.engines.spark.emit.stateful.row_order import with_row_order
from morisot.errors import SourceError
from morisot.physical.ops import ReadOp
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
from morisot.types.element import Record
from morisot.worker.codec.batches import encode, schema_of

_MOST_FILES_READ_ONE_BY_ONE = 64
SPLIT_SIZE = 2**40
"""The total size of the files of a source split, in a list that declares it independent of their real sizes."""


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


@emits(ReadOp, StreamFile)
def emit_stream_file(node: StreamFile, emission: Emission) -> Frame:
    return Frame(read(node, emission, lambda reader, path: reader.text(path)), node.type)


@emits(ReadOp, StreamParquet)
def emit_stream_parquet(node: StreamParquet, emission: Emission) -> Frame:
    record = node.type
    assert isinstance(record, Record)

    def load(reader: Any, path: str) -> DataFrame:
        if node.unbounded:  # a streaming reader needs the schema
            reader = reader.schema(tables.parquet_schema(emission.spark, node.path, record))
        elif (plain := tables.plain_parquet_schema(node)) is not None:  # otherwise Spark would run a job to infer it
            reader = reader.schema(plain)
        df: DataFrame = reader.parquet(path)
        return df

    return tables.as_records(read(node, emission, load), node)


@emits(ReadOp, StreamCsv)
def emit_stream_csv(node: StreamCsv, emission: Emission) -> Frame:
    return tables.csv(node, functools.partial(read, node, emission))


@emits(ReadOp, StreamJson)
def emit_stream_json(node: StreamJson, emission: Emission) -> Frame:
    return tables.json(node, functools.partial(read, node, emission))


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
    return Frame(offsets.stream(emission.spark, node), node.type)


def read(node: PathSource, emission: Emission, load: Callable[[Any, str], DataFrame]) -> DataFrame:
    """The files as a DataFrame, in the order of their paths if the order is observed."""
    try:
        if node.unbounded:
            files = node.files_per_batch or (1 if emission.query.trigger.by_items else None)
            limit = {} if files is None else {"maxFilesPerTrigger": files}
            reader = emission.spark.readStream.options(**limit)
            return load(reader, node.path) if node.listed is None else load(of_listed_files(reader), node.listed)
        df = load(emission.spark.read, node.path)
        return in_order(df, emission, load) if emission.is_ordered(node) else df
    except AnalysisException as error:
        raise SourceError(f"{node.operator} ({node.location}) cannot read {node.path!r}: {first_line(error)}") from None


def of_listed_files(reader: Any) -> Any:
    """A reader of a directory whose log lists files in other directories, in the order and by the splits of the log."""
    return reader.options(recursiveFileLookup=True, maxBytesPerTrigger=SPLIT_SIZE, maxFileAge="1000000d")


def in_order(df: DataFrame, emission: Emission, load: Callable[[Any, str], DataFrame]) -> DataFrame:
    """Restores the order of paths, which is the stream order, because Spark packs files into tasks by size."""
    files = sorted(df.inputFiles())
    if len(files) < 2:
        return df
    if len(files) <= _MOST_FILES_READ_ONE_BY_ONE:
        return functools.reduce(DataFrame.unionAll, (load(emission.spark.read, unquote(file)) for file in files))
    positions = ["_metadata.file_path AS `at/file`", "_metadata.file_block_start AS `at/start`"]
    numbered = df.selectExpr("*", *positions, "monotonically_increasing_id() AS `at/row`")
    return numbered.orderBy("at/file", "at/start", "at/row").drop("at/file", "at/start", "at/row")


def first_line(error: Exception) -> str:
    """The first line of Spark's message, without Spark-specific details."""
    return str(error).splitlines()[0].split(" SQLSTATE")[0]
