"""Vehicle collisions: three queries over one read of a CSV file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.baselines import collisions as baseline
from benchmarks.collision import Collision, week
from benchmarks.data import collisions
from benchmarks.workload import DATAFRAME, MORISOT, RDD, Answer, Workload

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class Accident(NamedTuple):
    """What the queries want to know of a collision."""

    week: int
    lethal: int
    borough: str | None
    factor_1: str | None
    factor_2: str | None
    factor_3: str | None
    factor_4: str | None
    factor_5: str | None


def morisot(spark: SparkSession, path: Path) -> Answer:
    """Three deferred sinks over one stream, and one `execute`."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    accidents = ctx.stream_csv(str(path), Collision).map(
        lambda c: Accident(
            week(c.date),
            1 if c.persons_killed > 0 else 0,
            c.borough,
            c.factor_1,
            c.factor_2,
            c.factor_3,
            c.factor_4,
            c.factor_5,
        )
    )
    lethal_per_week = accidents.filter(lambda a: a.lethal == 1).group_by_count(lambda a: a.week).collect_vec()
    per_factor = (
        accidents.flat_map(
            lambda a: [
                (a.factor_1, a.lethal),
                (a.factor_2, a.lethal),
                (a.factor_3, a.lethal),
                (a.factor_4, a.lethal),
                (a.factor_5, a.lethal),
            ]
        )
        .filter(lambda f: f[0] is not None)
        .group_by_fold(
            lambda f: f[0],
            (0, 0),
            lambda n, f: (n[0] + 1, n[1] + f[1]),
            lambda m, n: (m[0] + n[0], m[1] + n[1]),
        )
        .map(lambda factor, n: (n[0], n[1] / n[0]))
        .collect_vec()
    )
    per_borough_and_week = (
        accidents.filter(lambda a: a.borough is not None)
        .group_by_fold(
            lambda a: (a.borough, a.week),
            (0, 0),
            lambda n, a: (n[0] + 1, n[1] + a.lethal),
            lambda m, n: (m[0] + n[0], m[1] + n[1]),
        )
        .map(lambda place, n: (n[0], n[1] / n[0]))
        .collect_vec()
    )
    ctx.execute()
    return {
        "lethal_per_week": dict(lethal_per_week.get()),
        "per_factor": dict(per_factor.get()),
        "per_borough_and_week": dict(per_borough_and_week.get()),
    }


WORKLOAD = Workload(
    name="collisions",
    title="collisions, 3 queries",
    size=1_000_000,
    unit="rows",
    prepare=collisions,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe, RDD: baseline.rdd},
)
