"""The queries of Nexmark as an expert writes them with DataFrames.

Only the columns that a query reads, aggregation by hash, small sides broadcast, nothing sorted. Ids of auctions are
known to be unique; of equal prices any bid wins.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pyspark.sql.functions as sf
from pyspark.sql.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame, SparkSession

    from benchmarks.nexmark.data import Paths


class Frames:
    """The tables of a session. A table that a query does not read is not opened."""

    def __init__(self, spark: SparkSession, paths: Paths) -> None:
        self._spark, self._paths = spark, paths

    @functools.cached_property
    def persons(self) -> DataFrame:
        return self._spark.read.parquet(str(self._paths.persons))

    @functools.cached_property
    def auctions(self) -> DataFrame:
        return self._spark.read.parquet(str(self._paths.auctions))

    @functools.cached_property
    def bids(self) -> DataFrame:
        return self._spark.read.parquet(str(self._paths.bids))

    @functools.cached_property
    def labels(self) -> DataFrame:
        return self._spark.range(100).select("id", sf.format_string("label %d", "id").alias("label"))


def start(size: int) -> Column:
    """The start of the tumbling window of a time in milliseconds."""
    return sf.col("date_time") - sf.col("date_time") % size


def q0(tables: Frames) -> DataFrame:
    return tables.bids


def q1(tables: Frames) -> DataFrame:
    return tables.bids.withColumn("price", sf.expr("price * 908 div 1000"))


def q2(tables: Frames) -> DataFrame:
    return tables.bids.where("auction % 123 = 0").select("auction", "price")


def q3(tables: Frames) -> DataFrame:
    sold = tables.auctions.where("category = 10").select(sf.col("id").alias("auction"), "seller")
    local = tables.persons.where(sf.col("state").isin("or", "id", "ca"))
    joined = local.join(sf.broadcast(sold), local.id == sold.seller)
    return joined.select("name", "city", "state", "auction")


def valid(tables: Frames, *columns: str) -> DataFrame:
    """The auctions, each with its valid bids: some columns of the auction, and bidder and price of the bid."""
    auctions = tables.auctions.select("id", "reserve", "date_time", "expires", *columns).alias("a")
    bids = tables.bids.alias("b")
    during = (sf.col("b.date_time") >= sf.col("a.date_time")) & (sf.col("b.date_time") < sf.col("a.expires"))
    enough = sf.col("b.price") >= sf.col("a.reserve")
    return bids.join(sf.broadcast(auctions), (sf.col("b.auction") == sf.col("a.id")) & during & enough)


def q4(tables: Frames) -> DataFrame:
    final = valid(tables, "category").groupBy("id", "category").agg(sf.max("price").alias("final"))
    return final.groupBy("category").agg(sf.avg("final"))


def q5(tables: Frames) -> DataFrame:
    panes = tables.bids.groupBy("auction", start(2_000).alias("pane")).count()
    starts = sf.sequence(sf.col("pane") - 8_000, "pane", sf.lit(2_000))
    exploded = panes.select("auction", "count", sf.explode(starts).alias("start"))
    counts = exploded.groupBy("start", "auction").agg(sf.sum("count").alias("count"))
    most = counts.groupBy("start").agg(sf.max("count").alias("most")).withColumnRenamed("start", "of")
    best = counts.join(sf.broadcast(most), (sf.col("start") == sf.col("of")) & (sf.col("count") == sf.col("most")))
    hottest = sf.sort_array(sf.collect_list(sf.struct("auction", "count")))
    end = sf.col("start") + 10_000
    return best.groupBy("start").agg(hottest.alias("hottest")).select(end, end + 2_000, "hottest")


def q6(tables: Frames) -> DataFrame:
    final = valid(tables, "seller").groupBy("id", "seller", "expires").agg(sf.max("price").alias("final"))
    closed = Window.partitionBy("seller").orderBy("expires", "id")
    last = closed.rowsBetween(-9, 0)
    means = final.select("seller", sf.avg("final").over(last).alias("mean"), sf.row_number().over(closed).alias("n"))
    return means.where("n >= 10").select("seller", "mean")


def q7(tables: Frames) -> DataFrame:
    highest = tables.bids.groupBy(start(10_000).alias("start")).agg(sf.max("price").alias("highest"))
    bids = tables.bids.withColumn("window", start(10_000))
    matches = (sf.col("window") == sf.col("start")) & (sf.col("price") == sf.col("highest"))
    bid = sf.struct(*tables.bids.columns)
    best = bids.join(sf.broadcast(highest), matches).groupBy("start").agg(sf.first(bid).alias("bid"))
    return best.select("start", sf.col("start") + 10_000, "bid")


def q8(tables: Frames) -> DataFrame:
    people = tables.persons.select("id", "name", start(10_000).alias("start"))
    opened = tables.auctions.select("seller", "reserve", start(10_000).alias("opened"))
    joined = opened.join(
        sf.broadcast(people), (sf.col("id") == sf.col("seller")) & (sf.col("start") == sf.col("opened"))
    )
    return joined.select("id", "name", "reserve")


def q9(tables: Frames) -> DataFrame:
    winners = valid(tables, "seller").groupBy("id", "seller")
    return winners.agg(sf.max_by("bidder", "price"), sf.max("price"))


def q11(tables: Frames) -> DataFrame:
    moments = tables.bids.groupBy("bidder", "date_time").count()
    by_time = Window.partitionBy("bidder").orderBy("date_time")
    before = sf.lag("date_time").over(by_time)
    starts = sf.when(sf.col("date_time") - before <= 1_000, 0).otherwise(1)
    sessions = moments.withColumn("starts", starts).withColumn("session", sf.sum("starts").over(by_time))
    found = sessions.groupBy("bidder", "session").agg(
        sf.min("date_time").alias("first"), (sf.max("date_time") + 1_000).alias("end"), sf.sum("count").alias("bids")
    )
    return found.select("bidder", "first", "end", "bids")


def q12(tables: Frames) -> DataFrame:
    return tables.bids.groupBy("bidder").count()


def q13(tables: Frames) -> DataFrame:
    labels = sf.broadcast(tables.labels)
    joined = tables.bids.join(labels, sf.col("auction") % 100 == sf.col("id"))
    return joined.select("auction", "bidder", "price", "label")


QUERIES: dict[str, Callable[[Frames], DataFrame]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q11, q12, q13)
}
