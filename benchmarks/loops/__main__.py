"""`python -m benchmarks.loops`: loops against loops by hand, and against plain machine code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.loops import closure, collatz, components, k_means, overhead, page_rank, page_rank_frames
from benchmarks.loops.readme import as_json
from benchmarks.loops.workload import NUMBA, VARIANTS, LoopWorkload, Timing, timed
from benchmarks.report import write_json
from benchmarks.session import collect_garbage, machine, open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

RESULTS = Path("build/loops.json")
FAMILIES = (overhead, k_means, page_rank, page_rank_frames, components, closure, collatz)
WORKLOADS = {workload.name: workload for family in FAMILIES for workload in family.WORKLOADS}

LONG = 60
"""Seconds: what a run takes that is not repeated, because starting cold is no part of it worth naming."""


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full sizes")
    parser.add_argument(
        "--runs", type=int, default=2, help="runs of each variant; the fastest is shown, long ones run once"
    )
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="this workload (may be repeated)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="keep what the JSON says of workloads that are not run")
    return parser.parse_args(arguments)


def measure(workload: LoopWorkload, spark: SparkSession, given: argparse.Namespace) -> tuple[list[Timing], list[str]]:
    """The fastest run of each variant, and what is wrong with their answers."""
    data = workload.prepare(max(2, round(workload.size * given.scale)))
    best: list[Timing] = []
    for variant, run in workload.variants.items():
        if variant in given.variants:
            timings = []
            for _ in range(given.runs):
                collect_garbage(spark)
                timings.append(timed(variant, lambda run=run: run(spark, data)))  # type: ignore[misc]
                if timings[-1].seconds > LONG:
                    break
            best.append(min(timings, key=lambda timing: timing.seconds))
    expected = next((one.outcome.answer for one in best if one.variant == NUMBA), None)
    if expected is None:
        return best, []
    return best, [one.variant for one in best if not workload.same(one.outcome.answer, expected)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep; 1 if an answer is wrong."""
    given = _arguments(arguments)
    spark = open_session()
    document: dict[str, Any] = {"machine": machine(spark), "workloads": {}}
    if given.keep and given.json.exists():
        document["workloads"] = json.loads(given.json.read_text())["workloads"]
    table = Table("workload", "variant", "whole job", "rounds", "loop", "a round", "answer")
    wrong = False
    try:
        for name in given.only or list(WORKLOADS):
            workload = WORKLOADS[name]
            timings, differing = measure(workload, spark, given)
            wrong |= bool(differing)
            title = f"{workload.title}, {round(workload.size * given.scale):,} {workload.unit}"
            for one in timings:
                table.add_row(name, one.variant, *shown(one), "differs" if one.variant in differing else "same")
            document["workloads"][name] = as_json(title, timings)
            write_json(document, given.json)
        Console(width=None if sys.stdout.isatty() else 150).print(table)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()}")
        return int(wrong)
    finally:
        spark.stop()


def shown(one: Timing) -> tuple[str, str, str, str]:
    """What the table says of a run."""
    loop, rounds = one.outcome.loop_seconds, max(1, one.outcome.rounds)
    if loop is None:
        return f"{one.seconds:.2f} s", str(rounds), "", ""
    return f"{one.seconds:.2f} s", str(rounds), f"{loop:.2f} s", f"{loop / rounds * 1000:.2f} ms"


if __name__ == "__main__":
    sys.exit(main())
