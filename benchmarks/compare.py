"""`python -m benchmarks.compare OLD.json NEW.json`: the CPU time of two results of `python -m benchmarks`, as ratios.

The results are of two sessions, so that a ratio holds what changed on the machine, too: the variants without Morisot
show how much that is. `python -m benchmarks.revisions` runs two revisions in turns instead.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

FACTS = ("cpu", "cores", "memory_gb", "java", "python", "spark")
"""What has to be the same on both machines for a ratio to say something about Morisot."""


@dataclass(frozen=True)
class Ratio:
    """How many times the old CPU time the new one is.

    `low` and `high` are the smallest and the largest ratio of a new run to an old one. They are None if a result has
    one run only, because the spread is unknown then.
    """

    middle: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> str:
        """`slower` or `faster` if every run of one result took longer than every run of the other."""
        if self.low is None or self.high is None:
            return "spread unknown"
        if self.low > 1:
            return "slower"
        return "faster" if self.high < 1 else "within the spread"


def ratio(old: Sequence[float], new: Sequence[float]) -> Ratio:
    """The ratio of the medians, with the interval that the runs give.

    >>> ratio([1.0, 1.1, 0.9], [2.0, 2.2, 1.8])
    Ratio(middle=2.0, low=1.6363636363636362, high=2.4444444444444446)
    >>> ratio([1.0], [2.0, 2.2, 1.8])
    Ratio(middle=2.0, low=None, high=None)
    """
    middle = median(new) / median(old)
    if min(len(old), len(new)) < 2:
        return Ratio(middle, None, None)
    return Ratio(middle, min(new) / max(old), max(new) / min(old))


@dataclass(frozen=True)
class Row:
    """One variant of one workload, of two results; `problem` says why there is no ratio."""

    workload: str
    variant: str
    old: tuple[float, ...] = ()
    new: tuple[float, ...] = ()
    problem: str | None = None


def rows(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Row]:
    """Every variant of every workload that one of two results has, in the order of the new result."""
    for name in [*new["workloads"], *(name for name in old["workloads"] if name not in new["workloads"])]:
        olds, news = (each["workloads"].get(name, {}).get("variants", {}) for each in (old, new))
        for variant in [*news, *(variant for variant in olds if variant not in news)]:
            yield _row(name, variant, olds.get(variant), news.get(variant))


def _row(workload: str, variant: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> Row:
    if old is None or new is None:
        return Row(workload, variant, problem=f"only in the {'new' if old is None else 'old'} result")
    if old.get("size") != new.get("size"):
        return Row(workload, variant, problem=f"{old.get('size'):,} against {new.get('size'):,} elements")
    times = [tuple(run["cpu_seconds"] for run in each.get("runs") or ()) for each in (old, new)]
    for which, taken, result in zip(("old", "new"), times, (old, new), strict=True):
        if not taken or min(taken) <= 0:
            why = result.get("problem") or "no CPU time was measured"
            return Row(workload, variant, problem=f"{which} result: {why}")
    return Row(workload, variant, times[0], times[1])


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What differs between the two machines."""
    for fact in FACTS:
        was, is_ = old["machine"].get(fact), new["machine"].get(fact)
        if was != is_:
            yield f"{fact}: {was} against {is_}"


def table(found: Sequence[Row]) -> Table:
    """The medians in seconds, and the ratios with their intervals."""
    shown = Table("workload", "variant", "old, CPU s", "new, CPU s", "new/old", "of single runs", "")
    for row in found:
        if row.problem is not None:
            shown.add_row(row.workload, row.variant, "", "", "", "", row.problem)
            continue
        one = ratio(row.old, row.new)
        interval = "" if one.low is None else f"{one.low:.3f} to {one.high:.3f}"
        medians = (f"{median(times):.2f} ({len(times)})" for times in (row.old, row.new))
        shown.add_row(row.workload, row.variant, *medians, f"{one.middle:.3f}", interval, one.verdict)
    return shown


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; 1 if there is nothing to compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("old", metavar="OLD.json", type=Path, help="the result to compare with")
    parser.add_argument("new", metavar="NEW.json", type=Path)
    given = parser.parse_args(arguments)
    old, new = (json.loads(file.read_text(encoding="utf-8")) for file in (given.old, given.new))
    found = list(rows(old, new))
    Console(width=None if sys.stdout.isatty() else 150).print(table(found))
    print("Medians (runs). slower, faster: every run of one result took more CPU time than every run of the other.")
    for difference in differences(old, new):
        print(f"The machines differ in {difference}")
    return int(all(row.problem is not None for row in found))


if __name__ == "__main__":
    sys.exit(main())
