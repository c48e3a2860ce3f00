"""`python -m benchmarks.latency`: from the stamp of an element at its source to its arrival at the sink.

Elements are written into a followed directory at a steady rate, a small file every `--every` milliseconds, each element
with the time at which it was made. An unbounded job delivers them to a function in the driver, which looks at the
clock. The same is done in plain PySpark with a session of Spark's own defaults. Each job runs in a process of its own.
An element waits in its file for half of `--every` on average, then for the micro-batch that runs, then for its own. The
result of a window is taken for as old as its newest element.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
KEYS = 100
_NANOSECONDS = 1_000_000
PERCENTILES = (50, 95, 99)


class Event(NamedTuple):
    key: int
    stamp: int
    """Nanoseconds since the epoch."""


# -- the jobs -------------------------------------------------------------------------------------------------------


Arrived = Callable[[Sequence[int]], None]
Batches = list[tuple[float, int]]
"""When micro-batches began, in seconds, and how many milliseconds they took."""


def morisot(work: str, inbox: str, arrived: Arrived, over: Callable[[], bool]) -> Batches:
    """The job, on a session that Morisot makes; how long its micro-batches took."""
    from pyspark.sql import SparkSession

    import morisot as mo

    with mo.StreamContext(config=mo.Config(progress=False)) as ctx:
        events = ctx.stream_parquet(inbox, Event, unbounded=True)
        if work == "stateless":
            events.filter(lambda e: e.key >= 0).map(lambda e: e.stamp).for_each(lambda stamp: arrived((stamp,)))
        elif work == "keyed":
            latest = events.group_by_max_element(lambda e: e.key, lambda e: e.stamp)
            latest.for_each(lambda _, event: arrived((event.stamp,)))
        else:
            timed = events.add_timestamps(lambda e: e.stamp // 1_000_000, delay=0).group_by(lambda e: e.key)
            newest = timed.window(mo.EventTimeWindow.tumbling("1s")).max(lambda e: e.stamp)
            newest.for_each(lambda _, stamp: arrived((stamp,)))
        job = ctx.start()
        while not over():
            job.wait(1)
        session = SparkSession.getActiveSession()
        assert session is not None
        batches = took_batches(session)
        job.stop()
        return batches


def took_batches(session: Any) -> Batches:
    """When the last micro-batches that had elements began, in seconds, and how many milliseconds they took."""
    every = [progress for query in session.streams.active for progress in query.recentProgress]
    return [
        (datetime.datetime.fromisoformat(progress["timestamp"]).timestamp(), int(progress["batchDuration"]))
        for progress in every
        if progress["numInputRows"]
    ]


def spark(work: str, inbox: str, arrived: Arrived, over: Callable[[], bool]) -> Batches:
    """The same by hand, with nothing set but what keeps Spark quiet and local."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import window

    from morisot.engines.spark.session.java_runtime import find_java, launcher_variables

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.update(launcher_variables(find_java()))
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    events = session.readStream.schema("key BIGINT, stamp BIGINT").parquet(inbox)
    if work == "stateless":
        result, mode = events.where("key >= 0").select("stamp"), "append"
    elif work == "keyed":
        result, mode = events.groupBy("key").agg({"stamp": "max"}).selectExpr("`max(stamp)` AS stamp"), "update"
    else:
        timed = events.selectExpr("*", "timestamp_micros(stamp div 1000) AS at").withWatermark("at", "0 seconds")
        windows = timed.groupBy(window("at", "1 second"), "key").agg({"stamp": "max"})
        result, mode = windows.selectExpr("`max(stamp)` AS stamp"), "append"

    def deliver(batch: Any, _: int) -> None:
        for row in batch.collect():
            arrived((row.stamp,))

    with tempfile.TemporaryDirectory() as place:
        query = result.writeStream.outputMode(mode).option("checkpointLocation", place).foreachBatch(deliver).start()
        while not over():
            query.awaitTermination(1)
        batches = took_batches(session)
        query.stop()
    session.stop()
    return batches


JOBS = {"Morisot": morisot, "Spark's defaults": spark}
WORKS = ("stateless", "keyed", "windowed")


def job(name: str, work: str, directory: Path) -> None:
    """What the process of a job does: runs it, and writes down how long elements took."""
    took: list[tuple[int, int]] = []
    newest = [0]

    def arrived(stamps: Sequence[int]) -> None:
        now = time.time_ns()
        took.extend((stamp, now - stamp) for stamp in stamps)
        newest[0] = max(newest[0], *stamps)
        if len(took) == len(stamps):
            (directory / "ready").touch()

    def over() -> bool:
        last = directory / "last"
        if not last.exists() or not took:
            return False
        open_window = 2 * 10**9 if work == "windowed" else 0  # the last windows stay open
        return newest[0] >= int(last.read_text()) - open_window

    batches = JOBS[name](work, str(directory / "in"), arrived, over)
    begin = int((directory / "begin").read_text())
    found = {
        "elements": [each for stamp, each in took if stamp >= begin],
        "batches": [each for began, each in batches if began * 1e9 >= begin],
    }
    (directory / "took.json").write_text(json.dumps(found))


