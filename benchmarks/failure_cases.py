"""`python -m benchmarks.failure_cases`: what snapshots and failures cost, beside the published results of ResiPipe.

Each case processes 100 integers, at its own times. A source reads as many elements at once as are processed between two
snapshots. A failure is an exception that an operator raises once; the job resumes in the same process. A cold restart
is the same job without snapshots, started from scratch after the failure. Each run has a program of its own.

`python -m benchmarks.failure_cases --cases 2,3 --intervals 15 --json benchmarks/results/0.1.0/failure_cases.json` adds
its runs to the file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import morisot as mo
from benchmarks.session import CORES, ROOT

ELEMENTS, AGGREGATED = 100, 25
SLOWER = 0.3
"""Seconds that the failing replica needs more for each element."""
STATE_BYTES = 100_000_000


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Integers(mo.OffsetSource[int]):
    """The integers from 0 on, some at a time."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once

    def initial_offset(self) -> dict[str, Any]:
        return {"next": 0}

    def read(self, start: dict[str, Any]) -> tuple[range, dict[str, Any]]:
        end = min(start["next"] + self.at_once, ELEMENTS)
        return range(start["next"], end), {"next": end}


class Work(mo.Operator[int, int]):
    """Computes a Fibonacci number and sleeps for a second. One of its replicas may be slower, and fail once."""

    def __init__(self, directory: Path, name: str, slower: int | None = None, fails_after: int | None = None) -> None:
        self.directory, self.name, self.slower, self.fails_after = directory, name, slower, fails_after

    def process(self, element: int, message: mo.Message) -> list[int]:
        self.store["seen"] = self.store.get("seen", 0) + 1
        fibonacci(18)
        is_slower = message.instance == self.slower
        time.sleep(1.0 + (SLOWER if is_slower else 0.0))
        if is_slower and self.fails_after is not None:
            fail_once(self.directory, self.name, self.fails_after)
        return [element]


class Aggregate(mo.Operator[int, list[int]]):
    """Collects elements, and emits them together. It may fail once."""

    def __init__(self, directory: Path, fails_after: int | None = None) -> None:
        self.directory, self.fails_after = directory, fails_after

    def process(self, element: int, message: mo.Message) -> Iterator[list[int]]:  # noqa: ARG002
        collected = [*self.store.get("collected", ()), element]
        self.store["collected"] = collected if len(collected) < AGGREGATED else []
        if self.fails_after is not None:
            fail_once(self.directory, "aggregate", self.fails_after)
        if len(collected) == AGGREGATED:
            yield collected


class Holding(mo.Operator[int, int]):
    """Has a large state, and needs a second for each element."""

    def process(self, element: int, message: mo.Message) -> list[int]:  # noqa: ARG002
        if "large" not in self.store:
            self.store["large"] = os.urandom(STATE_BYTES)
        time.sleep(1.0)
        return [element]


def fail_once(directory: Path, name: str, after: int) -> None:
    """Counts calls over all attempts, and raises an exception in the one with the number."""
    counted = directory / name
    with counted.open("a") as file:
        file.write(".")
    if counted.stat().st_size == after:
        raise RuntimeError(f"{name} fails after {after} elements")


@dataclass(frozen=True)
class Case:
    """A case, and its published throughput in elements per second."""

    rate: float
    """Elements per second without a failure, from which the elements between two snapshots follow."""
    published: str
    fails: bool = True


CASES = {
    1: Case(1.0, "no visible overhead; best 15, 30, 60 s"),
    2: Case(1.54, "1.54 without failure; 1.33 at 15 s (-13.6 %), 1.09 at 30 s, 1.31 at 45 s, at 60 s a cold restart"),
    3: Case(0.76, "0.76 without failure; 0.59 at 15 s (-22.4 %), 0.42 at 30 s, 0.48 at 45 s, at 60 s a cold restart"),
    4: Case(1.0, "overhead 8.2 / 4.3 / 6.3 / 7.2 % at 15 / 30 / 45 / 60 s", fails=False),
}


def built(case: int, numbers: mo.Stream[int], directory: Path, *, fails: bool) -> mo.Stream[Any]:
    """The stream of a case."""
    if case == 1:
        worked = numbers.apply(Work(directory, "P1"))
        return worked.apply(Aggregate(directory, 50 if fails else None))
    if case == 2:
        worked = numbers.apply(Work(directory, "P2", 1, 50 if fails else None), replicate=2)
        return worked.apply(Aggregate(directory))
    if case == 3:
        first = Work(directory, "P2", 1, 26 if fails else None)
        second = Work(directory, "P3", 0, 51 if fails else None)
        one = numbers.apply(first, replicate=2)
        return one.apply(second, replicate=2).apply(Aggregate(directory))
    return numbers.apply(Holding())


