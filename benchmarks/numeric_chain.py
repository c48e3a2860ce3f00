"""Numeric chain: map, filter, map and a sum per key over whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.baselines import numeric_chain as baseline
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def morisot(spark: SparkSession, n: int) -> Answer:
    """The lambdas, as a user writes them."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    sums = (
        ctx.stream_par_iter(range(n))
        .map(lambda x: x * 2 + 1)
        .filter(lambda x: x % 3 == 0)
        .map(lambda x: x // 2)
        .group_by_sum(lambda x: x % 10, lambda x: x)
    )
    return {"sums": dict(sums.collect())}


WORKLOAD = Workload(
    name="numeric_chain",
    title="numeric chain",
    size=50_000_000,
    unit="longs",
    prepare=lambda n: n,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
    rdd_fraction=0.1,
)
