"""`python -m benchmarks.skew`: one key that holds half of all elements, and how much memory that takes.

Every job's answer is checked; the peaks are of the Python workers and of the JVM's resident memory, sampled while the
job runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import psutil
from rich.console import Console
from rich.table import Table

import morisot as mo
from benchmarks.cpu import measured
from benchmarks.session import machine, open_session

KEYS = 1_000
_MEGABYTE = 1 << 20


class Peak:
    """The most memory that the processes below this one had at once, sampled every tenth of a second."""

    def __init__(self) -> None:
        self.workers = self.jvm = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        root = psutil.Process(os.getpid())
        while not self._done.wait(0.1):
            workers = jvm = 0
            for process in root.children(recursive=True):
                try:
                    size = process.memory_info().rss
                    if "java" in process.name():
                        jvm += size
                    else:
                        workers = max(workers, size)
                except psutil.NoSuchProcess:
                    continue
            self.workers, self.jvm = max(self.workers, workers), max(self.jvm, jvm)


def elements(ctx: mo.StreamContext, count: int) -> Any:
    """(key, number): every second element has the key 0, the others spread over the rest."""
    return ctx.stream_par_iter(range(count)).map(lambda n: (0 if n % 2 == 0 else 1 + n % 999, n))


def folded(ctx: mo.StreamContext, count: int) -> Any:
    keyed = elements(ctx, count).group_by(lambda pair: pair[0])
    mixed = keyed.fold(0, lambda mix, pair: (mix * 31 + pair[1]) & 0xFFFFFF)
    return dict(mixed.collect())[0]


def expected_fold(count: int) -> int:
    mix = 0
    for n in range(0, count, 2):
        mix = (mix * 31 + n) & 0xFFFFFF
    return mix


def count_windows(ctx: mo.StreamContext, count: int) -> Any:
    keyed = elements(ctx, count).group_by(lambda pair: pair[0])
    sums = keyed.window(mo.CountWindow.tumbling(100)).fold(0, lambda total, pair: (total + pair[1]) % 1000)
    return dict(sums.count().collect())[0]


def time_windows(ctx: mo.StreamContext, count: int) -> Any:
    timed = elements(ctx, count).add_timestamps(lambda pair: pair[1])
    windows = timed.group_by(lambda pair: pair[0]).window(mo.EventTimeWindow.sliding(60_000, 1_000))
    return dict(windows.count().count().collect())[0]


def joined(ctx: mo.StreamContext, count: int) -> Any:
    names = ctx.stream_par_iter(range(KEYS)).map(lambda key: (key, key * 2))
    pairs = elements(ctx, count).join(names, lambda pair: pair[0], lambda pair: pair[0])
    return dict(pairs.count().collect())[0]


JOBS: dict[str, tuple[Callable[[mo.StreamContext, int], Any], Callable[[int], int]]] = {
    "fold in order": (folded, expected_fold),
    "join": (joined, lambda count: count // 2),
    "windows of 100 elements, a fold": (count_windows, lambda count: count // 200),
    "sliding time windows, 60 panes": (time_windows, lambda count: (count - 2) // 1000 + 60),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, check, print; 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.skew", description="One key holds half of the elements."
    )
    parser.add_argument("--elements", type=int, default=10_000_000)
    given = parser.parse_args(arguments)
    spark = open_session()
    table = Table(
        "job", "wall s", "CPU s", "largest worker MB", "JVM MB", title=f"{given.elements:,} elements, half of one key"
    )
    wrong = False
    try:
        for name, (job, expected) in JOBS.items():
            ctx = mo.StreamContext(spark)
            with Peak() as peak:
                answer, cost = measured(lambda job=job, ctx=ctx: job(ctx, given.elements))  # type: ignore[misc]
            right = answer == expected(given.elements)
            wrong = wrong or not right
            shown = name if right else f"{name}: WRONG, {answer} and not {expected(given.elements)}"
            table.add_row(
                shown,
                f"{cost.wall_seconds:.1f}",
                f"{cost.cpu_seconds:.1f}",
                f"{peak.workers / _MEGABYTE:.0f}",
                f"{peak.jvm / _MEGABYTE:.0f}",
            )
        Console(width=120).print(table, machine(spark))
    finally:
        spark.stop()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
