"""Vehicle collisions: three queries over one read of a CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.baselines import collisions as baseline
from benchmarks.collision import Collision, week
from benchmarks.data import collisions
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def morisot(spark: SparkSession, path: Path) -> Answer:
    """Five deferred aggregates, for an aggregate has one value, and one `execute`."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    rows = ctx.stream_csv(str(path), Collision, header=True)

    lethal_per_week = rows.filter(lambda c: c.persons_killed > 0).group_by_count(lambda c: week(c.date)).collect_vec()

    factors = rows.map(lambda c: (c, 1 if c.persons_killed > 0 else 0)).flat_map(
        lambda p: [(p[0].factor_1, p[1]), (p[0].factor_2, p[1]), (p[0].factor_3, p[1]), (p[0].factor_4, p[1]),
                   (p[0].factor_5, p[1])]
    ).filter(lambda p: p[0] is not None)  # fmt: skip
    accidents_per_factor = factors.group_by_count(lambda p: p[0]).collect_vec()
    lethal_share_per_factor = factors.group_by_avg(lambda p: p[0], lambda p: p[1]).collect_vec()

    placed = rows.filter(lambda c: c.borough is not None).map(
        lambda c: (c.borough, week(c.date), 1 if c.persons_killed > 0 else 0)
    )
    accidents_per_borough = placed.group_by_count(lambda p: (p[0], p[1])).collect_vec()
    lethal_share_per_borough = placed.group_by_avg(lambda p: (p[0], p[1]), lambda p: p[2]).collect_vec()

    ctx.execute()
    return {
        "lethal_per_week": dict(lethal_per_week.get()),
        "per_factor": _paired(accidents_per_factor.get(), lethal_share_per_factor.get()),
        "per_borough_and_week": _paired(accidents_per_borough.get(), lethal_share_per_borough.get()),
    }


def _paired(left: list[tuple[Any, Any]], right: list[tuple[Any, Any]]) -> dict[Any, tuple[Any, Any]]:
    others = dict(right)
    return {key: (value, others[key]) for key, value in left}


WORKLOAD = Workload(
    name="collisions",
    title="collisions, 3 queries",
    size=1_000_000,
    unit="rows",
    prepare=collisions,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
)
