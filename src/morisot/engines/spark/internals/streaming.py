"""Sources, progress reports and state partitions of a streaming query, beyond PySpark's interface."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from morisot.engines.spark.internals.causes import causes

_INITIALIZING = "Initializing"
"""The prefix of the status message of a query before it has created its sources."""


def source_numbers(df: DataFrame) -> list[int]:
    """The number of each source of a frame, in the order of offsets. A source that is read twice has one number.

    The numbers are those of the directories below `sources` in the query's checkpoint.
    """
    leaves = df._jdf.queryExecution().analyzed().collectLeaves()
    sources = [leaf for leaf in map(leaves.apply, range(leaves.size())) if leaf.isStreaming()]
    different: list[Any] = []
    for source in sources:
        if not any(source.equals(each) for each in different):
            different.append(source)
    return [next(number for number, each in enumerate(different) if source.equals(each)) for source in sources]


def has_sources(query: StreamingQuery) -> bool:
    """Whether a query has created its sources. Before, its status is that it initializes them."""
    return not str(query.status["message"]).startswith(_INITIALIZING)


def newest_reports(query: StreamingQuery) -> Iterator[str]:
    """The recent progress reports of a query as JSON, the newest first, fetched one by one."""
    if not hasattr(query, "_jsq"):  # on Spark Connect the server sends all of them
        yield from (report.json for report in reversed(query.recentProgress))
        return
    reports = query._jsq.recentProgress()
    yield from (str(reports[index].json()) for index in reversed(range(len(reports))))


def state_partition(bucket: int, partitions: int) -> int:
    """The state partition of a bucket: Spark's hash of an INT column, modulo the number of partitions.

    >>> [state_partition(bucket, 5) for bucket in range(4)]
    [1, 3, 4, 1]
    """
    mixed = _rotated(bucket * 0xCC9E2D51, 15) * 0x1B873593
    found = _rotated(_SEED ^ (mixed & _MASK), 13) * 5 + 0xE6546B64 & _MASK
    found ^= 4  # the number of bytes
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ found >> shift) * factor & _MASK
    found ^= found >> 16
    return (found - (found >> 31 << 32)) % partitions


_SEED, _MASK = 42, 2**32 - 1


def _rotated(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> 32 - bits) & _MASK


class NotRepartitioned(Exception):  # noqa: N818 - the caller makes an error for the user of it
    """Spark cannot change the number of state partitions. Its argument is Spark's reason."""


def repartition(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    """Changes the number of state partitions of a checkpoint whose query does not run. It is experimental.

    Spark adds a micro-batch without elements, whose states have the new number of partitions. An interrupted change to
    the same number is finished.
    """
    try:
        spark._streamingCheckpointManager.repartition(str(checkpoint), partitions)
    except (PySparkException, Py4JJavaError) as error:
        raise NotRepartitioned(next((cause.message for cause in causes(error)), str(error))) from error


def add_nothing(spark: SparkSession, log: Path, number: int) -> None:
    """Adds an empty entry to the log of a file sink, which cannot be compacted if that of a micro-batch is missing."""
    jvm: Any = spark._jvm
    sinks = jvm.org.apache.spark.sql.execution.streaming.sinks
    entries = sinks.FileStreamSinkLog(1, spark._jsparkSession, str(log), jvm.scala.Option.empty())
    gateway: Any = spark.sparkContext._gateway
    entries.add(number, gateway.new_array(sinks.SinkFileStatus, 0))


def stored_values(spark: SparkSession, checkpoint: Path, batch: int, operator: int, variable: str) -> list[bytes]:
    """The values of a state variable after a micro-batch: its field with the same name, of all buckets."""
    options: dict[str, int | str] = {"batchId": batch, "operatorId": operator, "stateVarName": variable}
    rows = spark.read.format("statestore").options(**options).load(str(checkpoint))
    return [bytes(row[0]) for row in rows.selectExpr(f"value.{variable}").collect()]
