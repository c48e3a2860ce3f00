"""The cost of snapshots, as in the evaluation of Noir with persistence: `python -m benchmarks.streams.snapshots`.

Each workload runs without snapshots, with one snapshot at its end, with snapshots by time and by number of elements.
For each run: the time, its ratio to the run without snapshots, the number of snapshots, the size of the saved files,
and the lag: the mean interval between two snapshots, and how many times the requested one that is. A loop that was
broken off in the middle resumes with the saved work before the loop, or starts from scratch without snapshots.

Results are added to the file of `--json`, workload by workload. `python -m benchmarks.readme` writes
benchmarks/results/0.1.0/snapshots.json into docs/guide/snapshots.md, beside the published times of Noir. They are of
another machine, so only ratios compare.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import morisot as mo
from benchmarks.nexmark.__main__ import revision
from benchmarks.nexmark.data import prepare
from benchmarks.report import write_json
from benchmarks.session import machine_without_spark
from benchmarks.streams import snapshot_pages
from benchmarks.streams.snapshot_workloads import PUBLISHED, BrokenOffError, Job, loop, query, text_files, words

CONFIG = mo.Config(progress=False, report=False)


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
    snapshots: int = 0
    size: int = 0
    interval: float | None = None
    """The mean time between two snapshots."""


def run(job: Job, mode: Mode, place: Path | None = None) -> Measured:
    """One run in the shared session, from the start of the job to its result."""
    with tempfile.TemporaryDirectory(prefix="snapshots-") as name:
        out = place or Path(name)
        saves = out / "saves"
        snapshots = None if mode.settings is None else mo.Snapshots(saves, keep=100_000, **mode.settings)
        with mo.StreamContext(config=CONFIG, snapshots=snapshots) as ctx:
            job(ctx, out)
            began = time.perf_counter()
            started = ctx.start()
            started.wait()
            seconds = time.perf_counter() - began
            times = sorted(each.time for each in started.snapshots())
        size = sum(file.stat().st_size for file in saves.rglob("*") if file.is_file())
    intervals = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
    return Measured(seconds, len(times), size, statistics.mean(intervals) if intervals else None)


def modes(elements: int, seconds: tuple[float, ...]) -> Iterator[Mode]:
    yield Mode("off", None)
    yield Mode("end", {"items": 10 * elements})
    for name, each in zip(("coarse", "middle", "fine"), seconds, strict=True):
        yield Mode(name, {"every": f"{round(each * 1000)}ms"}, each)
    for share in (5, 20):
        yield Mode(f"items/{share}", {"items": elements // share})


def loop_modes(rounds: int) -> Iterator[Mode]:
    yield Mode("off", None)
    yield Mode("end", {"rounds": rounds})
    yield Mode("middle", {"every": "500ms"}, 0.5)
    yield Mode("rounds/5", {"rounds": rounds // 5})


def in_turns(name: str, job: Job, wanted: list[Mode], runs: int) -> dict[str, Any]:
    """The runs of each mode."""
    found: dict[str, list[Measured]] = {mode.name: [] for mode in wanted}
    run(job, wanted[0])  # starts workers, and compiles
    for _ in range(runs):
        for mode in wanted:
            found[mode.name].append(run(job, mode))
            say(f"{name}, {mode.name}: {found[mode.name][-1]}")
    requested = {mode.name: mode.seconds for mode in wanted}
    return {
        mode: {"requested": requested[mode], "runs": [asdict(each) for each in each_run]}
        for mode, each_run in found.items()
    }


def resumed(most: int, rounds: int) -> dict[str, Any]:
    """A loop that was broken off in the middle: the rest of its rounds, with the saved work before the loop."""
    mode = Mode("resumed", {"rounds": max(1, rounds // 10)})
    with tempfile.TemporaryDirectory(prefix="snapshots-") as name:
        place = Path(name)
        with contextlib.suppress(mo.MorisotError, BrokenOffError):
            run(loop(most, rounds, breaks_at=rounds // 2), mode, place)
            raise AssertionError("the loop was not broken off")
        before = (place / "seen").stat().st_size
        measured = run(loop(most, rounds), mode, place)
        again = (place / "seen").stat().st_size - before
    say(f"loop of {rounds} rounds, resumed: {measured}, work repeated: {again / before:.0%}")
    return {"requested": None, "runs": [asdict(measured)], "repeated_work": again / before}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="of Nexmark (1,000,000)")
    parser.add_argument("--megabytes", type=float, default=20, help="the size of the text (20)")
    parser.add_argument("--files", type=int, default=40, help="the files of each source (40)")
    parser.add_argument("--intervals", type=float, nargs=3, default=(2.0, 1.0, 0.5), help="seconds (2, 1, 0.5)")
    parser.add_argument("--primes", type=int, default=200_000, help="the numbers before the loop (200,000)")
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 100, 500])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=[*PUBLISHED, "loop"], action="append")
    parser.add_argument("--json", type=Path, default=Path("build/snapshots.json"), help="where results are added")
    given = parser.parse_args()
    document: dict[str, Any] = json.loads(given.json.read_text()) if given.json.exists() else {"workloads": {}}
    with tempfile.TemporaryDirectory(prefix="text-") as name, mo.StreamContext(config=CONFIG) as keeping:
        keeping.stream_iter([1]).collect()  # the session of all runs
        for workload, found in _workloads(given, Path(name)):
            facts = {**machine_without_spark(), "revision": revision()}
            document["workloads"][workload] = {"machine": facts, **found}
            write_json(document, given.json)
    print(snapshot_pages.table(document))
    print(snapshot_pages.loops(document))


def _workloads(given: argparse.Namespace, directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    wanted = given.only or [*PUBLISHED, "loop"]
    intervals = tuple(given.intervals)
    for name in (each for each in PUBLISHED if each in wanted):
        if name.startswith("q"):
            job, elements, of = query(name, prepare(given.events, given.files)), given.events, "events"
        else:
            elements = text_files(directory, int(given.megabytes * 1_000_000), given.files)
            job, of = words(name, directory), "lines"
        yield (
            name,
            {"size": elements, "unit": of, "modes": in_turns(name, job, [*modes(elements, intervals)], given.runs)},
        )
    for rounds in given.rounds if "loop" in wanted else ():
        found = in_turns(f"loop of {rounds}", loop(given.primes, rounds), [*loop_modes(rounds)], given.runs)
        found["resumed"] = resumed(given.primes, rounds)
        yield f"loop-{rounds}", {"size": given.primes, "unit": "numbers", "modes": found}


if __name__ == "__main__":
    main()
