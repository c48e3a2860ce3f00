"""Spark's plans of a frame, in a JVM of this process: their text, sizes and metrics, and plans built here.

A scan of files reads its settings from the session that made it, also inside a plan of another session. So a scan of a
list of files has a session of its own, a copy with other limits: the settings of the user's session are never changed,
and later changes of them do not move the rows of the scan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from morisot.physical.scan_layout import ScanLayout

_ADAPTIVE = "AdaptiveSparkPlanExec"
_SCAN = "LogicalRelation"
"""The class of the logical plan of a scan, if the session does not read the format by a newer interface."""
_FORMATS = "spark.sql.sources.useV1SourceList"
_ALL_FORMATS = "csv,json,parquet,text,binaryFile"
_IGNORED_LOGS = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
_PARTITION_BYTES = "spark.sql.files.maxPartitionBytes"
_OPEN_BYTES = "spark.sql.files.openCostInBytes"
_LEAST, _MOST = "spark.sql.files.minPartitionNum", "spark.sql.files.maxPartitionNum"
_COMPRESSION = "spark.sql.sources.fileCompressionFactor"


def text(df: DataFrame) -> str:
    """All plans of a frame, as Spark prints them."""
    return str(df._jdf.queryExecution().toString())


def size_in_bytes(df: DataFrame) -> int:
    """Spark's estimate of the size of a frame."""
    return int(df._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())


def broadcast_threshold(df: DataFrame) -> int:
    """The limit of bytes up to which Spark broadcasts a frame in a join."""
    return int(df.sparkSession._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold())


def without_plan(df: DataFrame) -> DataFrame:
    """The rows of a frame as a table without a plan: Spark knows its schema only."""
    spark, rows = df.sparkSession, df._jdf.queryExecution().toRdd()
    return ClassicDataFrame(spark._jsparkSession.internalCreateDataFrame(rows, df._jdf.schema(), False), spark)


def observed(df: DataFrame, name: str) -> Any:
    """The row of observed metrics with a name of the last job over a frame; None if no job ran.

    `Observation.get` would wait for a thread of Spark.
    """
    found = df._jdf.queryExecution().observedMetrics().get(name)
    return found.get() if found.isDefined() else None


def first_of_each_partition(df: DataFrame, n: int) -> DataFrame:
    """At most `n` rows of each partition."""
    spark, jvm = df.sparkSession, _jvm(df)
    sql = jvm.org.apache.spark.sql
    count = sql.catalyst.expressions.Literal(n, sql.types.DataTypes.IntegerType)
    plan = sql.catalyst.plans.logical.LocalLimit(count, df._jdf.logicalPlan())
    return ClassicDataFrame(sql.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)


def fixed_partitions(df: DataFrame) -> int | None:
    """The number of partitions of a frame, if it is known before a job runs."""
    execution = df._jdf.queryExecution()
    if execution.executedPlan().getClass().getSimpleName() == _ADAPTIVE:
        return None  # the number of partitions is known only after it has run
    rdd = execution.toRdd()
    partitions = int(rdd.getNumPartitions())
    pending = [rdd]
    while pending:
        found = pending.pop()
        if found.getNumPartitions() != partitions:
            return None
        parents = found.dependencies()
        pending += [parents.apply(index).rdd() for index in range(parents.length())]
    return partitions


# -- scans of files ---------------------------------------------------------------------------------------------------


def is_plain_scan(df: DataFrame) -> bool:
    """Whether a frame is one scan of files whose directories give no columns."""
    plan = _analyzed(df)
    return plan.getClass().getSimpleName() == _SCAN and not _relation(df).partitionSchema().nonEmpty()


def files_of(df: DataFrame) -> list[str]:
    """The URIs of the files of a scan."""
    return list(_relation(df).location().inputFiles())


def file_sizes(df: DataFrame, files: Sequence[str]) -> list[int]:
    """The sizes of the files of a scan, by their URIs."""
    local = [urlsplit(file) for file in files]
    if all(each.scheme == "file" for each in local):
        return [os.stat(unquote(each.path)).st_size for each in local]  # noqa: PTH116 - of thousands of files
    statuses = _relation(df).location().allFiles().iterator()
    found: dict[str, int] = {}
    while statuses.hasNext():
        status = statuses.next()
        found[unquote(status.getPath().toUri().toString())] = status.getLen()
    return [found[unquote(file)] for file in files]


def is_split(df: DataFrame, file: str) -> bool:
    """Whether Spark may read a file in several splits."""
    relation = _relation(df)
    spark: Any = df.sparkSession
    path = spark._jvm.org.apache.hadoop.fs.Path(unquote(file))
    return bool(relation.fileFormat().isSplitable(spark._jsparkSession, relation.options(), path))


def scan_limits(spark: SparkSession) -> tuple[int, int, int]:
    """The most bytes of a partition, the cost of a file in bytes, and the least number of partitions."""
    session: Any = spark._jsparkSession
    conf = session.sessionState().conf()
    least = conf.filesMinPartitionNum()
    slots = least.get() if least.isDefined() else session.leafNodeDefaultParallelism()
    return int(conf.filesMaxPartitionBytes()), int(conf.filesOpenCostInBytes()), int(slots)


def scan_of_list(
    spark: SparkSession,
    load: Callable[[Any], DataFrame],
    layout: ScanLayout,
    *,
    factor: float,
) -> DataFrame:
    """The frame that `load` reads, with a scan that splits and packs by the limits of a layout only.

    `factor` is the ratio of the bytes of the files to those that are listed: Spark estimates sizes by it.
    """
    main: Any = spark._jsparkSession
    session = main.cloneSession()
    factor *= main.sessionState().conf().fileCompressionFactor()
    conf = session.conf()
    settings: Mapping[str, object] = {
        _PARTITION_BYTES: layout.split_bytes,
        _OPEN_BYTES: layout.open_bytes,
        _LEAST: 1,
        _COMPRESSION: factor,
        _FORMATS: _ALL_FORMATS,
        _IGNORED_LOGS: "false",
    }
    for name, value in settings.items():
        conf.set(name, str(value))
    if layout.partitions is None:
        conf.unset(_MOST)
    else:
        conf.set(_MOST, str(layout.partitions))
    reader: Any = spark.read
    reader._jreader = session.read()
    frames: Any = spark._jvm
    plan = load(reader)._jdf.logicalPlan()
    return ClassicDataFrame(frames.org.apache.spark.sql.classic.Dataset.ofRows(main, plan), spark)


def _relation(df: DataFrame) -> Any:
    """The files of a frame that is one scan."""
    return _analyzed(df).relation()


def _analyzed(df: DataFrame) -> Any:
    return df._jdf.queryExecution().analyzed()


def _jvm(df: DataFrame) -> Any:
    return df.sparkSession._jvm
