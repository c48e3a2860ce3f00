"""Orders joined with their customers, and revenue per group of customers."""

# The annotations of the records are read as types: no `annotations` import.
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.baselines import join_aggregate as baseline
from benchmarks.data import customers, orders
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload


class Order(NamedTuple):
    """What the job reads of an order."""

    customer: str
    amount: float
    quantity: int


class Customer(NamedTuple):
    """A line of the customers' file."""

    name: str
    group: int


def prepare(rows: int) -> tuple[Path, Path]:
    """Orders, and a customer for each name in them."""
    return orders(rows), customers(rows)


def morisot(spark: SparkSession, paths: tuple[Path, Path]) -> Answer:
    """The pairs of a join are records on both sides; only the columns that lambdas read are moved."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    bought, buyers = ctx.stream_parquet(str(paths[0]), Order), ctx.stream_parquet(str(paths[1]), Customer)
    revenue = (
        bought.join(buyers, lambda order: order.customer, lambda customer: customer.name)
        .drop_key()
        .map(lambda pair: (pair[1].group, pair[0].amount * pair[0].quantity))
        .group_by_sum(lambda pair: pair[0], lambda pair: pair[1])
    )
    return {"revenue": dict(revenue.collect())}


WORKLOAD = Workload(
    name="join_aggregate",
    title="join and keyed sum",
    size=5_000_000,
    unit="rows",
    prepare=prepare,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
    rdd_fraction=0.1,
)
