"""Runs a query on several systems in turns, compares their answers, and keeps what each run cost."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from benchmarks.cpu import Cost, measured
from benchmarks.nexmark.answers import difference
from benchmarks.nexmark.data import Paths
from benchmarks.nexmark.systems import BY_HAND, System, answer

CLOCKS = ("cpu_seconds", "wall_seconds")


@dataclass
class Taken:
    """The runs of a query on a system: the first, and the warm ones; `problem` says why there are none."""

    first: Cost | None = None
    runs: list[Cost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problem: str | None = None


@dataclass(frozen=True)
class Options:
    """How often a query runs: `pairs` runs of each system count, after the first run and some more."""

    pairs: int = 5
    warmups: int = 2


def measure(
    query: str,
    systems: Mapping[str, System],
    paths: Paths,
    options: Options,
    directory: Path,
    progress: Callable[[str], None],
) -> dict[str, Taken]:
    """Runs the query on every system; the number of the query says which system has its first run first."""
    taken = {name: Taken() for name in systems}
    first = list(systems) if int(query[1:]) % 2 else list(systems)[::-1]
    answers: dict[str, pa.Table] = {}
    for name in first:
        progress(f"{query}: {name}, first run")
        try:
            taken[name].first, answers[name] = _run(query, systems[name], paths, directory)
            taken[name].notes = systems[name].notes()
        except Exception as failure:  # the others' numbers are not lost
            taken[name].problem = "".join(traceback.format_exception_only(failure)).strip()
    _compare(query, taken, answers, paths)
    answers.clear()
    sound = [name for name in systems if taken[name].problem is None]
    for turn, name in _turns(sound, options.warmups - 1 + options.pairs):
        progress(f"{query}: {name}, run {turn + 2} of {options.warmups + options.pairs}")
        cost, _ = _run(query, systems[name], paths, directory)
        if turn >= options.warmups - 1:
            taken[name].runs.append(cost)
    return taken


def _run(query: str, system: System, paths: Paths, directory: Path) -> tuple[Cost, pa.Table]:
    written = directory / query
    shutil.rmtree(written, ignore_errors=True)
    system.settle()
    read, cost = measured(lambda: answer(system, query, paths, written))
    table = read()
    shutil.rmtree(written, ignore_errors=True)
    return cost, table


def _compare(query: str, taken: Mapping[str, Taken], answers: Mapping[str, pa.Table], paths: Paths) -> None:
    expected = answers.get(BY_HAND, next(iter(answers.values()), None))
    for name, found in answers.items():
        if expected is not None and found is not expected:
            taken[name].problem = difference(query, found, expected, paths)


def _turns(names: Sequence[str], turns: int) -> Iterator[tuple[int, str]]:
    """A run of each, then again, each time with another one first: a slow minute of the machine hits them all."""
    for turn in range(turns):
        first = turn % len(names) if names else 0
        for name in [*names[first:], *names[:first]]:
            yield turn, name


def variant(taken: Taken, expected: Taken | None, size: int) -> dict[str, Any]:
    """The runs as JSON, in the form of the other benchmarks; ratios are to the DataFrames by hand."""
    if taken.first is None or taken.problem is not None:
        return {"size": size, "problem": taken.problem}
    found: dict[str, Any] = {"size": size, "first": asdict(taken.first), "notes": taken.notes}
    found["runs"] = [asdict(cost) for cost in taken.runs]
    for seconds in CLOCKS:
        clock = seconds.removesuffix("_seconds")
        if taken.runs:
            found[seconds] = _median(taken.runs, seconds)
        if expected is not None and expected.first is not None:
            first = getattr(taken.first, seconds), getattr(expected.first, seconds)
            found[f"first_{clock}_ratio"] = ratio(*first)
            if taken.runs and expected.runs:
                found[f"{clock}_ratio"] = ratio(found[seconds], _median(expected.runs, seconds))
    return found


def _median(runs: Sequence[Cost], clock: str) -> float:
    return float(median(getattr(run, clock) for run in runs))


def ratio(one: float, other: float) -> float | None:
    return one / other if other else None
