"""`python -m benchmarks.latency`: from the stamp of an element at its source to its arrival at the sink.

Elements are written into a followed directory at a steady rate, a small file every `--every` milliseconds, each element
with the time at which it was made. A job without end delivers them to a function in the driver, which looks at the
clock. The same is done in plain PySpark with a session of Spark's own defaults. Each job runs in a process of its own.
"""

from __future__ import annotations

import argparse
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


def morisot(work: str, inbox: str, arrived: Callable[[Sequence[int]], None], over: Callable[[], bool]) -> None:
    """The job, on a session that Morisot makes."""
    import morisot as mo

    with mo.StreamContext(config=mo.Config(progress=False)) as ctx:
        events = ctx.stream_parquet(inbox, Event, unbounded=True)
        if work == "stateless":
            events.filter(lambda e: e.key >= 0).map(lambda e: e.stamp).for_each(lambda stamp: arrived((stamp,)))
        else:
            latest = events.group_by_max_element(lambda e: e.key, lambda e: e.stamp)
            latest.for_each(lambda _, event: arrived((event.stamp,)))
        job = ctx.start()
        while not over():
            job.wait(0.05)
        job.stop()


def spark(work: str, inbox: str, arrived: Callable[[Sequence[int]], None], over: Callable[[], bool]) -> None:
    """The same by hand, with nothing set but what keeps Spark quiet and local."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
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
    else:
        result, mode = events.groupBy("key").agg({"stamp": "max"}).selectExpr("`max(stamp)` AS stamp"), "update"

    def deliver(batch: Any, _: int) -> None:
        for row in batch.collect():
            arrived((row.stamp,))

    with tempfile.TemporaryDirectory() as place:
        query = result.writeStream.outputMode(mode).option("checkpointLocation", place).foreachBatch(deliver).start()
        while not over():
            query.awaitTermination(1)
        query.stop()
    session.stop()


JOBS = {"Morisot": morisot, "Spark's defaults": spark}
WORKS = ("stateless", "keyed")


def job(name: str, work: str, directory: Path) -> None:
    """What the process of a job does: runs it, and writes down how long elements took."""
    took: list[tuple[int, int]] = []

    def arrived(stamps: Sequence[int]) -> None:
        now = time.time_ns()
        took.extend((stamp, now - stamp) for stamp in stamps)
        if len(took) == len(stamps):
            (directory / "ready").touch()

    def over() -> bool:
        last = directory / "last"
        return last.exists() and bool(took) and max(stamp for stamp, _ in took[-10 * KEYS :]) >= int(last.read_text())

    JOBS[name](work, str(directory / "in"), arrived, over)
    begin = int((directory / "begin").read_text())
    (directory / "took.json").write_text(json.dumps([each for stamp, each in took if stamp >= begin]))


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


def feed(directory: Path, rate: int, seconds: float, every: float) -> None:
    """Write elements until the job has shown itself, then for so many seconds those that count."""
    number, inbox = 0, directory / "in"
    deadline = time.monotonic() + 180
    while not (directory / "ready").exists():
        if time.monotonic() > deadline:
            raise RuntimeError("the job delivers nothing")
        write(inbox, number, max(1, round(rate * every)), every)
        number += 1
        time.sleep(every)
    warm = time.monotonic() + seconds / 2
    begin: float | None = None
    last = 0
    due = time.monotonic()
    while begin is None or time.monotonic() < begin + seconds:
        if begin is None and time.monotonic() > warm:
            begin = time.monotonic()
            (directory / "begin").write_text(str(time.time_ns()))
        last = write(inbox, number, max(1, round(rate * every)), every)
        number += 1
        due += every
        time.sleep(max(0.0, due - time.monotonic()))
    beside = directory / "last.writing"
    beside.write_text(str(last))
    beside.rename(directory / "last")  # the job ends when this one has arrived


def measure(name: str, work: str, rate: int, seconds: float, every: float) -> list[float]:
    """How many milliseconds elements took, sorted."""
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        (directory / "in").mkdir()
        command = [sys.executable, "-m", "benchmarks.latency", "--job", name, "--only", work, "--directory", place]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            feed(directory, rate, seconds, every)
            _, errors = process.communicate(timeout=300)
        except BaseException:
            process.kill()
            raise
        if process.returncode:
            raise RuntimeError(errors.decode()[-2000:])
        return sorted(each / _NANOSECONDS for each in json.loads((directory / "took.json").read_text()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000], help="elements a second")
    parser.add_argument("--seconds", type=float, default=20, help="so long is measured, after half as long again")
    parser.add_argument("--every", type=float, default=100, help="milliseconds from one file to the next")
    parser.add_argument("--only", choices=WORKS, help="this work alone")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.directory is not None:
        job(given.job, given.only, given.directory)
        return 0
    table = Table("work", "elements/s", "job", "arrived", *(f"p{each} ms" for each in PERCENTILES), "worst ms")
    for work in [given.only] if given.only else WORKS:
        for rate in given.rates:
            for name in JOBS:
                took = measure(name, work, rate, given.seconds, given.every / 1000)
                found = [f"{np.percentile(took, each):,.0f}" for each in PERCENTILES] if took else ["–"] * 3
                worst = f"{took[-1]:,.0f}" if took else "–"
                table.add_row(work, f"{rate:,}", name, f"{len(took):,}", *found, worst)
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
