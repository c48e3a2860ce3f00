"""Times of the supervisor: `python -m benchmarks.supervision [--json FILE] [--only detection …]`.

Detection of an exit, of a stuck process and of a stall; the time from a failure to the first new result; what is left
after each ending; the start of the command line. Results are added to the file of JSON, part by part.
`python -m benchmarks.readme` writes benchmarks/results/0.1.0/supervision.json into docs/guide/supervision.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import write_json
from benchmarks.session import machine_without_spark
from benchmarks.supervision import measure, pages, programs


def start_of_the_command_line(times: int) -> dict[str, Any]:
    return {"`morisot --help`": {"limit": 0.3, "seconds": [measure.help_seconds() for _ in range(2 * times)]}}


def detection(times: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cases = {**programs.DETECTIONS, **programs.DETECTIONS_ON_SPARK}
    for name, (program, limit) in cases.items():
        stall = programs.SPARK_STALL if name in programs.DETECTIONS_ON_SPARK else programs.STALL
        seconds = [measure.detection(program, stall) for _ in range(1 if limit == programs.SPARK_STALL else times)]
        found[name] = {"limit": limit, "seconds": seconds}
        say(f"{name}: {seconds}")
    return found


def recovery(times: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (failure, retries, where) in programs.FAILURES.items():
        pairs = [measure.recovery(failure, retries) for _ in range(times)]
        recovered, started = ([pair[index] for pair in pairs] for index in (0, 1))
        found[name] = {"where": where, "seconds": recovered, "start_up": started}
        say(f"{name}: {recovered}, start-up {started}")
    return found


def endings(times: int) -> dict[str, Any]:  # noqa: ARG001 - once each
    found = {}
    for name in measure.ENDINGS:
        found[name] = measure.ending(name)
        say(f"{name}: {found[name]}")
    return found


PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "start": start_of_the_command_line,
    "detection": detection,
    "recovery": recovery,
    "endings": endings,
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS, action="append", help="this part (may be repeated)")
    parser.add_argument("--times", type=int, default=5, help="how often each time is measured")
    parser.add_argument("--json", type=Path, default=Path("build/supervision.json"), help="where results are added")
    given = parser.parse_args()
    document: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {}
    document["settings"] = {"heartbeat": programs.HEARTBEAT, "stall": programs.STALL}
    for name in given.only or PARTS:
        facts = machine_without_spark()
        document[name] = {"machine": facts, "found": PARTS[name](given.times)}
        write_json(document, given.json)
    print(pages.table(document))


if __name__ == "__main__":
    main()
