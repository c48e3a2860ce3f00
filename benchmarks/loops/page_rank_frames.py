"""PageRank without a state: by a join in every round, and with whole-number ranks of which only the changed ones go."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from benchmarks.loops.graph import Edge, Graph
from benchmarks.loops.page_rank import DAMPING, by_hand_rounds, limit_rounds, prepare
from benchmarks.loops.workload import BY_HAND, MORISOT, NUMBA, LoopWorkload, Outcome, in_threads, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import morisot as mo

ROUNDS = 10
UNIT = 1_000_000_000
PERCENT = round(DAMPING * 100)
FIRST = (100 - PERCENT) * UNIT // 100


def weighted(ctx: mo.StreamContext, graph: Graph) -> Any:
    """The edges as (source, target, how many edges leave the source); a loop keeps its side inputs."""
    edges = ctx.stream_parquet(graph.path, Edge)
    counts = edges.group_by_count(lambda edge: edge.source).unkey()
    met = edges.join(counts, lambda edge: edge.source, lambda count: count[0]).drop_key()
    return met.map(lambda pair: (pair[0].source, pair[0].target, pair[1][1]))


def with_join(spark: SparkSession, graph: Graph) -> Outcome:
    """Ranks meet the edges in every round; a node without an edge to it keeps the least rank."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    edges, nodes, least = weighted(ctx, graph), graph.nodes, (1 - DAMPING) / graph.nodes
    everyone = ctx.stream_par_iter(range(nodes))
    nothing = everyone.map(lambda node: (node, 0.0))

    def body(ranks: Any, _state: Any) -> Any:
        met = ranks.join(edges, lambda rank: rank[0], lambda edge: edge[0]).drop_key()
        parts = met.map(lambda pair: (pair[1][1], pair[0][1] / pair[1][2])).merge(nothing)
        sums = parts.group_by_sum(lambda part: part[0], lambda part: part[1]).unkey()
        return sums.map(lambda pair: (pair[0], least + DAMPING * pair[1]))

    _, ranks = everyone.map(lambda node: (node, 1 / nodes)).iterate(
        ROUNDS, 0, body, lambda delta, rank: delta + 1, lambda state, delta: delta, lambda state: True, delta=0
    )
    found = np.zeros(nodes)
    for node, rank in ranks.collect():
        found[node] = rank
    return of_morisot(ctx, found)


def with_integers(spark: SparkSession, graph: Graph) -> Outcome:
    """A node has its rank and what it has not passed on; only nodes that got something pass something on."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    edges = weighted(ctx, graph)

    def passed_on(changed: Any) -> Any:
        met = changed.unkey().join(edges, lambda pair: pair[0], lambda edge: edge[0]).drop_key()
        parts = met.map(lambda pair: (pair[1][1], pair[0][1] * PERCENT // (100 * pair[1][2])))
        return parts.group_by_sum(lambda part: part[0], lambda part: part[1])

    ranks = (
        ctx.stream_par_iter(range(graph.nodes))
        .group_by(lambda node: node)
        .map(lambda node, _: (FIRST, FIRST))
        .delta_iterate(
            ROUNDS,
            lambda node, rank, delta: (rank[0] + delta, delta),
            lambda node, rank: rank[1],
            lambda node, rank: rank[0],
            lambda delta: delta > 0,
            passed_on,
        )
    )
    found = np.zeros(graph.nodes, np.int64)
    for node, rank in ranks.collect():
        found[node] = rank
    return of_morisot(ctx, found)


def limit(_spark: SparkSession, graph: Graph) -> Outcome:
    """Plain numba, in floats."""
    return limit_rounds(graph, ROUNDS)


@numba.njit(nogil=True)
def passed(first: int, last: int, sources: Any, targets: Any, shares: Any) -> Any:
    """What the nodes get over some of the edges, in whole numbers."""
    sums = np.zeros(shares.shape[0], np.int64)
    for edge in range(first, last):
        sums[targets[edge]] += shares[sources[edge]]
    return sums


def integer_limit(_spark: SparkSession, graph: Graph) -> Outcome:
    """Plain numba, in whole numbers."""
    sources, targets = graph.arrays()
    out = np.maximum(1, np.bincount(sources, minlength=graph.nodes))
    fresh = np.full(graph.nodes, FIRST)
    ranks = fresh.copy()
    passed(0, 1, sources, targets, fresh)
    began = time.perf_counter()
    rounds = 0
    while rounds < ROUNDS and fresh.any():
        shares = fresh * PERCENT // (100 * out)
        fresh = sum(in_threads(passed, len(sources), sources, targets, shares))
        ranks += fresh
        rounds += 1
    return Outcome(ranks, rounds, time.perf_counter() - began)


def by_hand(spark: SparkSession, graph: Graph) -> Outcome:
    """As many rounds of a join, an aggregate and a checkpoint."""
    return by_hand_rounds(spark, graph, ROUNDS)


WORKLOADS = [
    LoopWorkload(
        "page_rank_join",
        "PageRank, a join in each round",
        2_400_000,
        "edges, 81 k nodes",
        prepare,
        {MORISOT: with_join, BY_HAND: by_hand, NUMBA: limit},
        lambda found, expected: bool(np.allclose(found, expected, rtol=1e-9)),
    ),
    LoopWorkload(
        "page_rank_integers",
        "PageRank with `delta_iterate` on ints",
        2_400_000,
        "edges, 81 k nodes",
        prepare,
        {MORISOT: with_integers, NUMBA: integer_limit},
        lambda found, expected: bool((found == expected).all()),
    ),
]
