"""Numeric chain by hand: the numbers are not negative, so `%` and `div` already mean what Python's do."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, n: int) -> Answer:
    """One generated loop over `spark.range`, with a partial sum per core."""
    frame = (
        spark.range(n)
        .select((sf.col("id") * 2 + 1).alias("x"))
        .where(sf.col("x") % 3 == 0)
        .select(sf.expr("x div 2").alias("x"))
        .groupBy((sf.col("x") % 10).alias("key"))
        .agg(sf.sum("x"))
    )
    return {"sums": dict(frame.collect())}


def rdd(spark: SparkSession, n: int) -> Answer:
    """The lambdas themselves, on pickled batches."""
    sums = (
        spark.sparkContext.range(n)
        .map(lambda x: x * 2 + 1)
        .filter(lambda x: x % 3 == 0)
        .map(lambda x: x // 2)
        .map(lambda x: (x % 10, x))
        .reduceByKey(add)
    )
    return {"sums": dict(sums.collect())}
