"""Bounded programs that a test can break off: run as `python -m tests.recovery.bounded NAME DIRECTORY [RESTART]`.

A program reads the files of DIRECTORY/in, a file in each source split (in one program because that takes long enough),
writes its snapshots to DIRECTORY/saves and the elements that it reads to DIRECTORY/seen, and prints its result.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import morisot as mo
from tests.recovery.streams import lines_in


def number(line: str, directory: str) -> int:
    """The number on a line, which takes a while; that it was read is noted."""
    time.sleep(0.02)
    with Path(directory, "seen").open("a") as file:
        file.write(f"{line}\n")
    return int(line)


def rows(numbers: mo.Stream[int], out: str) -> Any:
    """Row by row, in order, and as files."""
    result = numbers.map(lambda n: (n, hex(n)), returns=tuple[int, str])
    handle = result.collect_vec()
    result.write_parquet(out)
    numbers._context.execute()
    return [handle.get(), [list(row.values()) for row in pq.read_table(out).to_pylist()]]


def aggregate(numbers: mo.Stream[int], out: str) -> Any:
    """Final values, and what only bounded streams have behind them."""
    return numbers.group_by_sum(lambda n: n % 7, lambda n: n).unkey().sorted_by(lambda pair: -pair[1]).collect()


def ordered(numbers: mo.Stream[int], out: str) -> Any:
    """A state that depends on the order of everything before."""
    return numbers.rich_map(1, lambda s, n: ((s * 31 + n) % 10007,) * 2, returns=int).collect()


def late_windows(numbers: mo.Stream[int], out: str) -> Any:
    """Windows of event time over elements that are as late as can be."""
    timed = numbers.add_timestamps(lambda n: -n * 100, delay=0).group_by(lambda n: n % 7)
    return sorted(timed.window(mo.EventTimeWindow.sliding("2s", "1s")).sum().with_bounds().collect())


def joined(numbers: mo.Stream[int], out: str) -> Any:
    """Each number with what a table says of it, in order."""
    table = numbers._context.stream_iter([(n, str(n)) for n in range(0, 200, 3)])
    return numbers.left_join(table, lambda n: n, lambda pair: pair[0]).drop_key().collect()


def staged(numbers: mo.Stream[int], out: str) -> Any:
    """A directory and a database that are committed together, when the job is done."""
    numbers.write_to(mo.sinks.Directory(out))
    numbers.map(lambda n: -n).write_to(mo.sinks.SQLite(f"{out}.db", "numbers", ["n"]))
    numbers._context.execute()
    with contextlib.closing(sqlite3.connect(f"{out}.db")) as database:
        negative = sorted(n for (n,) in database.execute("SELECT n FROM numbers"))
    return [sorted(map(int, lines_in(Path(out)))), negative]


Program = Callable[[mo.Stream[int], str], Any]
PROGRAMS: dict[str, Program] = {
    program.__name__: program for program in (rows, aggregate, ordered, late_windows, joined, staged)
}


def expected(name: str, directory: Path) -> Any:
    """What an undisturbed run of the reference gives."""
    ctx = mo.StreamContext(engine="reference")
    numbers = ctx.stream_file(directory / "in").map(lambda line: int(line))
    if name == "staged":
        found = sorted(numbers.collect())
        return [found, [-n for n in reversed(found)]]
    if name == "rows":
        pairs = [[n, hex(n)] for n in numbers.collect()]
        return [pairs, pairs]
    return json.loads(json.dumps(PROGRAMS[name](numbers, "")))


def main(name: str, where: str, restart: str = "latest") -> None:
    directory = Path(where)
    config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False)
    cut: dict[str, Any] = {"every": "1ms"} if name == "ordered" else {"items": 1}
    snapshots = mo.Snapshots(directory / "saves", **cut, restart=None if restart == "none" else "latest")
    with mo.StreamContext(config=config, snapshots=snapshots) as ctx:
        print("started", flush=True)
        place = str(directory)
        numbers = ctx.stream_file(directory / "in").map(lambda line: number(line, place), returns=int)
        print(json.dumps(PROGRAMS[name](numbers, str(directory / "out"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
