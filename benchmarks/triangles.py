"""Enumerate triangles: paths of two edges, joined with the edges that close them, and counted."""

# The annotations of the record are read as types: no `annotations` import.
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.baselines import triangles as baseline
from benchmarks.data import graph
from benchmarks.workload import DATAFRAME, MORISOT, Answer, Workload


class Edge(NamedTuple):
    """Two nodes, the smaller number first: so each triangle is found once."""

    low: int
    high: int


def morisot(spark: SparkSession, path: Path) -> Answer:
    """The stream of edges is used three times."""
    import morisot as mo

    edges = mo.StreamContext(spark).stream_parquet(str(path), Edge)
    paths = edges.join(edges, lambda edge: edge.high, lambda edge: edge.low).drop_key()
    closed = paths.map(lambda pair: (pair[0].low, pair[1].high)).key_by(lambda ends: ends)
    triangles = closed.join(edges.key_by(lambda edge: (edge.low, edge.high)))
    return {"triangles": {0: sum(triangles.drop_key().count().collect())}}


WORKLOAD = Workload(
    name="triangles",
    title="triangles of a random graph",
    size=1_500,
    unit="nodes",
    prepare=graph,
    variants={MORISOT: morisot, DATAFRAME: baseline.dataframe},
)
