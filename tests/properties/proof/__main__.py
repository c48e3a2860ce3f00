"""The recorded run: `python -m tests.properties.proof --pairs 100000 --seed 1`."""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time

import pyspark

from morisot.config import Config
from morisot.engines.spark.session.session import build_session
from tests.properties.proof.outcomes import VERDICTS, Tally
from tests.properties.proof.run import ROWS, TOGETHER, failed, prove

_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.proof", description=__doc__)
    parser.add_argument("--pairs", type=int, default=100_000, help="how many pairs of a closure and a row")
    parser.add_argument("--seed", type=int, default=None, help="the same seed generates the same pairs")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many rows for each closure")
    parser.add_argument("--together", type=int, default=TOGETHER, help="how many closures are tried in one query")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after how many seconds no part begins")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    spark = build_session(Config(master="local[2]", parallelism=2, memory="2g", progress=False))
    began = time.monotonic()

    def say(text: str) -> None:
        if not given.quiet:
            print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)

    tally = prove(spark, given.pairs, seed, say, given.rows, given.together, given.seconds)
    if not given.quiet:
        print(file=sys.stderr)
    print(report(tally, seed, time.monotonic() - began))
    return 1 if failed(tally) else 0


def report(tally: Tally, seed: int, seconds: float) -> str:
    """The table of verdicts, and the shortest closures that prove a form wrong."""
    rows = [["form", "closures", "pairs", *VERDICTS]]
    for form, counts in sorted(tally.counts.items()):
        numbers = [tally.closures.get(form, 0), sum(counts.values()), *(counts[verdict] for verdict in VERDICTS)]
        rows.append([form, *map(str, numbers)])
    totals = [sum(counts[verdict] for counts in tally.counts.values()) for verdict in VERDICTS]
    rows.append(["all", *map(str, [sum(tally.closures.values()), tally.pairs, *totals])])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for first, *rest in rows:
        aligned = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *aligned]))
    versions = f"Python {platform.python_version()}, Spark {pyspark.__version__}"
    shortest: dict[str, str] = {}
    for difference in sorted(tally.differences, key=lambda one: len(one.text)):
        shortest.setdefault(difference.text, str(difference))
    shown = ["", *list(shortest.values())[:_SHOWN]] if shortest else []
    return "\n".join([*lines, "", f"seed {seed}, {seconds:.0f} s, {versions}", *shown])


if __name__ == "__main__":
    sys.exit(main())
