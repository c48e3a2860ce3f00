"""Triangles by hand: two joins and a count."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, path: Path) -> Answer:
    """Columns are renamed before a table is joined with itself."""
    edges = spark.read.parquet(str(path))
    first, second = edges.toDF("a", "b"), edges.toDF("b", "c")
    closing = edges.toDF("a", "c")
    triangles = first.join(second, "b").select("a", "c").join(closing, ["a", "c"])
    return {"triangles": {0: triangles.count()}}
