"""The column of which Spark keeps a watermark: up to which timestamp all elements have come."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames.frame import TIME
from morisot.engines.spark.emit.frames.sql import quoted

MARK = quoted("mark")
LATEST = (2**63 - 1) // 1000
"""The largest number of milliseconds that a timestamp of Spark's has."""


def watched(marked: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of some columns, TIME among them, behind a watermark of what MARK says; NULL says nothing.

    Spark would move a filter of the user's before the watermark, and elements that are filtered out would not count.
    It moves nothing past an expression that it cannot repeat; this one adds zero. It is the same in each micro-batch:
    Spark gives each one another seed of rand(), and would compile the stage anew.
    """
    kept = [f"{TIME} + CAST(spark_partition_id() < 0 AS BIGINT) AS {TIME}" if name == TIME else name for name in names]
    return marked.withWatermark("mark", "0 seconds").selectExpr(*kept)
