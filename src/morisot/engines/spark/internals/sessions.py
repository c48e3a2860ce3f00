"""Which kind of session a program has, and what PySpark and Spark's driver know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_classic(spark: Any) -> bool:
    """Whether this process has Spark's driver, and not a client of a Spark Connect server."""
    return hasattr(spark, "_jsparkSession")


def is_connect(df: DataFrame) -> bool:
    """Whether a frame belongs to a client of a Spark Connect server, whose plans and files only that server reaches."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    return not isinstance(df, ClassicDataFrame)


def active() -> SparkSession | None:
    """The session that this process already has, whoever made it."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    context = SparkContext._active_spark_context
    if session is None and context is not None:
        return SparkSession(context)
    return session


def is_stopped(spark: Any) -> bool:
    """Whether a classic session was stopped; fails if the JVM does not answer."""
    context = spark._sc._jsc
    return context is None or bool(context.sc().isStopped())


def task_slots(spark: SparkSession) -> int:
    """How many tasks a classic session can run at once."""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))
