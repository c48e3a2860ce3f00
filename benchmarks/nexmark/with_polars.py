"""The queries of Nexmark as lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from benchmarks.nexmark.data import Paths
from nexmark.events import LABELS


class LazyTables:
    """The tables of the files."""

    def __init__(self, paths: Paths) -> None:
        self.persons, self.auctions, self.bids = (pl.scan_parquet(path / "*.parquet") for path in paths)
        self.labels = pl.LazyFrame(LABELS, schema=["number", "label"], orient="row")


def start(size: int) -> pl.Expr:
    """The start of the tumbling window of a time in milliseconds."""
    return pl.col("date_time") - pl.col("date_time") % size


def q0(tables: LazyTables) -> pl.LazyFrame:
    return tables.bids


def q1(tables: LazyTables) -> pl.LazyFrame:
    return tables.bids.with_columns(pl.col("price") * 908 // 1000)


def q2(tables: LazyTables) -> pl.LazyFrame:
    return tables.bids.filter(pl.col("auction") % 123 == 0).select("auction", "price")


def q3(tables: LazyTables) -> pl.LazyFrame:
    sold = tables.auctions.filter(pl.col("category") == 10).select("seller", auction="id")
    local = tables.persons.filter(pl.col("state").is_in(["or", "id", "ca"]))
    return sold.join(local, left_on="seller", right_on="id").select("name", "city", "state", "auction")


def valid(tables: LazyTables, *columns: str) -> pl.LazyFrame:
    """The auctions, each with its valid bids."""
    auctions = tables.auctions.select("id", "reserve", "expires", *columns, opened="date_time")
    bids = tables.bids.select("auction", "bidder", "price", "date_time")
    during = (pl.col("date_time") >= pl.col("opened")) & (pl.col("date_time") < pl.col("expires"))
    joined = bids.join(auctions, left_on="auction", right_on="id")
    return joined.filter(during & (pl.col("price") >= pl.col("reserve")))


def q4(tables: LazyTables) -> pl.LazyFrame:
    final = valid(tables, "category").group_by("auction", "category").agg(pl.max("price"))
    return final.group_by("category").agg(pl.mean("price"))


def q5(tables: LazyTables) -> pl.LazyFrame:
    panes = tables.bids.group_by("auction", start(2_000).alias("pane")).len()
    windows = [panes.select("auction", "len", start=pl.col("pane") - ago) for ago in range(0, 10_000, 2_000)]
    counts = pl.concat(windows).group_by("start", "auction").agg(pl.sum("len"))
    most = counts.group_by("start").agg(pl.max("len"))
    best = counts.join(most, on=["start", "len"]).sort("auction").group_by("start").agg(pl.struct("auction", "len"))
    return best.select(pl.col("start") + 10_000, end=pl.col("start") + 12_000, hottest="auction")


def q6(tables: LazyTables) -> pl.LazyFrame:
    final = valid(tables, "seller").group_by("auction", "seller", "expires").agg(pl.max("price"))
    means = pl.col("price").rolling_mean(10).over("seller", order_by=["expires", "auction"])
    return final.select("seller", mean=means).filter(pl.col("mean").is_not_null())


def q7(tables: LazyTables) -> pl.LazyFrame:
    bids = tables.bids.with_columns(start=start(10_000))
    highest = bids.group_by("start").agg(pl.max("price"))
    best = bids.join(highest, on=["start", "price"]).unique("start")
    return best.select("start", end=pl.col("start") + 10_000, bid=pl.struct(tables.bids.collect_schema().names()))


def q8(tables: LazyTables) -> pl.LazyFrame:
    people = tables.persons.select("id", "name", start=start(10_000))
    opened = tables.auctions.select("seller", "reserve", start=start(10_000))
    joined = opened.join(people, left_on=["seller", "start"], right_on=["id", "start"])
    return joined.select("seller", "name", "reserve")


def q9(tables: LazyTables) -> pl.LazyFrame:
    winners = valid(tables, "seller").group_by("auction", "seller")
    return winners.agg(pl.col("bidder").get(pl.col("price").arg_max()), pl.max("price"))


def q11(tables: LazyTables) -> pl.LazyFrame:
    moments = tables.bids.group_by("bidder", "date_time").len().sort("bidder", "date_time")
    after_gap = (pl.col("date_time").diff() > 1_000) | (pl.col("bidder").diff() != 0)
    sessions = moments.group_by(after_gap.fill_null(value=True).cum_sum().alias("session"))
    found = sessions.agg(pl.first("bidder"), pl.min("date_time"), pl.max("date_time").alias("last"), pl.sum("len"))
    return found.select("bidder", "date_time", pl.col("last") + 1_000, "len")


def q12(tables: LazyTables) -> pl.LazyFrame:
    return tables.bids.group_by("bidder").len()


def q13(tables: LazyTables) -> pl.LazyFrame:
    bids = tables.bids.select("auction", "bidder", "price", number=pl.col("auction") % 100)
    return bids.join(tables.labels, on="number").select("auction", "bidder", "price", "label")


QUERIES: dict[str, Callable[[LazyTables], pl.LazyFrame]] = {
    query.__name__: query for query in (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q11, q12, q13)
}
