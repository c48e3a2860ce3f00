"""PageRank with the ranks in the loop's state; a hand-written loop joins ranks and edges in every round."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from benchmarks.loops.graph import Edge, Graph, random_graph
from benchmarks.loops.workload import BY_HAND, MORISOT, NUMBA, LoopWorkload, Outcome, in_threads, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 100
BY_HAND_ROUNDS = 5
"""A round by hand takes a second or more: a few tell."""
DAMPING = 0.85


def prepare(edges: int) -> Graph:
    return random_graph("web", max(10, round(81_000 * edges / 2_400_000)), edges)


def degrees(graph: Graph) -> Any:
    sources, _ = graph.arrays()
    return np.maximum(1, np.bincount(sources, minlength=graph.nodes)).astype(float)


def give(sums: Any, share: tuple[int, float]) -> Any:
    target, amount = share
    sums[target] += amount
    return sums


def ranked(sums: Any) -> Any:
    return (1 - DAMPING) / len(sums) + DAMPING * sums


def morisot(spark: SparkSession, graph: Graph) -> Outcome:
    """The state is what each node gives to each of its targets, and what the nodes got so far."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    out = degrees(graph)

    def spread(state: tuple[Any, Any]) -> bool:
        shares, sums = state
        shares[:] = ranked(sums) / out
        sums[:] = 0.0
        return True

    states = ctx.stream_parquet(graph.path, Edge).replay(
        ROUNDS,
        (np.full(graph.nodes, 1 / graph.nodes) / out, np.zeros(graph.nodes)),
        lambda edges, state: edges.map(lambda edge: (edge.target, state.value[0][edge.source])),
        give,
        lambda state, delta: (state[0], state[1] + delta),
        spread,
        delta=np.zeros(graph.nodes),
    )
    ((shares, _),) = states.collect()
    return of_morisot(ctx, shares * out)


def by_hand(spark: SparkSession, graph: Graph) -> Outcome:
    """A few rounds."""
    outcome = by_hand_rounds(spark, graph, BY_HAND_ROUNDS)
    return Outcome((BY_HAND_ROUNDS, outcome.answer), outcome.rounds, outcome.loop_seconds)


def by_hand_rounds(spark: SparkSession, graph: Graph, rounds: int) -> Outcome:
    """A join, an aggregate and a checkpoint in each round."""
    from pyspark.sql import functions as sf

    edges = spark.read.parquet(graph.path)
    out = edges.groupBy("source").agg(sf.count("*").alias("out"))
    edges = edges.join(out, "source").cache()
    edges.count()
    nodes = spark.range(graph.nodes).withColumnRenamed("id", "node").cache()
    ranks = nodes.withColumn("rank", sf.lit(1 / graph.nodes))
    began = time.perf_counter()
    for _ in range(rounds):
        given = edges.join(ranks, edges.source == ranks.node).select(
            "target", (sf.col("rank") / sf.col("out")).alias("part")
        )
        sums = given.groupBy("target").agg(sf.sum("part").alias("sum"))
        rank = sf.lit((1 - DAMPING) / graph.nodes) + sf.lit(DAMPING) * sf.coalesce("sum", sf.lit(0.0))
        ranks = nodes.join(sums, nodes.node == sums.target, "left").select("node", rank.alias("rank")).localCheckpoint()
    seconds = time.perf_counter() - began
    found = np.zeros(graph.nodes)
    for node, value in ranks.collect():
        found[node] = value
    edges.unpersist()
    nodes.unpersist()
    return Outcome(found, rounds, seconds)


@numba.njit(nogil=True)
def gathered(first: int, last: int, sources: Any, targets: Any, shares: Any) -> Any:
    """What the nodes get over some of the edges."""
    sums = np.zeros(shares.shape[0])
    for edge in range(first, last):
        sums[targets[edge]] += shares[sources[edge]]
    return sums


def limit(_spark: SparkSession, graph: Graph) -> Outcome:
    """Plain numba on arrays."""
    return limit_rounds(graph, ROUNDS)


def limit_rounds(graph: Graph, rounds: int) -> Outcome:
    sources, targets = graph.arrays()
    out = degrees(graph)
    shares = np.full(graph.nodes, 1 / graph.nodes) / out
    gathered(0, 1, sources, targets, shares)
    began = time.perf_counter()
    for _ in range(rounds):
        shares = ranked(sum(in_threads(gathered, len(sources), sources, targets, shares))) / out
    return Outcome(shares * out, rounds, time.perf_counter() - began)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found, tuple):  # fewer rounds by hand: close already, because ranks settle fast
        return bool(np.abs(found[1] - expected).max() < 1e-3)
    return bool(np.allclose(found, expected, rtol=1e-9))


VARIANTS = {MORISOT: morisot, BY_HAND: by_hand, NUMBA: limit}
WORKLOADS = [
    LoopWorkload("page_rank", "PageRank, ranks in the state", 2_400_000, "edges, 81 k nodes", prepare, VARIANTS, same)
]
