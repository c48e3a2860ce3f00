"""`python -m benchmarks.closures`: the corpus of closures, each with its form, its answers and its cost."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.closures import transpiler
from benchmarks.closures.corpus import CORPUS
from benchmarks.closures.measure import Bench, Options
from benchmarks.closures.report import as_json, show
from benchmarks.report import write_json
from benchmarks.session import machine, open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path("build/closures.json")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closures", description="What becomes of closures.")
    defaults = Options()
    parser.add_argument("--rows", type=int, default=defaults.rows, help="rows of what runs in Python; columns get more")
    parser.add_argument("--runs", type=int, default=defaults.runs, help="measured runs; 0: only forms and answers")
    parser.add_argument("--more-runs", type=int, default=defaults.more_runs, help="runs where the ways are close")
    parser.add_argument("--rdd-every", type=int, default=1, help="every n-th closure as an RDD lambda too; 0: none")
    parser.add_argument("--only", nargs="+", default=["*"], help="closures or themes: money, 'text_cleaning.*'")
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--keep", action="store_true", help="keep what the JSON says of closures that are not run")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, measure, print, keep; 1 if an answer was not CPython's."""
    given = _arguments(arguments)
    options = Options(given.rows, given.runs, max(given.more_runs, given.runs), given.rdd_every)
    patterns = [pattern if "." in pattern or "*" in pattern else f"{pattern}.*" for pattern in given.only]
    entries = [entry for entry in CORPUS if any(fnmatch.fnmatch(entry.key, pattern) for pattern in patterns)]
    console, messages = Console(width=None if sys.stdout.isatty() else 130), Console(stderr=True)
    spark = open_session()
    try:
        facts = machine(spark)
        bench = Bench(spark, options)
        results = []
        with messages.status("") as status:
            for number, entry in enumerate(entries):
                status.update(f"{number + 1} of {len(entries)}: {entry.key}")
                if not messages.is_terminal and number % 25 == 0:  # a log shows no status
                    messages.print(f"{number} of {len(entries)} done", highlight=False)
                results.append(bench.run(entry, number))
            lowered = transpiler.lowered(spark, entries, given.json.parent) if transpiler.is_there() else None
        facts["load_average_after"] = os.getloadavg()
        document = as_json(results, lowered, facts, options)
        if given.keep and given.json.exists():
            earlier = json.loads(given.json.read_text())
            document["closures"] = {**earlier["closures"], **document["closures"]}
        write_json(document, given.json)
        show(document, console, transpiler.LOOKED_FOR)
        return int(any(result.problem is not None for result in results))
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
