"""Word count by hand."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer


def dataframe(spark: SparkSession, path: Path) -> Answer:
    """Split by white space as Python does: a line's margins give empty words, which are not words."""
    frame = (
        spark.read.text(str(path))
        .select(sf.explode(sf.split(sf.lower("value"), r"\s+")).alias("word"))
        .where(sf.col("word") != "")
        .groupBy("word")
        .count()
    )
    counts = frame.toArrow()  # a hundred thousand rows: Arrow brings them several times faster than `collect`
    return {"counts": dict(zip(counts["word"].to_pylist(), counts["count"].to_pylist(), strict=True))}


def rdd(spark: SparkSession, path: Path) -> Answer:
    """The word count of every Spark tutorial."""
    counts = (
        spark.sparkContext.textFile(str(path))
        .flatMap(lambda line: line.lower().split())
        .map(lambda word: (word, 1))
        .reduceByKey(add)
    )
    return {"counts": dict(counts.collect())}
