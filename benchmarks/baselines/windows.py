"""Windows by hand: Spark's own window(), and row numbers where windows count elements."""

from __future__ import annotations

from datetime import datetime, timedelta
from operator import add
from typing import TYPE_CHECKING, Any

import pyspark.sql.functions as sf
from pyspark.sql.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from benchmarks.workload import Answer

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the timestamps of the file have no zone
SECOND = timedelta(seconds=1)


def sliding(spark: SparkSession, path: Path) -> Answer:
    """What the Structured Streaming guide shows."""
    sums = (
        spark.read.parquet(str(path))
        .groupBy("sensor", sf.window("ts", "60 seconds", "1 second"))
        .agg(sf.sum("reading").alias("total"))
    )
    return {"highest": dict(sums.groupBy("sensor").agg(sf.max("total")).collect())}


def starts(moment: datetime, size: int, slide: int) -> Iterator[int]:
    """The seconds at which the windows of a moment begin."""
    last = (moment - EPOCH) // SECOND // slide * slide
    return iter(range(last, last - size, -slide))


def sliding_rdd(spark: SparkSession, path: Path) -> Answer:
    """Each event once for each of its windows."""
    rows = spark.read.parquet(str(path)).select("ts", "sensor", "reading").rdd
    sums = rows.flatMap(lambda row: [((row[1], start), row[2]) for start in starts(row[0], 60, 1)]).reduceByKey(add)
    return {"highest": dict(sums.map(lambda pair: (pair[0][0], pair[1])).reduceByKey(max).collect())}


def word_count(spark: SparkSession, path: Path) -> Answer:
    """The occurrences of a word are numbered, and each is in two windows."""
    words = (
        spark.read.text(str(path))
        .select(sf.explode(sf.split(sf.lower("value"), r"\s+")).alias("word"))
        .where(sf.col("word") != "")
    )
    within = Window.partitionBy("word").orderBy("place")
    numbered = words.withColumn("place", sf.monotonically_increasing_id())
    numbered = numbered.select("word", ((sf.row_number().over(within) - 1) / 5).cast("int").alias("last"))
    windows = (
        numbered.select("word", sf.explode(sf.array(sf.col("last") - 1, sf.col("last"))).alias("window"))
        .where("window >= 0")
        .groupBy("word", "window")
        .count()
        .where("count = 10")
    )
    counts = windows.groupBy("word").count().toArrow()
    return {"windows": dict(zip(counts["word"].to_pylist(), counts["count"].to_pylist(), strict=True))}


def word_count_rdd(spark: SparkSession, path: Path) -> Answer:
    """All occurrences of a word are collected in a list."""

    def complete(places: Any) -> int:
        occurrences = sorted(places)
        return sum(1 for start in range(0, len(occurrences), 5) if len(occurrences[start : start + 10]) == 10)

    words = spark.sparkContext.textFile(str(path)).flatMap(lambda line: line.lower().split())
    counts = words.zipWithIndex().groupByKey().mapValues(complete).filter(lambda pair: pair[1] > 0)
    return {"windows": dict(counts.collect())}


def top_words(spark: SparkSession, path: Path) -> Answer:
    """Counts by window and word, then the first three of each window."""
    counts = spark.read.parquet(str(path)).groupBy(sf.window("ts", "60 seconds", "10 seconds"), "word").count()
    best_first = Window.partitionBy("window").orderBy(sf.desc("count"), "word")
    ranked = counts.withColumn("rank", sf.row_number().over(best_first)).where("rank <= 3")
    top: dict[datetime, list[tuple[str, int]]] = {}
    for end, word, count in ranked.orderBy("window", "rank").select("window.end", "word", "count").collect():
        top.setdefault(end, []).append((word, count))
    return {"top": {end: tuple(words) for end, words in top.items()}}


def top_words_rdd(spark: SparkSession, path: Path) -> Answer:
    """The words of a window are collected in a list."""
    rows = spark.read.parquet(str(path)).select("ts", "word").rdd
    counts = rows.flatMap(lambda row: [((start, row[1]), 1) for start in starts(row[0], 60, 10)]).reduceByKey(add)
    of_window = counts.map(lambda pair: (pair[0][0], (pair[0][1], pair[1]))).groupByKey()
    top = of_window.mapValues(lambda words: tuple(sorted(words, key=lambda pair: (-pair[1], pair[0]))[:3]))
    return {"top": {EPOCH + (start + 60) * SECOND: words for start, words in top.collect()}}