def expected(case: int) -> list[Any]:
    if case == 4:
        return list(range(ELEMENTS))
    return [list(range(first, first + AGGREGATED)) for first in range(0, ELEMENTS, AGGREGATED)]


def run_job(case: int, directory: Path, interval: float | None, *, fails: bool) -> float:
    """Seconds from the first element to the last, of one job. Raises an error if the elements are wrong."""
    found: list[Any] = []
    at_once = ELEMENTS if interval is None else max(1, round(interval * CASES[case].rate))
    saves = None if interval is None else mo.Snapshots(directory / "saves", keep=2)
    config = mo.Config(progress=False, report=False, parallelism=CORES, max_retries=0 if interval is None else 3)
    with mo.StreamContext(config=config, snapshots=saves) as ctx:
        ctx.stream_iter(range(8)).shuffle().map(str, returns=str).map(len, returns=int).collect()  # starts the workers
        stream = built(case, ctx.stream(Integers(at_once)), directory, fails=fails)
        stream.for_each(found.append)
        began = time.monotonic()
        job = ctx.start()
        while len(found) < len(expected(case)):
            if job.wait(0.05):
                raise RuntimeError("the job has ended")
        taken = time.monotonic() - began
        job.stop()
    assert sorted(found) == expected(case), "the results are wrong"
    return taken


def run_here(case: int, interval: float | None, *, fails: bool) -> float:
    """Seconds of a run. Without snapshots a job that fails is started again."""
    with tempfile.TemporaryDirectory() as name:
        began = time.monotonic()
        try:
            return run_job(case, Path(name), interval, fails=fails)
        except mo.ElementError:
            if interval is not None:
                raise
            before = time.monotonic() - began
            return before + run_job(case, Path(name), None, fails=fails)


def measured(case: int, interval: float | None, *, fails: bool) -> dict[str, Any]:
    """One run, in a process of its own."""
    arguments = ["--run", str(case), "--interval", str(interval or 0), *(["--fails"] if fails else [])]
    load = os.getloadavg()[0]
    command = [sys.executable, "-m", "benchmarks.failure_cases", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    seconds = float(done.stdout.split()[-1])
    return {
        "case": case,
        "interval": interval,
        "fails": fails,
        "seconds": round(seconds, 2),
        "per_second": round(ELEMENTS / seconds, 3),
        "load": round(load, 2),
        "cores": CORES,
    }


def kept(file: Path | None) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(file.read_text()) if file is not None and file.exists() else []
    return runs


def show(runs: list[dict[str, Any]]) -> None:
    table = Table("case", "snapshots", "failure", "seconds", "elements/s", "against none", "published")
    for case in sorted({run["case"] for run in runs}):
        own = [run for run in runs if run["case"] == case]
        base = [run["seconds"] for run in own if run["interval"] is None and not run["fails"]]
        for run in own:
            lost = f"{100 * (base[-1] / run['seconds'] - 1):+.1f} %" if base else ""
            interval = "none" if run["interval"] is None else f"{run['interval']:g} s"
            failed = "yes" if run["fails"] else "no"
            numbers = (f"{run['seconds']:.1f}", f"{run['per_second']:.2f}", lost)
            table.add_row(str(case), interval, failed, *numbers, CASES[case].published if run is own[0] else "")
    Console(width=180).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="1,2,3,4")
    parser.add_argument("--intervals", default="15,30,45,60", help="seconds between snapshots")
    parser.add_argument("--only", choices=["base", "saved", "failed", "cold"], action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--interval", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--fails", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(run_here(options.run, options.interval or None, fails=options.fails))
        return
    runs = kept(options.json)
    kinds = options.only or ["base", "saved", "failed", "cold"]
    intervals = [float(each) for each in options.intervals.split(",") if each]
    for case in map(int, options.cases.split(",")):
        planned: list[tuple[float | None, bool]] = [(None, False)] if "base" in kinds else []
        planned += [(interval, False) for interval in intervals if "saved" in kinds]
        if CASES[case].fails:
            planned += [(interval, True) for interval in intervals if "failed" in kinds]
            planned += [(None, True)] if "cold" in kinds else []
        for interval, fails in planned:
            runs.append(measured(case, interval, fails=fails))
            print(runs[-1], flush=True)
            if options.json is not None:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(runs, indent=1) + "\n")
    show(runs)


if __name__ == "__main__":
    main()
