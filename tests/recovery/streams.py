"""Streaming programs that a test can break off: run as `python -m tests.recovery.streams NAME DIRECTORY [RESTART]`.

A program follows DIRECTORY/in, a file in each micro-batch, writes to DIRECTORY/out, keeps its snapshots in
DIRECTORY/saves, and ends when it has done all files that are there. It says on its output when it has started, and
at the end how it went.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import morisot as mo

FILES, LINES = 6, 20


def write_input(directory: Path, files: int = FILES) -> None:
    """Numbered lines in files whose times follow each other."""
    inbox = directory / "in"
    inbox.mkdir(parents=True)
    for number in range(files):
        file = inbox / f"{number:03}.txt"
        file.write_text("".join(f"{number * LINES + line}\n" for line in range(LINES)))
        os.utime(file, (number + 1, number + 1))


def lines_of(directory: Path) -> list[int]:
    return [int(line) for file in sorted((directory / "in").iterdir()) for line in file.read_text().split()]


def stateless(numbers: mo.Stream[int], out: str) -> None:
    """In Python, and written by Spark's file sink."""
    numbers.map(lambda n: (n, hex(n)), returns=tuple[int, str]).write_parquet(out)


def running(numbers: mo.Stream[int], out: str) -> None:
    """Running values, written into a directory for each micro-batch."""
    numbers.group_by_sum(lambda n: n % 7, lambda n: n).write_parquet(out)


def rich(numbers: mo.Stream[int], out: str) -> None:
    """A state of each key that depends on the order of everything before."""
    numbers.group_by(lambda n: n % 7).rich_map(
        1, lambda s, k, n: ((s * 31 + n) % 10007,) * 2, returns=int
    ).write_parquet(out)


def windows(numbers: mo.Stream[int], out: str) -> None:
    """Windows of event time, each written once, when the watermark has passed its end."""
    timed = numbers.add_timestamps(lambda n: n * 100, delay=0).group_by(lambda n: n % 7)
    timed.window(mo.EventTimeWindow.tumbling("1s")).sum().with_bounds().write_parquet(out)


class Book(mo.Sink[tuple[int, int]]):
    """A file for each micro-batch, written atomically."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def open(self) -> None:
        self._directory.mkdir(exist_ok=True)

    def last_committed(self) -> int | None:
        return max((int(file.stem) for file in self._directory.glob("*.json")), default=None)

    def prepare(self, batch: int, elements: Sequence[tuple[int, int]]) -> None:
        (self._directory / f"{batch}.writing").write_text(json.dumps(elements))

    def commit(self, batch: int) -> None:
        page = self._directory / f"{batch}.json"
        assert not page.exists(), "it was committed before"
        (self._directory / f"{batch}.writing").rename(page)


def several(numbers: mo.Stream[int], out: str) -> None:
    """A state in the shared stream, and three sinks with exactly-once delivery."""
    states = numbers.group_by(lambda n: n % 7).rich_map(1, lambda s, k, n: ((s * 31 + n) % 10007,) * 2, returns=int)
    states.write_parquet(out)
    states.filter(lambda k, s: s % 2 == 0).write_parquet(f"{out}-even")
    states.unkey().write_to(Book(f"{out}-book"))


def paired(numbers: mo.Stream[int], out: str) -> None:
    """Elements of two streams that wait for each other."""
    timed = numbers.add_timestamps(lambda n: n * 100, delay=0)
    negative = timed.filter(lambda n: n % 2 == 0).map(lambda n: -n).group_by(lambda n: -n % 7)
    timed.group_by(lambda n: n % 7).join(negative, within="2s").write_parquet(out)


EARLIER = range(-30, 0)


def history(numbers: mo.Stream[int], out: str) -> None:
    """A bounded stream is combined with an unbounded one."""
    numbers._context.stream_iter(EARLIER).merge(numbers).map(lambda n: (n, n % 7)).write_parquet(out)


def staged_files(numbers: mo.Stream[int], out: str) -> None:
    """A state, and a directory that is committed after the snapshot. Workers write its files."""
    states = numbers.group_by(lambda n: n % 7).rich_map(1, lambda s, k, n: ((s * 31 + n) % 10007,) * 2, returns=int)
    states.unkey().write_to(mo.sinks.Directory(out))


def staged_rows(numbers: mo.Stream[int], out: str) -> None:
    """Two sinks of one query that are committed after the snapshot: a database, and a directory of all numbers."""
    numbers.map(lambda n: (n, hex(n)), returns=tuple[int, str]).write_to(mo.sinks.SQLite(out, "numbers", ["n", "text"]))
    numbers.write_to(mo.sinks.Directory(f"{out}-all"))


def staged_on_server(numbers: mo.Stream[int], out: str) -> None:
    """A table of a PostgreSQL server, named after the directory. Workers copy the rows."""
    sink = mo.sinks.PostgreSQL[tuple[int, int]](os.environ[SERVER], table_of(out), ["n", "rest"])
    numbers.map(lambda n: (n, n % 7)).write_to(sink)


SERVER = "MORISOT_TESTS_POSTGRES"
"""The environment variable with the connection string of the server."""


def table_of(out: str) -> str:
    return f"t{hashlib.sha256(out.encode()).hexdigest()[:16]}"


def create_table(directory: Path) -> None:
    """Creates the table of a program."""
    import psycopg

    with psycopg.connect(os.environ[SERVER]) as database:
        database.execute(f"CREATE TABLE {table_of(str(directory / 'out'))} (n bigint, rest bigint)")


Program = Callable[[mo.Stream[int], str], None]
PROGRAMS: dict[str, Program] = {
    program.__name__: program
    for program in (stateless, running, rich, windows, several, paired, history, staged_files, staged_rows)
}
ON_SERVER: dict[str, Program] = {"staged_on_server": staged_on_server}
CHANNELS: dict[str, Program] = {"channel": running, "channel_staged": staged_files}
"""Programs whose input is a channel. The elements that it has stored are those that were sent."""
ALL = {**PROGRAMS, **ON_SERVER, **CHANNELS}


def expected(name: str, numbers: list[int]) -> list[Any]:
    """The output of an undisturbed run, computed in plain Python."""
    if name in CHANNELS:
        return expected(CHANNELS[name].__name__, numbers)
    if name == "stateless":
        return [(n, hex(n)) for n in numbers]
    if name == "running":
        return sorted((key, sum(n for n in numbers if n % 7 == key)) for key in range(7))
    if name == "windows":
        sums: dict[tuple[int, int], int] = {}
        for n in numbers:
            sums[n % 7, n // 10] = sums.get((n % 7, n // 10), 0) + n
        closed = [(key, window, value) for (key, window), value in sums.items() if (window + 1) * 10 <= max(numbers)]
        return sorted((key, (window * 1000, window * 1000 + 1000, value)) for key, window, value in closed)
    if name == "paired":
        near = ((n, m) for n in numbers for m in numbers if abs(n - m) <= 20 and m % 2 == 0)
        return sorted((n % 7, (n, -m)) for n, m in near if n % 7 == m % 7)
    if name == "history":
        return [(n, n % 7) for n in (*EARLIER, *numbers)]
    if name == "staged_rows":
        return [[(n, hex(n)) for n in numbers], sorted(numbers)]
    if name == "staged_on_server":
        return sorted((n, n % 7) for n in numbers)
    states = dict.fromkeys(range(7), 1)
    written = []
    for n in numbers:
        states[n % 7] = (states[n % 7] * 31 + n) % 10007
        written.append((n % 7, states[n % 7]))
    if name == "several":
        return [sorted(written), sorted((key, state) for key, state in written if state % 2 == 0), sorted(written)]
    return sorted(written)


def written(name: str, directory: Path) -> list[Any]:
    """The content of the output, for a reader that ignores Spark's log."""
    if name in CHANNELS:
        return written(CHANNELS[name].__name__, directory)
    if name == "staged_files":
        return sorted(tuple(json.loads(line)) for line in lines_in(directory / "out"))
    if name == "staged_rows":
        with contextlib.closing(sqlite3.connect(directory / "out")) as database:
            pairs = sorted(database.execute("SELECT n, text FROM numbers"))
        return [pairs, sorted(int(line) for line in lines_in(directory / "out-all"))]
    if name == "staged_on_server":
        import psycopg

        with psycopg.connect(os.environ[SERVER]) as server:
            return sorted(server.execute(f"SELECT n, rest FROM {table_of(str(directory / 'out'))}").fetchall())
    if name == "running":
        latest: dict[int, int] = {}
        for _, batch in sorted((int(each.name[6:]), each) for each in (directory / "out").glob("batch=*")):
            latest |= dict(rows(batch))
        return sorted(latest.items())
    if name == "several":
        pages = (directory / "out-book").glob("*.json")
        book = [tuple(pair) for page in pages for pair in json.loads(page.read_text())]
        return [sorted(rows(directory / "out")), sorted(rows(directory / "out-even")), sorted(book)]
    return sorted(rows(directory / "out"))


