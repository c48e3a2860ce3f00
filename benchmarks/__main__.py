"""`python -m benchmarks`: the ratio tables of `make bench`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks import (
    branches,
    collisions,
    join_aggregate,
    numeric_chain,
    records,
    triangles,
    windows,
    word_count,
)
from benchmarks.harness import Options, run
from benchmarks.report import as_json, show, write_json
from benchmarks.session import machine, open_session
from benchmarks.workload import VARIANTS, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

WORKLOADS: dict[str, Workload[Any]] = {
    workload.name: workload
    for workload in (
        numeric_chain.WORKLOAD,
        records.WORKLOAD,
        word_count.WORKLOAD,
        collisions.WORKLOAD,
        windows.SLIDING,
        windows.WORD_COUNT,
        windows.TOP_WORDS,
        join_aggregate.WORKLOAD,
        triangles.WORKLOAD,
        branches.WORKLOAD,
    )
}


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Morisot against hand-written PySpark.")
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the full sizes")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each variant")
    parser.add_argument("--warmups", type=int, default=2, help="runs before those")
    parser.add_argument("--rdd-runs", type=int, default=1, help="measured runs of the RDD variant, after one warm-up")
    parser.add_argument("--only", action="append", choices=WORKLOADS, help="this workload (may be repeated)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS)
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--keep", action="store_true", help="keep what the JSON says of workloads that are not run")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep; 1 if a variant failed or answered differently."""
    given = _arguments(arguments)
    options = Options(given.scale, given.runs, given.warmups, given.rdd_runs, variants=tuple(given.variants))
    console, messages = Console(width=None if sys.stdout.isatty() else 150), Console(stderr=True)
    spark = open_session()
    try:
        facts = machine(spark)
        with messages.status("") as status:
            results = [
                run(WORKLOADS[name], spark, options, progress=status.update) for name in given.only or list(WORKLOADS)
            ]
        facts["load_average_after"] = os.getloadavg()
        document = as_json(results, facts, options)
        if given.keep and given.json.exists():
            document["workloads"] = {**json.loads(given.json.read_text())["workloads"], **document["workloads"]}
        write_json(document, given.json)
        show(results, facts, console)
        return int(any(one.problem is not None for result in results for one in result.measurements))
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
