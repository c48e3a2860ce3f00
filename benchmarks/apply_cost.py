"""`python -m benchmarks.apply_cost`: what `apply` costs beside `map` and `rich_map` of the same function.

The function computes for about a millisecond. The variants run in turns, in one session. A store and a state count the
elements of a replica and of a key.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import morisot as mo
from benchmarks.session import CORES

REPLICAS = CORES


def work(n: int) -> int:
    """About a millisecond, in a function that has no column or kernel form."""
    return hashlib.pbkdf2_hmac("sha256", n.to_bytes(8, "big"), b"", 5500)[0]


class Working(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:  # noqa: ARG002
        return [work(element)]


class Counting(mo.Operator[int, int]):
    def process(self, element: int, message: mo.Message) -> list[int]:  # noqa: ARG002
        self.store["seen"] = self.store.get("seen", 0) + 1
        return [work(element)]


def counting(state: int, key: int, value: int) -> tuple[int, int]:  # noqa: ARG001
    return state + 1, work(value)


VARIANTS: dict[str, tuple[str, Callable[[mo.Stream[int]], Any]]] = {
    "map": ("map", lambda s: s.parallelism(REPLICAS).map(work)),
    "apply": ("map", lambda s: s.apply(Working(), replicate=REPLICAS, ordered=False)),
    "apply, ordered": ("map", lambda s: s.apply(Working(), replicate=REPLICAS)),
    "rich_map": ("rich_map", lambda s: s.group_by(lambda n: n % REPLICAS).rich_map(0, counting)),
    "apply with a store": ("rich_map", lambda s: s.apply(Counting(), replicate=REPLICAS, ordered=False)),
}
"""Each variant with the one that it is compared with."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    config = mo.Config(progress=False, report=False, parallelism=CORES)
    with mo.StreamContext(config=config) as ctx:
        numbers = ctx.stream_iter(range(options.elements))
        for run in range(-1, options.runs):  # the first one warms up
            for name, (_, program) in VARIANTS.items():
                began = time.perf_counter()
                found = len(program(numbers).collect())
                taken = time.perf_counter() - began
                assert found == options.elements
                if run >= 0:
                    times[name].append(taken)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, (base, _) in VARIANTS.items():
        print(f"{name:20} {medians[name]:7.3f} s  {medians[name] / medians[base]:5.2f} × {base}")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"elements": options.elements, "cores": CORES, "times": times}, indent=1))


if __name__ == "__main__":
    main()