def lines_in(directory: Path) -> Iterator[str]:
    for file in sorted(directory.glob("batch=*/part-*")):
        yield from file.read_text(encoding="utf-8").splitlines()


def rows(directory: Path) -> Iterator[Any]:
    for file in sorted(directory.glob("part-*.parquet")):
        for row in pq.ParquetFile(file).read().to_pylist():
            yield tuple(tuple(each.values()) if isinstance(each, dict) else each for each in row.values())


def send_rest(inlet: mo.Inlet[int], directory: Path) -> None:
    """Sends the numbers that are not in the files of the channel: a killed program has sent the others."""
    stored = sum(pq.read_metadata(file).num_rows for file in directory.glob("saves/channels/0/*.parquet"))
    numbers = lines_of(directory)[stored:]
    for index in range(0, len(numbers), LINES):
        inlet.send_all(numbers[index : index + LINES])
        inlet.flush()
        time.sleep(0.3)


def main(name: str, where: str, restart: str = "latest") -> None:
    directory = Path(where)
    config = mo.Config(master="local[2]", parallelism=2, memory="1g", progress=False)
    number = int(restart) if restart.isdigit() else None if restart == "none" else "latest"
    snapshots = mo.Snapshots(directory / "saves", restart=number, keep=100)  # type: ignore[arg-type]
    with mo.StreamContext(config=config, snapshots=snapshots) as ctx:
        inlet = None
        if name in CHANNELS:
            inlet, numbers = ctx.stream_channel(int)
        else:
            lines = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1)
            numbers = lines.map(lambda line: int(line))
        ALL[name](numbers, str(directory / "out"))
        job = ctx.start()
        print("started", flush=True)
        first = [each.id for each in job.snapshots()]
        if inlet is not None:
            send_rest(inlet, directory)
        job.catch_up()
        job.wait(0)  # raises what made it fail
        batches = job.metrics()["batches"]
        job.stop()
        last = [each.id for each in job.snapshots()]
    print(json.dumps({"before": first, "batches": batches, "snapshots": last}))


if __name__ == "__main__":
    main(*sys.argv[1:])
