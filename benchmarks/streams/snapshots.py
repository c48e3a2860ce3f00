"""The cost of snapshots, as in the evaluation of Noir with persistence: `python -m benchmarks.streams.snapshots`.

Each workload runs without snapshots, with one snapshot at its end, with snapshots by time and by number of elements.
For each run: the median time, its ratio to the run without snapshots, the number of snapshots, the size of the saved
files, and the lag: the mean interval between two snapshots, and how many times the requested one that is. The
published times of Noir (1 million events or lines, 12 cores) are printed beside it. They are of another machine, so
only ratios compare.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo
from benchmarks.data.text import text

PUBLISHED = {
    "q0": "T 61.2 ms · 50 ms: 71.0 (2 snapshots) · 10 ms: 72.0 (7) · 5 ms: 74.3 (14, 24 KB)",
    "wc-fold": "off 2.26 s · T 2.43 · 100 ms: 2.46 (25, 16 MB) · 10 ms: 3.00 (297, 204 MB) · by item 12.2 (1.46 GB)",
    "wc-assoc": "off 1.83 s · T 1.78 · 100 ms: 1.86 · 10 ms: 1.97 (180, 5.3 MB) · by item 1.90",
    "loop": "values only in figures; the differences shrink as rounds grow",
}
"""The published table of Noir, by workload: T is one snapshot at the end, a time is the interval of snapshots."""


@dataclass(frozen=True)
class Mode:
    """One way to save a job."""

    name: str
    settings: Mapping[str, Any] | None
    """The settings of snapshots; None: off."""
    seconds: float | None = None
    """The requested interval."""


@dataclass(frozen=True)
class Measured:
    """One run."""

    seconds: float
    snapshots: int
    size: int
    interval: float | None
    """The mean time between two snapshots."""


def added(left: int, right: int) -> int:
    return left + right


def lines_of(ctx: mo.StreamContext, directory: Path) -> mo.Stream[str]:
    """Parquet, whose source splits have as many files as the settings allow."""
    return ctx.stream_parquet(directory).map(lambda row: row.line, returns=str)


def passing(ctx: mo.StreamContext, directory: Path) -> mo.Stream[Any]:
    return lines_of(ctx, directory).filter(lambda line: len(line) < 0)


def word_fold(ctx: mo.StreamContext, directory: Path) -> mo.Stream[Any]:
    words = lines_of(ctx, directory).flat_map(lambda line: line.split())
    return words.group_by(lambda word: word).fold(0, lambda total, _: total + 1).unkey()


def word_count(ctx: mo.StreamContext, directory: Path) -> mo.Stream[Any]:
    return lines_of(ctx, directory).flat_map(lambda line: line.split()).group_by_count(lambda word: word).unkey()


def is_prime(n: int) -> bool:
    return all(n % divisor for divisor in range(2, int(n**0.5) + 1))


def primes(ctx: mo.StreamContext, most: int, rounds: int) -> mo.Stream[Any]:
    """Work before a loop, and a loop over its result."""
    numbers = ctx.stream_iter(range(2, most)).filter(is_prime)
    return numbers.replay(
        rounds,
        0,
        lambda s, state: s.map(lambda n: (n + state.value) % 7),
        added,
        lambda state, delta: (state + delta) % 1009,
        lambda state: True,
        delta=0,
    )


Job = Callable[[mo.StreamContext], mo.Stream[Any]]


def run(job: Job, mode: Mode) -> Measured:
    """One run in the shared session, from the start of the job to its result."""
    with tempfile.TemporaryDirectory(prefix="snapshots-") as name:
        saves = Path(name) / "saves"
        snapshots = None if mode.settings is None else mo.Snapshots(saves, keep=100_000, **mode.settings)
        with mo.StreamContext(config=mo.Config(progress=False, report=False), snapshots=snapshots) as ctx:
            output = job(ctx).collect_vec()
            began = time.perf_counter()
            started = ctx.start()
            started.wait()
            seconds = time.perf_counter() - began
            output.get()
            times = sorted(each.time for each in started.snapshots())
            size = sum(file.stat().st_size for file in saves.rglob("*") if file.is_file())
    intervals = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
    return Measured(seconds, len(times), size, statistics.mean(intervals) if intervals else None)


def modes(lines: int, seconds: tuple[float, ...]) -> Iterator[Mode]:
    yield Mode("off", None)
    yield Mode("end only", {"items": 10 * lines})
    for each in seconds:
        yield Mode(f"by time, {each:g} s", {"every": f"{round(each * 1000)}ms"}, each)
    for share in (5, 20):
        yield Mode(f"by items, {lines // share}", {"items": lines // share})


def loop_modes(rounds: int) -> Iterator[Mode]:
    yield Mode("off", None)
    yield Mode("end only", {"rounds": rounds})
    yield Mode("by time, 0.5 s", {"every": "500ms"}, 0.5)
    for share in (2, 5):
        yield Mode(f"by rounds, {rounds // share}", {"rounds": rounds // share})


def table(title: str, published: str, job: Job, wanted: list[Mode], runs: int) -> None:
    print(f"\n{title}\n  Noir, published: {published}")
    print(f"  {'snapshots':20} {'time':>8} {'ratio':>6} {'number':>7} {'size':>9}  lag")
    found: dict[str, list[Measured]] = {mode.name: [] for mode in wanted}
    run(job, wanted[0])  # starts workers, and compiles
    for _ in range(runs):
        for mode in wanted:  # in turns
            found[mode.name].append(run(job, mode))
    off = statistics.median(each.seconds for each in found["off"])
    for mode in wanted:
        seconds = statistics.median(each.seconds for each in found[mode.name])
        last = found[mode.name][-1]
        lag = "" if last.interval is None else f"every {last.interval:.2f} s"
        if last.interval is not None and mode.seconds is not None:
            lag += f", {last.interval / mode.seconds:.2f} × the requested interval"
        numbers = f"{seconds:6.2f} s {seconds / off:6.2f} {last.snapshots:7} {last.size / 1000:6.0f} KB"
        print(f"  {mode.name:20} {numbers}  {lag}", flush=True)


def pieces(directory: Path, size: int, number: int) -> tuple[Path, int]:
    """A text in files, because a source split consists of whole files, and the number of its lines."""
    lines = text(size).read_text(encoding="utf-8").splitlines()
    for index in range(number):
        part = lines[index * len(lines) // number : (index + 1) * len(lines) // number]
        pq.write_table(pa.table({"line": part}), directory / f"{index:03}.parquet")
    return directory, len(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=20, help="the size of the text")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--primes", type=int, default=200_000, help="the numbers before the loop")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=sorted(PUBLISHED), action="append")
    arguments = parser.parse_args()
    wanted = arguments.only or list(PUBLISHED)
    workloads: dict[str, Callable[[mo.StreamContext, Path], mo.Stream[Any]]] = {
        "q0": passing,
        "wc-fold": word_fold,
        "wc-assoc": word_count,
    }
    with tempfile.TemporaryDirectory(prefix="text-") as name:
        directory, lines = pieces(Path(name), int(arguments.megabytes * 1_000_000), arguments.files)
        with mo.StreamContext(config=mo.Config(progress=False)) as keeping:  # the session of all runs
            keeping.stream_iter([1]).collect()
            for workload, make in workloads.items():
                if workload in wanted:
                    title = f"{workload}: {lines} lines in {arguments.files} files"
                    job = bound(make, directory)
                    table(title, PUBLISHED[workload], job, list(modes(lines, (10.0, 3.0, 1.0))), arguments.runs)
            for rounds in arguments.rounds if "loop" in wanted else ():
                title = f"loop: primes below {arguments.primes}, then {rounds} rounds"
                table(
                    title,
                    PUBLISHED["loop"],
                    looping(arguments.primes, rounds),
                    list(loop_modes(rounds)),
                    arguments.runs,
                )


def bound(make: Callable[[mo.StreamContext, Path], mo.Stream[Any]], directory: Path) -> Job:
    return lambda ctx: make(ctx, directory)


def looping(most: int, rounds: int) -> Job:
    return lambda ctx: primes(ctx, most, rounds)


if __name__ == "__main__":
    main()
