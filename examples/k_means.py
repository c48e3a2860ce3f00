"""k-means: centres move to the middle of their points, round after round, inside one Spark job.

Run it with `python examples/k_means.py [--points N] [--centres K] [--rounds R]`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import morisot as mo

Point = tuple[float, float]


def nearest(point: Point, centres: Any) -> int:
    best, least = 0, 1e300
    for place in range(len(centres)):
        across, up = point[0] - centres[place, 0], point[1] - centres[place, 1]
        distance = across * across + up * up
        if distance < least:
            best, least = place, distance
    return best


def put(sums: Any, assigned: tuple[int, Point]) -> Any:
    """The local fold: sums of coordinates and counts for each centre, in an array."""
    place, point = assigned
    sums[place, 0] += point[0]
    sums[place, 1] += point[1]
    sums[place, 2] += 1.0
    return sums


def move(state: tuple[Any, Any]) -> bool:
    """The condition is evaluated once a round: here the centres move, and the loop continues while one of them did."""
    centres, sums = state
    used = sums[:, 2] > 0
    new = np.where(used[:, None], sums[:, :2] / np.maximum(sums[:, 2:], 1), centres)
    moved = bool(np.abs(new - centres).max() > 1e-6)
    centres[:], sums[:] = new, 0.0
    return moved


def main() -> None:
    parser = argparse.ArgumentParser(description="k-means")
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--centres", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()

    random = np.random.default_rng(1874)
    clouds = np.array([(10.0, 10.0), (10.0, 40.0), (40.0, 10.0), (40.0, 40.0)])
    points = clouds[random.integers(0, len(clouds), given.points)] + random.normal(0, 2, (given.points, 2))
    start = points[random.integers(0, given.points, given.centres)]

    with mo.StreamContext() as ctx:
        nothing = np.zeros((given.centres, 3))
        result = ctx.stream_iter([(x, y) for x, y in points.tolist()]).replay(
            given.rounds,
            (start, nothing),
            lambda stream, state: stream.map(lambda point: (nearest(point, state.value[0]), point)),
            put,
            lambda state, delta: (state[0], state[1] + delta),
            move,
            delta=nothing,
        )
        ((centres, _),) = result.collect()
        result.explain()
        (loop,) = ctx.metrics()["loops"]
    for x, y in sorted(centres.tolist()):
        print(f"centre {x:6.2f} {y:6.2f}")
    print(f"{loop['rounds']} rounds, {loop['seconds_per_round'] * 1000:.2f} ms each")


if __name__ == "__main__":
    main()
