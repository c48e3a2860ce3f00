"""Records from Parquet: a filter, a map and a sum per country."""

# The annotations of the record are read as types: no `annotations` import.
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.baselines import records as baseline
from benchmarks.data import orders
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload


class Order(NamedTuple):
    """A line of the Parquet file."""

    id: int
    customer: str
    amount: float
    quantity: int
    country: str
    ts: datetime


def morisot(spark: SparkSession, path: Path) -> Answer:
    """The lambdas see records; which columns they read is for Morisot to find."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    revenue = (
        ctx.stream_parquet(str(path), Order)
        .filter(lambda o: o.amount > 100.0 and o.country in ("IT", "FR", "DE"))
        .map(lambda o: (o.country, o.amount * o.quantity))
        .group_by_sum(lambda p: p[0], lambda p: p[1])
    )
    return {"revenue": dict(revenue.collect())}


WORKLOAD = Workload(
    name="records",
    title="records from Parquet",
    size=5_000_000,
    unit="rows",
    prepare=orders,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
)
