"""Transitive closure: which nodes can be reached from which; only new pairs go into the next round.

Run it with `python examples/transitive_closure.py [--nodes N] [--edges M]`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import morisot as mo

Pair = tuple[int, int]


def mark(delta: tuple[Any, int], pair: Pair) -> tuple[Any, int]:
    found, count = delta
    found[pair[0], pair[1]] = True
    return found, count + 1


def goes_on(state: tuple[Any, Any]) -> bool:
    """Whether the round found a pair that was not known."""
    _, new = state
    found_some = bool(new[0] > 0)
    new[0] = 0
    return found_some


def main() -> None:
    parser = argparse.ArgumentParser(description="Transitive closure")
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--edges", type=int, default=260)
    given = parser.parse_args()
    random = np.random.default_rng(1874)
    edges = sorted({(a, b) for a, b in random.integers(0, given.nodes, (given.edges, 2)).tolist()})
    following: dict[int, list[int]] = {}
    known, none = np.zeros((given.nodes, given.nodes), bool), np.zeros((given.nodes, given.nodes), bool)
    for source, target in edges:
        following.setdefault(source, []).append(target)
        known[source, target] = True

    with mo.StreamContext() as ctx:
        state, _ = ctx.stream_iter(edges).iterate(
            given.nodes,
            (known, np.zeros(1, np.int64)),
            lambda pairs, state: pairs.flat_map(
                lambda pair: [(pair[0], target) for target in following.get(pair[1], [])], returns=Pair
            ).filter(lambda pair: not state.value[0][pair[0], pair[1]]),
            mark,
            lambda state, delta: (state[0] | delta[0], state[1] + delta[1]),
            goes_on,
            delta=(none, 0),
        )
        ((reached, _),) = state.collect()
        (loop,) = ctx.metrics()["loops"]
    one_more = reached | (reached.astype(np.int64) @ known.astype(np.int64) > 0)
    print(f"{len(edges)} edges make {int(reached.sum())} pairs, in {loop['rounds']} rounds")
    print(f"another round would add {int((one_more != reached).sum())}")


if __name__ == "__main__":
    main()
