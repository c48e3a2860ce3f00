"""`python -m benchmarks.start_up`: from the start of the interpreter to a session and to a first result.

The variants take turns, each start in a process of its own, so that a slow minute of the machine hits all of them:
this code, the same without authentication between Spark's processes, and, with `--against`, another revision.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
THIS, OPEN, OTHER = "this code", "without authentication", "the other revision"
MEASURES = ("session, wall", "session, CPU", "result, wall")
PROGRAM = """
import json, sys, time
import psutil
import morisot as mo
from morisot.config import Config
ctx = mo.StreamContext(config=Config(master="local[2]", memory="1g", progress=False, spark=json.loads(sys.argv[2])))
ctx.engine.spark
wall = time.time() - float(sys.argv[1])
times = [each.cpu_times() for each in (psutil.Process(), *psutil.Process().children(recursive=True))]
cpu = sum(one.user + one.system + one.children_user + one.children_system for one in times)
assert sorted(ctx.stream_iter("banana").group_by_count(lambda c: c).collect()) == [("a", 3), ("b", 1), ("n", 2)]
print(json.dumps([wall, cpu, time.time() - float(sys.argv[1])]))
"""


@dataclass
class Variant:
    """A way to start, and what its starts took: for each the measures in their order."""

    name: str
    source: Path
    settings: dict[str, str] = field(default_factory=dict)
    starts: list[list[float]] = field(default_factory=list)

    def start(self) -> None:
        """Start once more."""
        environ = {**os.environ, "PYTHONPATH": str(self.source / "src")}
        command = [sys.executable, "-c", PROGRAM, repr(time.time()), json.dumps(self.settings)]
        self.starts.append(json.loads(subprocess.check_output(command, env=environ, text=True)))

    def of(self, measure: int) -> list[float]:
        """What each start took by one measure."""
        return [start[measure] for start in self.starts]


def ratio(ours: Sequence[float], theirs: Sequence[float], chance: random.Random) -> tuple[float, float, float]:
    """The ratio of the medians, and the interval that holds it in 95 of 100 samples drawn again from the pairs.

    >>> ratio([2.0] * 9, [1.0] * 9, random.Random(1))
    (2.0, 2.0, 2.0)
    """
    pairs = list(zip(ours, theirs, strict=True))
    drawn = []
    for _ in range(2000):
        sample = chance.choices(pairs, k=len(pairs))
        drawn.append(median(one for one, _ in sample) / median(other for _, other in sample))
    drawn.sort()
    return median(ours) / median(theirs), drawn[len(drawn) // 40], drawn[-len(drawn) // 40]


@contextmanager
def revision(name: str) -> Iterator[Path]:
    """A checkout of a revision, removed afterwards."""
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory) / "checkout"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(place), name], cwd=ROOT, check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(place)], cwd=ROOT, check=True)


def table(variants: Sequence[Variant]) -> Table:
    """The medians of this code, and its ratio to each of the others."""
    found = Table("measure", THIS, *(f"ratio to {other.name} (95 %)" for other in variants[1:]))
    for number, measure in enumerate(MEASURES):
        ours = variants[0].of(number)
        cells = []
        for other in variants[1:]:
            middle, low, high = ratio(ours, other.of(number), random.Random(number))
            cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
        found.add_row(measure, f"{median(ours):.2f} s", *cells)
    return found


def measure(variants: Sequence[Variant], pairs: int) -> None:
    """Start all variants in turns; the first turn fills caches and does not count."""
    for turn in range(pairs + 1):
        order = variants if turn % 2 else list(reversed(variants))
        for variant in order:
            variant.start()
        if turn == 0:
            for variant in variants:
                variant.starts.clear()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_up", description=__doc__)
    parser.add_argument("--pairs", type=int, default=15, help="how many starts of each variant count (15)")
    parser.add_argument("--against", metavar="REVISION", help="compare with the code of a revision, too")
    options = parser.parse_args(arguments)
    variants = [Variant(THIS, ROOT), Variant(OPEN, ROOT, {"spark.authenticate": "false"})]
    if options.against is None:
        measure(variants, options.pairs)
    else:
        with revision(options.against) as place:
            variants.append(Variant(OTHER, place))
            measure(variants, options.pairs)
    load = os.getloadavg()[0]
    Console().print(table(variants))
    print(f"{options.pairs} starts of each, in turns; load at the end {load:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
