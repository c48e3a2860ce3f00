"""Spark's plans of a frame, in a JVM of this process: their text, sizes and metrics, and plans built here."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

_ADAPTIVE = "AdaptiveSparkPlanExec"


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


def _jvm(df: DataFrame) -> Any:
    return df.sparkSession._jvm
