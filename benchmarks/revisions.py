"""`python -m benchmarks.revisions OLD`: the CPU time of the workloads of `make bench`, this code against a revision.

Each variant has a process and a session of its own, which stay: this code, the old code, and the old code once more.
They run a workload in turns, one at a time, so that a slow minute of the machine hits all of them. The ratio of old to
old says how much two processes with the same code differ.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.start_up import ROOT, ratio, revision

NEW, OLD, AGAIN = "new", "old", "old again"
SERVER = """
import json, sys
from benchmarks.__main__ import WORKLOADS
from benchmarks.cpu import measured
from benchmarks.loops.__main__ import WORKLOADS as LOOPS
from benchmarks.session import collect_garbage, open_session

answers, sys.stdout = sys.stdout, sys.stderr
spark, data = open_session(), {}
for line in sys.stdin:
    name, scale = json.loads(line)
    workload = {**WORKLOADS, **LOOPS}[name]
    if name not in data:
        data[name] = workload.prepare(max(2, round(workload.size * scale)))
    collect_garbage(spark)
    _, cost = measured(lambda: workload.variants["morisot"](spark, data[name]))
    print(json.dumps([cost.cpu_seconds, cost.wall_seconds]), file=answers, flush=True)
"""


@dataclass
class Variant:
    """A revision with a process of its own that runs the workloads that it is told to run."""

    name: str
    process: subprocess.Popen[str]

    def run(self, workload: str, scale: float) -> tuple[float, float]:
        """Run a workload once; the CPU time of the process tree, and the wall time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([workload, scale]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"The {self.name} code failed in {workload}: its error is above.")
        cpu, wall = json.loads(line)
        return cpu, wall


@contextmanager
def started(name: str, source: Path) -> Iterator[Variant]:
    """A variant whose process runs until the end of the block."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(source / "src")])}
    command = [sys.executable, "-c", SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=source, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        yield Variant(name, process)
        process.stdin.close()  # type: ignore[union-attr]


def measure(variants: Sequence[Variant], workload: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """The CPU times of a workload by variant; each turn begins with another one."""
    taken: dict[str, list[float]] = {variant.name: [] for variant in variants}
    for turn in range(options.warmups + options.pairs):
        first = turn % len(variants)
        for variant in [*variants[first:], *variants[:first]]:
            cpu, _ = variant.run(workload, options.scale)
            if turn >= options.warmups:
                taken[variant.name].append(cpu)
    return taken


def row(workload: str, taken: dict[str, list[float]]) -> tuple[str, ...]:
    """The median of the old code, and the ratios to it with their intervals."""
    cells = []
    for name in (NEW, AGAIN):
        middle, low, high = ratio(taken[name], taken[OLD], random.Random(1))
        cells.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
    return workload, f"{median(taken[OLD]):.2f}", *cells


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.revisions", description=__doc__)
    parser.add_argument("old", metavar="OLD", help="the revision to compare with")
    parser.add_argument("--pairs", type=int, default=7, help="runs of each variant that count (7)")
    parser.add_argument("--warmups", type=int, default=3, help="runs before those (3)")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full sizes")
    parser.add_argument("--only", nargs="+", required=False, help="these workloads")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "revisions.json")
    options = parser.parse_args(arguments)
    from benchmarks.__main__ import WORKLOADS

    table = Table("workload", "old, CPU s", "new/old (95 %)", "old/old (95 %)")
    found: dict[str, dict[str, list[float]]] = {}
    with ExitStack() as stack:
        checkout = stack.enter_context(revision(options.old))
        sources = {NEW: ROOT, OLD: checkout, AGAIN: checkout}
        variants = [stack.enter_context(started(name, source)) for name, source in sources.items()]
        for workload in options.only or WORKLOADS:
            found[workload] = measure(variants, workload, options)
            table.add_row(*row(workload, found[workload]))
            print(*row(workload, found[workload]), sep="  ", file=sys.stderr, flush=True)
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(found, indent=2) + "\n")
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(f"{options.pairs} runs of each, in turns; load at the end {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
