"""`python -m benchmarks.nexmark.first_runs`: what the first run of each query costs in a program of one system.

In one process, the system that runs a query first also loads classes and compiles code for the other one. So each
process here runs one system: each query once, one after the other. The medians are added to results that exist.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.nexmark.measure import CLOCKS, ratio
from benchmarks.nexmark.systems import BY_HAND, MORISOT
from benchmarks.session import ROOT

SYSTEMS = (MORISOT, BY_HAND)


def first_runs(system: str, events: int, queries: str) -> dict[str, Any]:
    """By query, the cost of its run in a process that runs each query once."""
    with tempfile.TemporaryDirectory() as directory:
        results = Path(directory) / "nexmark.json"
        command = [sys.executable, "-m", "benchmarks.nexmark", "--systems", system, "--events", str(events)]
        command += ["--pairs", "0", "--warmups", "1", "--queries", queries, "--json", str(results)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        workloads = json.loads(results.read_text())["workloads"]
    return {name: one["variants"][system]["first"] for name, one in workloads.items()}


def add(document: dict[str, Any], found: dict[str, list[dict[str, Any]]]) -> None:
    """Adds the runs of each system to the results of each query, with the ratios of their medians."""
    for name, one in document["workloads"].items():
        variants = one["variants"]
        if any(name not in run for runs in found.values() for run in runs):
            continue
        for system, runs in found.items():
            variants[system]["first_runs"] = [run[name] for run in runs]
        for clock in CLOCKS:
            seconds = {system: median(run[name][clock] for run in runs) for system, runs in found.items()}
            for system in found:
                key = f"first_{clock.removesuffix('_seconds')}_ratio"
                variants[system][key] = ratio(seconds[system], seconds[BY_HAND])


def main() -> None:
    """Run the processes in turns, and add what they found."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark.first_runs", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--processes", type=int, default=3, help="processes of each system (3)")
    parser.add_argument("--queries", required=True, help="such as q0,q1")
    parser.add_argument("--json", type=Path, required=True, help="the results to which the first runs are added")
    given = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {system: [] for system in SYSTEMS}
    for turn in range(given.processes):
        for system in SYSTEMS if turn % 2 else SYSTEMS[::-1]:
            found[system].append(first_runs(system, given.events, given.queries))
    document = json.loads(given.json.read_text())
    add(document, found)
    given.json.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
