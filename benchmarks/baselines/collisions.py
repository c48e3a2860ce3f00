"""Vehicle collisions by hand: one parsed read, kept, and three queries over it."""

from __future__ import annotations

import csv
from operator import add
from typing import TYPE_CHECKING, Any

import pyspark.sql.functions as sf

from benchmarks.collision import Collision, week

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from benchmarks.workload import Answer

FACTORS = [f"factor_{i}" for i in range(1, 6)]
_TYPES = {int: "bigint", str: "string", str | None: "string", float | None: "double"}
SCHEMA = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in Collision.__annotations__.items())
WEEK = "(unix_date(to_date(date, 'MM/dd/yyyy')) + 3) div 7"


def dataframe(spark: SparkSession, path: Path) -> Answer:
    """The parser skips the columns that no query reads; the parsed rows are cached for the three queries."""
    rows = (
        spark.read.schema(SCHEMA)
        .csv(str(path), header=True)
        .select(sf.expr(WEEK).alias("week"), (sf.col("persons_killed") > 0).alias("lethal"), "borough", *FACTORS)
        .cache()
    )
    try:
        return {
            "lethal_per_week": _pairs(rows.where("lethal").groupBy("week").count()),
            "per_factor": _pairs(
                rows.select(sf.explode(sf.array(*FACTORS)).alias("factor"), "lethal")
                .where("factor is not null")
                .groupBy("factor")
                .agg(sf.struct(sf.count("*"), sf.avg(sf.col("lethal").cast("int"))))
            ),
            "per_borough_and_week": _pairs(
                rows.where("borough is not null")
                .groupBy(sf.struct("borough", "week"))
                .agg(sf.struct(sf.count("*"), sf.avg(sf.col("lethal").cast("int"))))
            ),
        }
    finally:
        rows.unpersist()


def _pairs(frame: DataFrame) -> dict[Any, Any]:
    return {_plain(key): _plain(value) for key, value in frame.collect()}


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, tuple) else value


def rdd(spark: SparkSession, path: Path) -> Answer:
    """The parsed lines are cut down to what the queries read before they are cached: pickling is what costs here."""
    lines = spark.sparkContext.textFile(str(path)).filter(lambda line: not line.startswith("DATE,"))
    rows = lines.mapPartitions(_parsed).cache()
    try:
        return {
            "lethal_per_week": dict(
                rows.filter(lambda row: row[1] > 0).map(lambda row: (row[0], 1)).reduceByKey(add).collect()
            ),
            "per_factor": dict(
                rows.flatMap(lambda row: [(factor, (1, row[1])) for factor in row[3] if factor])
                .reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1]))
                .mapValues(lambda sums: (sums[0], sums[1] / sums[0]))
                .collect()
            ),
            "per_borough_and_week": dict(
                rows.filter(lambda row: bool(row[2]))
                .map(lambda row: ((row[2], row[0]), (1, row[1])))
                .reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1]))
                .mapValues(lambda sums: (sums[0], sums[1] / sums[0]))
                .collect()
            ),
        }
    finally:
        rows.unpersist()


def _parsed(lines: Iterable[str]) -> Iterator[tuple[int, int, str, list[str]]]:
    """Week, 1 if lethal, borough, factors."""
    for fields in csv.reader(lines):
        yield week(fields[0]), 1 if int(fields[11]) > 0 else 0, fields[2], fields[18:23]