# -- the source -----------------------------------------------------------------------------------------------------


def write(inbox: Path, number: int, count: int, every: float) -> int:
    """A file of elements that were made one after the other since the last file; the stamp of the last one."""
    now = time.time_ns()
    stamps = now - (np.arange(count)[::-1] * (every * 1e9 / count)).astype(np.int64)
    table = pa.table({"key": pa.array(np.arange(count) % KEYS), "stamp": pa.array(stamps)})
    beside = inbox / f".{number}.writing"
    pq.write_table(table, beside)
    beside.rename(inbox / f"{number:08}.parquet")
    return now


class Feed(NamedTuple):
    """What a job is given: elements per second, and the seconds between two files of them."""

    rate: int
    every: float
    warm_up: float
    """Seconds after the first result before those that count."""
    seconds: float


def feed(directory: Path, given: Feed) -> None:
    """Write elements until the job is warm, then those that count, for the given number of seconds."""
    number, inbox = 0, directory / "in"
    deadline = time.monotonic() + 180
    while not (directory / "ready").exists():
        if time.monotonic() > deadline:
            raise RuntimeError("the job delivers nothing")
        write(inbox, number, max(1, round(given.rate * given.every)), given.every)
        number += 1
        time.sleep(given.every)
    warm = time.monotonic() + given.warm_up
    begin: float | None = None
    last = 0
    due = time.monotonic()
    while begin is None or time.monotonic() < begin + given.seconds:
        if begin is None and time.monotonic() > warm:
            begin = time.monotonic()
            (directory / "begin").write_text(str(time.time_ns()))
        last = write(inbox, number, max(1, round(given.rate * given.every)), given.every)
        number += 1
        due += given.every
        time.sleep(max(0.0, due - time.monotonic()))
    beside = directory / "last.writing"
    beside.write_text(str(last))
    beside.rename(directory / "last")  # the job ends when this one has arrived


class Took(NamedTuple):
    """How many milliseconds elements took, and micro-batches, both sorted."""

    elements: list[float]
    batches: list[int]


def measure(name: str, work: str, given: Feed) -> Took:
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        (directory / "in").mkdir()
        command = [sys.executable, "-m", "benchmarks.latency", "--job", name, "--only", work, "--directory", place]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            feed(directory, given)
            _, errors = process.communicate(timeout=300)
        except BaseException:
            process.kill()
            raise
        if process.returncode:
            raise RuntimeError(errors.decode()[-2000:])
        found = json.loads((directory / "took.json").read_text())
        return Took(sorted(each / _NANOSECONDS for each in found["elements"]), sorted(found["batches"]))


def loop_seconds() -> float:
    """How long this machine takes for a loop of Python: others may be working on it."""
    began, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="elements a second")
    parser.add_argument("--seconds", type=float, default=20, help="so long is measured")
    parser.add_argument("--warm-up", type=float, default=60, help="seconds before that, for Java to know the job")
    parser.add_argument("--every", type=float, default=100, help="milliseconds from one file to the next")
    parser.add_argument("--only", choices=WORKS, help="this work alone")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS), help="these alone")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.directory is not None:
        job(given.job, given.only, given.directory)
        return 0
    columns = [f"p{each} ms" for each in PERCENTILES]
    console = Console(width=120)
    table = Table("work", "elements/s", "job", "micro-batch p50 ms", "arrived", *columns, "worst ms")
    loops: list[float] = []
    for work in [given.only] if given.only else WORKS:
        for rate in given.rates:
            for name in given.jobs:
                loops.append(loop_seconds())
                took = measure(name, work, Feed(rate, given.every / 1000, given.warm_up, given.seconds))
                found = [f"{np.percentile(took.elements, each):,.0f}" for each in (*PERCENTILES, 100)]
                batch = f"{np.percentile(took.batches, 50):,.0f}"
                table.add_row(work, f"{rate:,}", name, batch, f"{len(took.elements):,}", *found)
                console.print(f"{work}, {rate:,} a second, {name}: done", style="dim")
    console.print(table)
    loops.append(loop_seconds())
    console.print(f"The same loop of Python took {min(loops):.2f} to {max(loops):.2f} s before and after these.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
