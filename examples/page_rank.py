"""PageRank two ways: ranks in the state of a loop, and whole-number ranks of which only the changed ones go round.

Run it with `python examples/page_rank.py [NODES]`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import morisot as mo

DAMPING, UNIT = 0.85, 1_000_000


def give(sums: Any, share: tuple[int, float]) -> Any:
    sums[share[0]] += share[1]
    return sums


def with_state(ctx: mo.StreamContext, edges: list[tuple[int, int]], nodes: int, rounds: int) -> list[float]:
    """The state is what every node gives to each of its targets, and what the nodes have got in this round."""
    out = np.bincount([source for source, _ in edges], minlength=nodes).astype(float)

    def spread(state: tuple[Any, Any]) -> bool:
        shares, sums = state
        shares[:] = ((1 - DAMPING) / nodes + DAMPING * sums) / out
        sums[:] = 0.0
        return True

    states = ctx.stream_iter(edges).replay(
        rounds,
        (np.full(nodes, 1 / nodes) / out, np.zeros(nodes)),
        lambda stream, state: stream.map(lambda edge: (edge[1], state.value[0][edge[0]])),
        give,
        lambda state, delta: (state[0], state[1] + delta),
        spread,
        delta=np.zeros(nodes),
    )
    ((shares, _),) = states.collect()
    return list(shares * out)


def with_changes(ctx: mo.StreamContext, edges: list[tuple[int, int]], nodes: int, rounds: int) -> dict[int, int]:
    """A node has its rank and what it has not passed on yet; it passes that on, until what is left is nothing."""
    targets: dict[int, list[int]] = {node: [] for node in range(nodes)}
    for source, target in edges:
        targets[source].append(target)
    first = round((1 - DAMPING) * UNIT)
    ranks = ctx.stream_iter(range(nodes)).group_by(lambda node: node).map(lambda node, _: (first, first))

    def passed_on(changed: Any) -> Any:
        sent = changed.unkey().flat_map(lambda pair: [(target, pair[1]) for target in targets[pair[0]]])
        return sent.group_by_sum(lambda part: part[0], lambda part: part[1])

    result = ranks.delta_iterate(
        rounds,
        lambda node, rank, delta: (rank[0] + delta, delta),
        lambda node, rank: round(DAMPING * rank[1]) // max(1, len(targets[node])),
        lambda node, rank: rank[0],
        lambda delta: delta > 0,
        passed_on,
    )
    return dict(result.collect())


def main() -> None:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    edges = [edge for n in range(nodes) for edge in ((n, (n + 1) % nodes), (n, n * n % 5))]
    with mo.StreamContext() as ctx:
        ranks = with_state(ctx, edges, nodes, 60)
        whole = with_changes(ctx, edges, nodes, 8)
    for node in sorted(range(nodes), key=lambda node: -ranks[node])[:3]:
        print(f"node {node}: rank {ranks[node]:.4f}, in whole numbers {whole[node]:,}")


if __name__ == "__main__":
    main()
