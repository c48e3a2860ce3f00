"""`python -m benchmarks.planning`: how long it takes to plan chains of closures, before any data moves."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

import morisot as mo
from benchmarks.cpu import Cost, measured
from benchmarks.session import machine, open_session

LENGTHS = (1, 10, 100)


def maps(stream: Any, number: int) -> Any:
    return stream.map(lambda n: n + number)


def filters(stream: Any, number: int) -> Any:
    return stream.filter(lambda n: n != number)


def mixed(stream: Any, number: int) -> Any:
    return (maps, filters)[number % 2](stream, number)


def doublings(stream: Any, _: int) -> Any:
    """Substituting one into the other would double the text with each."""
    return stream.map(lambda n: n % 1000 + n % 1000)


def records(stream: Any, number: int) -> Any:
    if number == 0:
        return stream.map(lambda n: (n, float(n), str(n)))
    return stream.map(lambda row: (row[0] + number, row[1] * 2.0, row[2]))


KINDS: dict[str, Callable[[Any, int], Any]] = {
    "maps": maps,
    "filters": filters,
    "maps and filters": mixed,
    "maps that double": doublings,
    "maps of tuples": records,
}


def plan(context: mo.StreamContext, add: Callable[[Any, int], Any], length: int) -> tuple[Cost, Cost]:
    """What it takes to build and compile the plan, and to lower it and let Spark analyse and optimise it."""
    stream, build = measured(lambda: functools.reduce(add, range(length), context.stream_par_iter(range(1000))))
    _, lower = measured(lambda: context.engine.spark_plan(stream._node))
    return build, lower


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="measured runs, after one that is not counted")
    runs = parser.parse_args(arguments).runs
    spark = open_session()
    table = Table("closures", "kind", "build s", "plan s", "together s", "together CPU s")
    for kind, add in KINDS.items():
        for length in LENGTHS:
            taken = [plan(mo.StreamContext(spark), add, length) for _ in range(runs + 1)][1:]
            build = median(one.wall_seconds for one, _ in taken)
            lower = median(other.wall_seconds for _, other in taken)
            cpu = median(one.cpu_seconds + other.cpu_seconds for one, other in taken)
            table.add_row(str(length), kind, *(f"{each:.3f}" for each in (build, lower, build + lower, cpu)))
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    facts = machine(spark)
    console.print(", ".join(f"{name} {value}" for name, value in facts.items() if name != "settings"))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
