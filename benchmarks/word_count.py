"""Word count over English-looking text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.baselines import word_count as baseline
from benchmarks.data import text
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def morisot(spark: SparkSession, path: Path) -> Answer:
    """The word count of the README."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    words = ctx.stream_file(str(path)).flat_map(lambda line: line.lower().split()).group_by_count(lambda word: word)
    return {"counts": dict(words.collect())}


WORKLOAD = Workload(
    name="word_count",
    title="word count",
    size=200_000_000,
    unit="bytes",
    prepare=text,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
)
