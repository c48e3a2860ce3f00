"""A join and a keyed sum by hand."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, paths: tuple[Path, Path]) -> Answer:
    """Spark sees from the file's size that customers can be broadcast."""
    orders, customers = (spark.read.parquet(str(path)) for path in paths)
    revenue = (
        orders.join(customers, orders["customer"] == customers["name"])
        .groupBy("group")
        .agg(sf.sum(sf.col("amount") * sf.col("quantity")))
    )
    return {"revenue": dict(revenue.collect())}


def rdd(spark: SparkSession, paths: tuple[Path, Path]) -> Answer:
    """Both sides are shuffled by name, and whole rows reach the workers."""
    orders, customers = (spark.read.parquet(str(path)).rdd for path in paths)
    bought = orders.map(lambda o: (o.customer, o.amount * o.quantity))
    groups = customers.map(lambda c: (c.name, c.group))
    revenue = bought.join(groups).map(lambda pair: (pair[1][1], pair[1][0])).reduceByKey(add)
    return {"revenue": dict(revenue.collect())}
