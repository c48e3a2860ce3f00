"""The column with the watermark of each element, from which Spark computes its watermark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames.frame import TIME
from morisot.engines.spark.emit.frames.sql import quoted

WATERMARK = quoted("mark")
LATEST = (2**63 - 1) // 1000
"""The largest timestamp of Spark in milliseconds."""


def watched(with_watermark: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows of some columns, including TIME, after Spark's watermark of the column WATERMARK. NULL is ignored.

    Spark would move a user's filter before the watermark, and elements that are filtered out would not advance it. It
    moves nothing past a nondeterministic expression; this one adds zero. It is the same text in each micro-batch: a
    rand() would have another seed in each of them, and Spark would compile the stage again.
    """
    columns = [
        f"{TIME} + CAST(spark_partition_id() < 0 AS BIGINT) AS {TIME}" if name == TIME else name for name in names
    ]
    return with_watermark.withWatermark("mark", "0 seconds").selectExpr(*columns)
