"""The kind of a session, and its state in PySpark and in Spark's driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_classic(spark: Any) -> bool:
    """Whether this process is Spark's driver, and not a client of a Spark Connect server."""
    return hasattr(spark, "_jsparkSession")


def is_connect(df: DataFrame) -> bool:
    """Whether a frame belongs to a Spark Connect session, whose plans and files only the server can access."""
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

    return not isinstance(df, ClassicDataFrame)


def active() -> SparkSession | None:
    """The existing session of this process, of Morisot or of the user."""
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
    """The number of tasks that a classic session can run at once."""
    context = spark.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


_RECORDS = ("inputRecords", "outputRecords", "shuffleReadRecords", "shuffleWriteRecords")


def running_stages(spark: Any) -> list[tuple[int, ...]]:
    """Of each active stage the number, the completed tasks, and the rows that its tasks have read and written.

    Rows of running tasks arrive with the heartbeats of executors, every ten seconds.
    """
    stages = spark.sparkContext._jsc.sc().statusStore().activeStages()
    found = []
    for index in range(stages.size()):
        stage = stages.apply(index)
        rows = (int(getattr(stage, name)()) for name in _RECORDS)
        found.append((int(stage.stageId()), int(stage.numCompleteTasks()), *rows))
    return found
