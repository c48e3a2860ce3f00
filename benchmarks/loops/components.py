"""Connected components: every node takes the smallest label of its neighbours until no label changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from benchmarks.loops.graph import Edge, Graph, random_graph
from benchmarks.loops.workload import BY_HAND, MORISOT, NUMBA, LoopWorkload, Outcome, in_threads, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_ROUNDS = 200


def prepare(edges: int) -> Graph:
    return random_graph("network", 20_000, edges)


def propose(delta: tuple[Any, int], labelled: tuple[int, int]) -> tuple[Any, int]:
    """A smaller label for a node; a node of -1 is none."""
    labels, changes = delta
    node, label = labelled
    if node >= 0:
        labels[node] = min(labels[node], label)
        changes += 1
    return labels, changes


def offer(edge: Edge, labels: Any) -> tuple[int, int]:
    """Which end of an edge gets the other's label."""
    first, second = labels[edge.source], labels[edge.target]
    if first < second:
        return edge.target, first
    if second < first:
        return edge.source, second
    return -1, 0


def settle(state: tuple[Any, Any]) -> bool:
    """Once a round: whether a label changed."""
    _, changes = state
    changed = bool(changes[0] > 0)
    changes[0] = 0
    return changed


def morisot(spark: SparkSession, graph: Graph) -> Outcome:
    """The labels are the state; the edges stay in their tasks."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    far = np.full(graph.nodes, graph.nodes)
    states = ctx.stream_parquet(graph.path, Edge).replay(
        MOST_ROUNDS,
        (np.arange(graph.nodes), np.zeros(1, np.int64)),
        lambda edges, state: edges.map(lambda edge: offer(edge, state.value[0])),
        propose,
        lambda state, delta: (np.minimum(state[0], delta[0]), state[1] + delta[1]),
        settle,
        delta=(far, 0),
    )
    ((labels, _),) = states.collect()
    return of_morisot(ctx, labels)


def by_hand(spark: SparkSession, graph: Graph) -> Outcome:
    """A join, an aggregate and a checkpoint in each round."""
    from pyspark.sql import functions as sf

    pairs = spark.read.parquet(graph.path).distinct()
    back = pairs.select(sf.col("target").alias("source"), sf.col("source").alias("target"))
    edges = pairs.unionAll(back).cache()
    edges.count()
    labels = spark.range(graph.nodes).select(sf.col("id").alias("node"), sf.col("id").alias("label")).localCheckpoint()
    began = time.perf_counter()
    rounds = 0
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007 - the last one is told
        offered = edges.join(labels, edges.source == labels.node).groupBy("target").agg(sf.min("label").alias("offer"))
        better = sf.least("label", sf.coalesce("offer", "label"))
        joined = labels.join(offered, labels.node == offered.target, "left")
        new = joined.select(
            "node", better.alias("label"), (better < sf.col("label")).alias("changed")
        ).localCheckpoint()
        changed = new.where("changed").count()
        labels = new.select("node", "label")
        if not changed:
            break
    seconds = time.perf_counter() - began
    found = np.zeros(graph.nodes, np.int64)
    for node, label in labels.collect():
        found[node] = label
    edges.unpersist()
    return Outcome(found, rounds, seconds)


@numba.njit(nogil=True)
def offered_labels(first: int, last: int, sources: Any, targets: Any, labels: Any) -> Any:
    """The smallest labels that some of the edges offer."""
    best = labels.copy()
    for edge in range(first, last):
        one, other = sources[edge], targets[edge]
        best[other] = min(best[other], labels[one])
        best[one] = min(best[one], labels[other])
    return best


def limit(_spark: SparkSession, graph: Graph) -> Outcome:
    """Plain numba on arrays."""
    sources, targets = graph.arrays()
    labels = np.arange(graph.nodes)
    offered_labels(0, 1, sources, targets, labels)
    began = time.perf_counter()
    rounds = 0
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007 - the last one is told
        new = np.minimum.reduce(in_threads(offered_labels, len(sources), sources, targets, labels))
        if (new == labels).all():
            break
        labels = new
    return Outcome(labels, rounds, time.perf_counter() - began)


VARIANTS = {MORISOT: morisot, BY_HAND: by_hand, NUMBA: limit}
WORKLOADS = [
    LoopWorkload(
        "components",
        "connected components",
        5_000_000,
        "edges, 20 k nodes",
        prepare,
        VARIANTS,
        lambda a, b: bool((a == b).all()),
    )
]
