"""The graph of branches by hand: three filters of one range, and their union."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, n: int) -> Answer:
    """The condition of each branch is written out; a split has no word of its own."""
    numbers = spark.range(n).select(sf.col("id").alias("x"))
    rest = sf.col("x") % 3
    low = numbers.where(rest == 0).select((sf.col("x") * 2).alias("x"))
    middle = numbers.where((rest <= 1) & (sf.col("x") % 2 == 1))
    high = numbers.where(rest >= 1).select((sf.col("x") + 7).alias("x"))
    merged = low.union(middle).union(high)
    sums = merged.groupBy((sf.col("x") % 100).alias("key")).agg(sf.sum("x"))
    return {"sums": dict(sums.collect())}


def rdd(spark: SparkSession, n: int) -> Answer:
    """Each branch goes through all the numbers again."""
    numbers = spark.sparkContext.range(n)
    low = numbers.filter(lambda x: x % 3 == 0).map(lambda x: x * 2)
    middle = numbers.filter(lambda x: x % 3 <= 1 and x % 2 == 1)
    high = numbers.filter(lambda x: x % 3 >= 1).map(lambda x: x + 7)
    sums = low.union(middle).union(high).map(lambda x: (x % 100, x)).reduceByKey(add)
    return {"sums": dict(sums.collect())}
