"""Transitive closure: which nodes can be reached from which; only pairs that are new go into the next round."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from benchmarks.loops.graph import Edge, Graph, random_graph
from benchmarks.loops.workload import BY_HAND, MORISOT, NUMBA, LoopWorkload, Outcome, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_ROUNDS = 1_000


def prepare(edges: int) -> Graph:
    return random_graph("reach", max(2, edges * 2 // 3), edges)


def mark(delta: tuple[Any, int], pair: tuple[int, int]) -> tuple[Any, int]:
    found, count = delta
    found[pair[0], pair[1]] = True
    return found, count + 1


def more(state: tuple[Any, Any]) -> bool:
    """Once a round: whether a pair was new."""
    _, new = state
    goes_on = bool(new[0] > 0)
    new[0] = 0
    return goes_on


def morisot(spark: SparkSession, graph: Graph) -> Outcome:
    """New pairs go round; the state knows all pairs so far."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    sources, targets = graph.arrays()
    following: list[list[int]] = [[] for _ in range(graph.nodes)]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        following[source].append(target)

    known, none = np.zeros((graph.nodes, graph.nodes), bool), np.zeros((graph.nodes, graph.nodes), bool)
    known[sources, targets] = True
    edges = ctx.stream_parquet(graph.path, Edge).map(lambda edge: (edge.source, edge.target)).unique()
    state, _ = edges.iterate(
        MOST_ROUNDS,
        (known, np.zeros(1, np.int64)),
        lambda pairs, state: pairs.flat_map(
            lambda pair: [(pair[0], target) for target in following[pair[1]]], returns=tuple[int, int]
        ).filter(lambda pair: not state.value[0][pair[0], pair[1]]),
        mark,
        lambda state, delta: (state[0] | delta[0], state[1] + delta[1]),
        more,
        delta=(none, 0),
    )
    ((reached, _),) = state.collect()
    return of_morisot(ctx, reached)


def by_hand(spark: SparkSession, graph: Graph) -> Outcome:
    """Semi-naive: the new pairs joined with the edges, without those that are known."""
    from pyspark.sql import functions as sf

    edges = spark.read.parquet(graph.path).distinct().cache()
    edges.count()
    known = edges.select(sf.col("source").alias("a"), sf.col("target").alias("b")).localCheckpoint()
    new = known
    rounds = 0
    began = time.perf_counter()
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007 - the last one is told
        longer = new.join(edges, new.b == edges.source).select("a", sf.col("target").alias("b")).distinct()
        new = longer.join(known, ["a", "b"], "left_anti").localCheckpoint()
        if new.isEmpty():
            break
        known = known.unionAll(new).coalesce(2).localCheckpoint()
    seconds = time.perf_counter() - began
    reached = np.zeros((graph.nodes, graph.nodes), bool)
    table = known.toArrow()
    reached[np.asarray(table["a"]), np.asarray(table["b"])] = True
    edges.unpersist()
    return Outcome(reached, rounds, seconds)


@numba.njit(nogil=True)
def reachable(starts: Any, ends: Any, targets: Any) -> Any:
    """A search from each node, over edges sorted by their source."""
    nodes = starts.shape[0]
    reached = np.zeros((nodes, nodes), np.bool_)
    stack = np.empty(nodes, np.int64)
    for node in range(nodes):
        size = 1
        stack[0] = node
        while size > 0:
            size -= 1
            here = stack[size]
            for place in range(starts[here], ends[here]):
                target = targets[place]
                if not reached[node, target]:
                    reached[node, target] = True
                    stack[size] = target
                    size += 1
    return reached


def limit(_spark: SparkSession, graph: Graph) -> Outcome:
    """Plain numba: no rounds, a search from each node."""
    sources, targets = graph.arrays()
    order = np.argsort(sources, kind="stable")
    bounds = np.searchsorted(sources[order], np.arange(graph.nodes + 1))
    given = bounds[:-1], bounds[1:], targets[order]
    reachable(*given)
    began = time.perf_counter()
    return Outcome(reachable(*given), 1, time.perf_counter() - began)


VARIANTS = {MORISOT: morisot, BY_HAND: by_hand, NUMBA: limit}
WORKLOADS = [
    LoopWorkload(
        "closure", "transitive closure", 3_000, "edges, 2 k nodes", prepare, VARIANTS, lambda a, b: bool((a == b).all())
    )
]
