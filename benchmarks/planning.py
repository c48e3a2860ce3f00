"""`python -m benchmarks.planning`: how long it takes to compile closures and to plan, before any data moves.

First without Spark, in processes of their own: plans of many operators, and closures that are not compiled yet. Then
chains of closures up to Spark's own plan; `--without-spark` leaves these out.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

import morisot as mo
from benchmarks.cpu import Cost, measured
from benchmarks.session import machine, open_session

ROOT = Path(__file__).resolve().parents[1]
LENGTHS = (1, 10, 100)
OPERATORS, DIAMONDS, CLOSURES = 30, 30, 100


# ---- without Spark


def thirty_operators() -> Any:
    """Row-wise operators in every form, keys, a fold and a join, each with a closure of its own."""
    numbers = mo.StreamContext(engine="reference").stream_iter(range(10))
    stream: Any = numbers
    for each in range(OPERATORS // 3 - 2):
        stream = stream.map(lambda n, each=each: n * 3 + each)
        stream = stream.filter(lambda n, each=each: n % 7 != each)
        stream = stream.map(lambda n, each=each: int(f"{n}{each}"[:5]))
    totals = stream.group_by(lambda n: n % 10).fold(0, lambda total, n: total + n)
    labels = numbers.map(lambda n: (n, str(n))).key_by(lambda pair: pair[0])
    return totals.join(labels).map(lambda _, pair: pair[0])


def thirty_diamonds() -> Any:
    stream: Any = mo.StreamContext(engine="reference").stream_iter(range(10))
    for _ in range(DIAMONDS):
        stream = stream.map(lambda n: n + 1).merge(stream.map(lambda n: n + 2))
    return stream


Steps = dict[str, float]
"""Milliseconds."""


def importing() -> Steps:
    """What the first closure of a process waits for."""
    began = time.perf_counter()
    import morisot.compile.kernel.function
    import morisot.compile.syntax.function
    import morisot.physical.plan  # noqa: F401

    return {"import the compiler": 1000 * (time.perf_counter() - began)}


def cold_plan(build: Callable[[], Any]) -> Steps:
    """To call the methods, which compiles the closures, and to compute the physical plan."""
    steps = importing()
    from morisot.physical.plan import plan

    began = time.perf_counter()
    stream = build()
    built = time.perf_counter()
    operators = plan((stream._node,)).operators
    planned = time.perf_counter()
    assert operators
    return {**steps, "build, with closures": 1000 * (built - began), "plan": 1000 * (planned - built)}


def cold_corpus() -> Steps:
    """Closures as people write them, of many files."""
    from benchmarks.closures.corpus import CORPUS
    from benchmarks.closures.forms import verdict

    steps = importing()
    chosen = CORPUS[:: len(CORPUS) // CLOSURES][:CLOSURES]
    began = time.perf_counter()
    forms = [verdict(entry).form for entry in chosen]
    assert len(forms) == CLOSURES
    return {**steps, "compile": 1000 * (time.perf_counter() - began)}


def cold_module() -> Steps:
    """Lambdas of one long file, two on each line."""
    from morisot.compile.choose import verdict_of
    from morisot.errors import Location
    from morisot.plan.nodes.closure import Closure
    from morisot.types.element import INT

    steps = importing()
    pairs = [f"(lambda n: n * {each} + 1), (lambda n: n % 7 != {each})," for each in range(CLOSURES // 2)]
    others = [f"def other_{each}(n):\n    return [n + {each}, n - {each}]\n" for each in range(1000)]
    with tempfile.TemporaryDirectory(prefix="morisot-bench-") as directory:
        file = Path(directory, "lambdas.py")
        file.write_text("\n".join(["LAMBDAS = (", *pairs, ")", *others]))
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        began = time.perf_counter()
        forms = [verdict_of(Closure(each, Location(str(file), 1), "map"), (INT,)).form for each in names["LAMBDAS"]]
        took = time.perf_counter() - began
    assert forms == ["column"] * CLOSURES
    return {**steps, "compile": 1000 * took}


COLD: dict[str, tuple[str, Callable[[], Steps]]] = {
    "operators": (f"{OPERATORS} operators", lambda: cold_plan(thirty_operators)),
    "diamonds": (f"{DIAMONDS} diamonds", lambda: cold_plan(thirty_diamonds)),
    "corpus": (f"{CLOSURES} closures of the corpus", cold_corpus),
    "module": (f"{CLOSURES} lambdas of one long file", cold_module),
}


def _cold(key: str) -> Steps:
    command = [sys.executable, "-m", "benchmarks.planning", "--cold", key]
    found: Steps = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    return found


def show_cold(console: Console, runs: int) -> None:
    """A fresh process for each run: nothing is imported, read or compiled yet."""
    table = Table("in a fresh process", "step", "median ms", "worst ms")
    for key, (title, _) in COLD.items():
        found = [_cold(key) for _ in range(runs)]
        for step in found[0]:
            took = [one[step] for one in found]
            table.add_row(title, step, f"{median(took):.1f}", f"{max(took):.1f}")
    console.print(table)


# ---- up to Spark's plan


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


def show_chains(console: Console, runs: int) -> None:
    spark = open_session()
    table = Table("closures", "kind", "build s", "plan s", "together s", "together CPU s")
    for kind, add in KINDS.items():
        for length in LENGTHS:
            taken = [plan(mo.StreamContext(spark), add, length) for _ in range(runs + 1)][1:]
            build = median(one.wall_seconds for one, _ in taken)
            lower = median(other.wall_seconds for _, other in taken)
            cpu = median(one.cpu_seconds + other.cpu_seconds for one, other in taken)
            table.add_row(str(length), kind, *(f"{each:.3f}" for each in (build, lower, build + lower, cpu)))
    console.print(table)
    facts = machine(spark)
    console.print(", ".join(f"{name} {value}" for name, value in facts.items() if name != "settings"))
    spark.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="measured runs; with Spark, after one that is not counted")
    parser.add_argument("--without-spark", action="store_true", help="only what needs no JVM")
    parser.add_argument("--cold", choices=COLD, help="one measurement in this process, as JSON")
    given = parser.parse_args(arguments)
    if given.cold:
        print(json.dumps(COLD[given.cold][1]()))
        return 0
    console = Console(width=None if sys.stdout.isatty() else 150)
    show_cold(console, given.runs)
    if not given.without_spark:
        show_chains(console, given.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
