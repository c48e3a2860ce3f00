"""`python -m benchmarks.nexmark`: the queries of Nexmark with Morisot and other systems, in turns, on the same files.

Results are added to a file of JSON: a run of some queries replaces their results, and retains those of the others.
`python -m benchmarks.readme` writes benchmarks/results/0.1.0/nexmark.json into docs/guide/nexmark.md.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.nexmark.data import FILES, prepare
from benchmarks.nexmark.measure import Options, Taken, measure, variant
from benchmarks.nexmark.systems import BY_HAND, SYSTEMS, WRITTEN, opened
from benchmarks.session import ROOT
from nexmark.queries import QUERIES

EVENTS = 10_000_000


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    def names(known: Sequence[str]) -> Any:
        def parse(text: str) -> list[str]:
            unknown = set(text.split(",")) - set(known)
            if unknown:
                raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: one of {', '.join(known)}")
            return text.split(",")

        return parse

    def numbers(text: str) -> list[int]:
        return [int(each) for each in text.split(",")]

    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark", description=__doc__)
    parser.add_argument("--queries", type=names(tuple(QUERIES)), default=list(QUERIES), help="such as q4,q6 (all)")
    parser.add_argument("--systems", type=names(SYSTEMS), default=list(SYSTEMS), help=f"of {','.join(SYSTEMS)} (all)")
    parser.add_argument("--events", type=int, default=EVENTS, help=f"persons, auctions and bids together ({EVENTS:,})")
    parser.add_argument("--scale", type=numbers, default=[1], help="multiples of the events, such as 1,2,4,8 (1)")
    parser.add_argument("--files", type=int, default=FILES, help=f"files of each kind of events ({FILES})")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each system that count (5)")
    parser.add_argument("--warmups", type=int, default=2, help="runs before those, the first run included (2)")
    parser.add_argument("--memory", default="8g", help="the heap of the JVM (8g)")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "nexmark.json", help="where results are added")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, keep; 1 if a system failed or answered differently."""
    given = _arguments(arguments)
    console, shown = Console(width=None if sys.stdout.isatty() else 150), {}
    with opened(given.systems, given.memory) as (systems, facts):
        facts["revision"] = revision()
        for scale in given.scale:
            events = given.events * scale
            paths = prepare(events, given.files)
            for query in given.queries:
                taken = measure(query, systems, paths, Options(given.pairs, given.warmups), given.json.parent, say)
                facts["load_average_after"] = os.getloadavg()
                shown[f"{query}-{events}"] = workload(query, taken, events, facts)
                keep(given.json, {f"{query}-{events}": shown[f"{query}-{events}"]}, facts)
    console.print(table(shown))
    problems = [(name, each["problem"]) for one in shown.values() for name, each in one["variants"].items()
                if each.get("problem")]  # fmt: skip
    return int(bool(problems))


def say(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def revision() -> str:
    """The commit of this code."""
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def workload(query: str, taken: Mapping[str, Taken], events: int, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A query with some number of events, as JSON."""
    expected = taken.get(BY_HAND)
    return {
        "title": query,
        "query": query,
        "sink": "Parquet" if query in WRITTEN else "Arrow",
        "unit": "events",
        "revision": facts["revision"],
        "load_average": facts["load_average_after"],
        "variants": {name: variant(each, expected, events) for name, each in taken.items()},
    }


def keep(path: Path, found: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    """Adds results to the file. A query with a number of events replaces the result with the same name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # of two runs, each adds its queries
        file.seek(0)
        document: dict[str, Any] = json.loads(file.read() or '{"workloads": {}}')
        document["machine"] = dict(facts)
        document["workloads"].update(found)
        file.truncate(0)
        file.write(json.dumps(document, indent=2) + "\n")


def table(workloads: Mapping[str, Any]) -> Table:
    """Medians of warm runs and ratios to the DataFrames by hand, first run and warm runs."""
    shown = Table("query", "events", "system", "CPU s", "ratio", "wall s", "ratio", "first CPU s", "ratio", "")
    ratios: dict[str, list[float]] = {}
    for one in workloads.values():
        for name, each in one["variants"].items():
            row = [one["query"], f"{each['size']:,}", name]
            if each.get("problem") or not each.get("first"):
                shown.add_row(*row, "", "", "", "", "", "", each.get("problem") or "not run")
                continue
            for clock in ("cpu", "wall"):
                row += [number(each, f"{clock}_seconds"), number(each, f"{clock}_ratio")]
            row += [f"{each['first']['cpu_seconds']:.2f}", number(each, "first_cpu_ratio"), "; ".join(each["notes"])]
            shown.add_row(*row)
            if each.get("cpu_ratio"):
                ratios.setdefault(name, []).append(each["cpu_ratio"])
    shown.caption = "; ".join(
        f"{name}: geometric mean {math.exp(sum(map(math.log, each)) / len(each)):.2f}" for name, each in ratios.items()
    )
    return shown


def number(of: Mapping[str, Any], key: str) -> str:
    return "–" if of.get(key) is None else f"{of[key]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
