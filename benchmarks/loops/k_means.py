"""k-means: points in the plane, each round assigns them to the nearest centre and moves the centres."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached
from benchmarks.loops.workload import BY_HAND, MLLIB, MORISOT, NUMBA, LoopWorkload, Outcome, in_threads, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 15


class Point(NamedTuple):
    """A point in the plane."""

    x: float
    y: float


class Input(NamedTuple):
    """The points, and where the centres start."""

    path: str
    centres: Any


def make(path: Path, size: int, random: Randomness) -> None:
    """Clouds around random centres."""
    places = random.random((40, 2)) * 100
    points = places[random.integers(0, 40, size)] + random.normal(0, 3, (size, 2))
    columns = {"x": pa.array(points[:, 0]), "y": pa.array(points[:, 1])}
    pq.write_table(pa.table(columns), path, row_group_size=1 << 18)


def prepare(size: int, k: int) -> Input:
    path = cached("points", size, ".parquet", make)
    return Input(str(path), np.random.default_rng(7).random((k, 2)) * 100)


def nearest(point: Point, centres: Any) -> int:
    best, least = 0, 1e300
    for place in range(len(centres)):
        across, up = point.x - centres[place, 0], point.y - centres[place, 1]
        distance = across * across + up * up
        if distance < least:
            best, least = place, distance
    return best


def put(sums: Any, assigned: tuple[int, Point]) -> Any:
    place, point = assigned
    sums[place, 0] += point.x
    sums[place, 1] += point.y
    sums[place, 2] += 1.0
    return sums


def move(state: tuple[Any, Any]) -> bool:
    """Once a round: the centres go where their points are."""
    centres, sums = state
    centres[:] = moved(centres, sums)
    sums[:] = 0.0
    return True


def moved(centres: Any, sums: Any) -> Any:
    used = sums[:, 2] > 0
    new = centres.copy()
    new[used] = sums[used, :2] / sums[used, 2:]
    return new


def morisot(spark: SparkSession, given: Input) -> Outcome:
    """The functions, as a user writes them."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    k = len(given.centres)
    states = ctx.stream_parquet(given.path, Point).replay(
        ROUNDS,
        (given.centres, np.zeros((k, 3))),
        lambda points, state: points.map(lambda point: (nearest(point, state.value[0]), point)),
        put,
        lambda state, delta: (state[0], state[1] + delta),
        move,
        delta=np.zeros((k, 3)),
    )
    ((centres, _),) = states.collect()
    return of_morisot(ctx, centres)


def by_hand(spark: SparkSession, given: Input) -> Outcome:
    """A cached DataFrame, the nearest centre as one expression over literals, an aggregate each round."""
    from pyspark.sql import functions as sf

    points = spark.read.parquet(given.path).cache()
    points.count()
    began = time.perf_counter()
    centres = given.centres.copy()
    for _ in range(ROUNDS):
        distances = [
            sf.struct(
                (
                    (sf.col("x") - float(x)) * (sf.col("x") - float(x))
                    + (sf.col("y") - float(y)) * (sf.col("y") - float(y))
                ).alias("d"),
                sf.lit(place).alias("at"),
            )
            for place, (x, y) in enumerate(centres)
        ]
        sums = (
            points.select(
                "x", "y", sf.least(*distances)["at"].alias("at") if len(distances) > 1 else sf.lit(0).alias("at")
            )
            .groupBy("at")
            .agg(sf.sum("x"), sf.sum("y"), sf.count("x"))
            .collect()
        )
        for at, x, y, count in sums:
            centres[at] = (x / count, y / count)
    seconds = time.perf_counter() - began
    points.unpersist()
    return Outcome(centres, ROUNDS, seconds)


def mllib(spark: SparkSession, given: Input) -> Outcome:
    """Spark's own KMeans, from random centres of its own: the same work, another answer."""
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    points = VectorAssembler(inputCols=["x", "y"], outputCol="features").transform(spark.read.parquet(given.path))
    cached = points.select("features").cache()
    cached.count()
    began = time.perf_counter()
    model = KMeans(k=len(given.centres), maxIter=ROUNDS, tol=0.0, initMode="random", seed=1).fit(cached)
    seconds = time.perf_counter() - began
    cached.unpersist()
    return Outcome(None, model.summary.numIter, seconds)


@numba.njit(nogil=True)
def assign(first: int, last: int, x: Any, y: Any, centres: Any) -> Any:
    """The sums and counts of the points of each centre."""
    sums = np.zeros((centres.shape[0], 3))
    for i in range(first, last):
        best, least = 0, 1e300
        for place in range(centres.shape[0]):
            across, up = x[i] - centres[place, 0], y[i] - centres[place, 1]
            distance = across * across + up * up
            if distance < least:
                best, least = place, distance
        sums[best, 0] += x[i]
        sums[best, 1] += y[i]
        sums[best, 2] += 1.0
    return sums


def limit(_spark: SparkSession, given: Input) -> Outcome:
    """Plain numba on arrays."""
    table = pq.read_table(given.path)
    x, y = (np.asarray(table[name]) for name in ("x", "y"))
    assign(0, 1, x, y, given.centres)  # compiled before the clock starts
    began = time.perf_counter()
    centres = given.centres.copy()
    for _ in range(ROUNDS):
        sums = sum(in_threads(assign, len(x), x, y, centres))
        centres = moved(centres, sums)
    return Outcome(centres, ROUNDS, time.perf_counter() - began)


def same(found: Any, expected: Any) -> bool:
    return found is None or bool(np.allclose(found, expected, rtol=1e-6))


VARIANTS = {MORISOT: morisot, BY_HAND: by_hand, MLLIB: mllib, NUMBA: limit}
WORKLOADS = [
    LoopWorkload(
        "k_means_30", "k-means", 10_000_000, "points, 30 centres", lambda size: prepare(size, 30), VARIANTS, same
    ),
    LoopWorkload(
        "k_means_300", "k-means", 10_000_000, "points, 300 centres", lambda size: prepare(size, 300), VARIANTS, same
    ),
]
