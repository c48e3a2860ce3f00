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
from benchmarks.loops.readme import as_json, fastest
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


def measure(
    workload: LoopWorkload, spark: SparkSession, given: argparse.Namespace
) -> tuple[dict[str, list[Timing]], list[str]]:
    """The runs of each variant, and the variants whose answers are wrong."""
    data = workload.prepare(max(2, round(workload.size * given.scale)))
    timings: dict[str, list[Timing]] = {}
    for variant, run in workload.variants.items():
        if variant in given.variants:
            runs = timings[variant] = []
            for _ in range(given.runs):
                collect_garbage(spark)
                runs.append(timed(variant, lambda run=run: run(spark, data)))  # type: ignore[misc]
                if runs[-1].seconds > LONG:
                    break
    answers = {variant: fastest(runs).outcome.answer for variant, runs in timings.items()}
    expected = answers.get(NUMBA)
    if expected is None:
        return timings, []
    return timings, [variant for variant, answer in answers.items() if not workload.same(answer, expected)]


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
            size = round(workload.size * given.scale)
            title = f"{workload.title}, {size:,} {workload.unit}"
            for one in map(fastest, timings.values()):
                table.add_row(name, one.variant, *shown(one), "differs" if one.variant in differing else "same")
            document["workloads"][name] = as_json(title, size, timings)
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
