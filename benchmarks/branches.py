"""A graph as WindFlow's tests have: a split that sends some elements to several branches, a merge, an aggregate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.baselines import branches as baseline
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def morisot(spark: SparkSession, n: int) -> Answer:
    """The branches and the way they take are columns: nothing but the sums moves."""
    import morisot as mo

    numbers = mo.StreamContext(spark).stream_par_iter(range(n))
    low, middle, high = numbers.split_by(lambda x: [0, 1] if x % 3 == 0 else ([1, 2] if x % 3 == 1 else [2]), 3)
    doubled = low.map(lambda x: x * 2)
    odd = middle.filter(lambda x: x % 2 == 1)
    merged = doubled.merge(odd, high.map(lambda x: x + 7))
    sums = merged.group_by_sum(lambda x: x % 100, lambda x: x)
    return {"sums": dict(sums.collect())}


WORKLOAD = Workload(
    name="branches",
    title="multicast split and merge",
    size=20_000_000,
    unit="longs",
    prepare=lambda n: n,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
    rdd_fraction=0.05,
)
