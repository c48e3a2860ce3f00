"""Filter and map on Parquet records by hand."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, path: Path) -> Answer:
    """Three columns of six are read, and the filter reaches the Parquet reader."""
    frame = (
        spark.read.parquet(str(path))
        .where((sf.col("amount") > 100.0) & sf.col("country").isin("IT", "FR", "DE"))
        .groupBy("country")
        .agg(sf.sum(sf.col("amount") * sf.col("quantity")))
    )
    return {"revenue": dict(frame.collect())}


def rdd(spark: SparkSession, path: Path) -> Answer:
    """Whole rows reach the workers: Spark cannot see which fields a lambda reads."""
    revenue = (
        spark.read.parquet(str(path))
        .rdd.filter(lambda o: o.amount > 100.0 and o.country in ("IT", "FR", "DE"))
        .map(lambda o: (o.country, o.amount * o.quantity))
        .reduceByKey(add)
    )
    return {"revenue": dict(revenue.collect())}
