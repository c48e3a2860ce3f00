"""Count the triangles of a random graph with two joins.

Run it with `python examples/triangles.py [--nodes N]`.
"""

from __future__ import annotations

import argparse
import random

import morisot as mo

Edge = tuple[int, int]


def random_graph(nodes: int, seed: int = 1874) -> list[Edge]:
    """Each pair of nodes is an edge with a probability of one half; the smaller number comes first."""
    chance = random.Random(seed)
    return [(a, b) for a in range(nodes) for b in range(a + 1, nodes) if chance.random() < 0.5]


def triangles(edges: mo.Stream[Edge]) -> mo.Stream[tuple[int, int, int]]:
    """Every three nodes a < b < c that are all connected: a path of two edges, and the edge that closes it."""
    paths = edges.join(edges, lambda edge: edge[1], lambda edge: edge[0]).drop_key()
    corners = paths.map(lambda pair: (pair[0][0], pair[0][1], pair[1][1]))
    closed = corners.join(edges, lambda abc: (abc[0], abc[2]), lambda edge: edge)
    return closed.drop_key().map(lambda pair: pair[0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Count the triangles of a random graph.")
    parser.add_argument("--nodes", type=int, default=60)
    arguments = parser.parse_args()
    edges = random_graph(arguments.nodes)

    with mo.StreamContext() as ctx:
        found = triangles(ctx.stream_iter(edges))
        found.explain()
        busiest = found.flat_map(lambda abc: [abc[0], abc[1], abc[2]]).group_by_count(lambda node: node)
        count, top = found.collect_count(), busiest.unkey().sorted_limit_by(lambda pair: -pair[1], 3).collect_vec()
        ctx.execute()
        print(f"\n{arguments.nodes} nodes, {len(edges):,} edges, {count.get():,} triangles")
        print("in most of them:", ", ".join(f"node {node} ({triangles:,})" for node, triangles in top.get()))


if __name__ == "__main__":
    main()
