"""Connected components: labels spread along edges until none changes; only changed labels travel.

Run it with `python examples/connected_components.py [--nodes N] [--edges M]`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np

import morisot as mo


def main() -> None:
    parser = argparse.ArgumentParser(description="Connected components")
    parser.add_argument("--nodes", type=int, default=300)
    parser.add_argument("--edges", type=int, default=220)
    given = parser.parse_args()
    random = np.random.default_rng(1874)
    neighbours: dict[int, list[int]] = {node: [] for node in range(given.nodes)}
    for one, other in random.integers(0, given.nodes, (given.edges, 2)).tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)

    def to_neighbours(changed: Any) -> Any:
        sent = changed.unkey().flat_map(lambda pair: [(other, pair[1]) for other in neighbours[pair[0]]])
        return sent.group_by(lambda pair: pair[0]).map(lambda node, pair: pair[1])

    with mo.StreamContext() as ctx:
        components = (
            ctx.stream_iter(range(given.nodes))
            .group_by(lambda node: node)
            .delta_iterate(
                given.nodes,
                lambda node, label, delta: min(label, delta),
                lambda node, label: label,
                lambda node, label: label,
                lambda delta: True,
                to_neighbours,
            )
        )
        labels = dict(components.collect())
        (loop,) = ctx.metrics()["loops"]
    wrong = [(one, other) for one in neighbours for other in neighbours[one] if labels[one] != labels[other]]
    sizes = Counter(labels.values())
    print(f"{len(sizes)} components, the largest has {max(sizes.values())} of {given.nodes} nodes")
    print(f"{loop['rounds']} rounds; {len(wrong)} edges between different labels")


if __name__ == "__main__":
    main()
