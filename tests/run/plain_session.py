"""Jobs on a session that the user has made without any of Morisot's settings: `plain_session.py MASTER [NAME…]`.

For each job one line of JSON says what Spark gave and what the reference engine gives,
or the error. The last line says which settings of the session are not as they were.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

import morisot as mo
from morisot.testing import CRASH, advance_time, observe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[["SparkSession", Path], tuple[Any, Any]]
JOBS: dict[str, Job] = {}
NUMBERS = [[3, 1, 4, 1], [5, 9, 2, 6], [5, 3, 5, 8]]
REPEATED = datetime.datetime(2024, 11, 3, 0, 30)
"""Half an hour before an hour that the clocks of New York repeat."""
HOUR = datetime.timedelta(hours=1)
SKIPPED = datetime.datetime(2024, 3, 10, 1, 30)
"""Half an hour before an hour that they skip."""


def job(function: Job) -> Job:
    JOBS[function.__name__] = function
    return function


def compared(program: Callable[..., Any], *inputs: Any) -> Job:
    """What a program gives over micro-batches, and what it gives on the reference engine."""

    def run(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
        found = observe(program, *inputs, engine="unbounded", spark=spark).results
        return sorted(found), sorted(observe(program, *inputs, engine="reference").results)

    return run


# --- operators on unbounded input ---

JOBS["running_aggregates"] = compared(lambda numbers: numbers.group_by_sum(lambda n: n % 3, lambda n: n), NUMBERS)
JOBS["running_folds_in_python"] = compared(
    lambda numbers: numbers.group_by(lambda n: n % 3).fold("", lambda text, n: f"{text}{n}"), NUMBERS
)
JOBS["count_windows"] = compared(
    lambda numbers: numbers.group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(2)).sum(), NUMBERS
)
JOBS["rich_map_after_a_crash"] = compared(
    lambda numbers: numbers.group_by(lambda n: n % 3).rich_map(1, lambda s, k, n: ((s * 31 + n) % 10007,) * 2),
    [NUMBERS[0], CRASH, *NUMBERS[1:]],
)
TIMES = [
    [start + datetime.timedelta(minutes=20 * n) for n in batch]
    for start in (SKIPPED, REPEATED)
    for batch in ([0, 1, 2], [3, 4, 9], [10, 11])
]
JOBS["time_windows"] = compared(
    lambda times: (
        times.add_timestamps(lambda t: t, delay="1h")
        .window_all(mo.EventTimeWindow.tumbling("1h"))
        .count()
        .with_bounds()
    ),
    [*TIMES, advance_time(REPEATED + datetime.timedelta(days=2))],
)
JOBS["sessions"] = compared(
    lambda numbers: (
        numbers.add_timestamps(lambda n: n * 1000, delay="10s")
        .group_by(lambda n: n % 2)
        .window(mo.EventTimeWindow.session("3s"))
        .sum()
    ),
    [*NUMBERS, advance_time(1_000_000)],
)
JOBS["join_within"] = compared(
    lambda left, right: (
        left.add_timestamps(lambda n: n * 100, delay="1s")
        .group_by(lambda n: n % 2)
        .join(right.add_timestamps(lambda n: n * 100, delay="1s").group_by(lambda n: n % 2), within="200ms")
    ),
    NUMBERS,
    [[2, 7], [1, 8], [3]],
)


# --- sinks ---


@job
def files(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """Row by row, from a directory into another one."""
    inbox, out = directory / "in", directory / "out"
    inbox.mkdir()
    for place, batch in enumerate(NUMBERS):
        (inbox / f"{place}.txt").write_text("".join(f"{n}\n" for n in batch))
    with mo.StreamContext(spark) as ctx:
        lines = ctx.stream_file(inbox, unbounded=True)
        lines.map(lambda line: (int(line), hex(int(line))), returns=tuple[int, str]).write_parquet(str(out))
        running = ctx.start()
        running.catch_up()
        running.wait(0)
        running.stop()
    rows = [tuple(row.values()) for file in out.glob("part-*") for row in pq.ParquetFile(file).read().to_pylist()]
    return sorted(rows), sorted((n, hex(n)) for batch in NUMBERS for n in batch)


@job
def channel_into_for_each(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """What is sent arrives, and the job ends with the channel."""
    seen: list[int] = []
    with mo.StreamContext(spark) as ctx:
        inlet, numbers = ctx.stream_channel(int)
        numbers.map(lambda n: n * n).for_each(seen.append)
        running = ctx.start()
        with inlet:
            for batch in NUMBERS:
                inlet.send_all(batch)
        running.wait(120)
    return seen, [n * n for batch in NUMBERS for n in batch]


# --- snapshots ---


@job
def stream_goes_on_from_a_snapshot(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """Started again from the latest snapshot, then from the first one."""
    inbox, out = directory / "in", directory / "out"
    inbox.mkdir()
    written = []
    for restart, new in (("latest", NUMBERS[:1]), ("latest", NUMBERS[1:]), (0, [])):
        for batch in new:
            (inbox / f"{len(list(inbox.iterdir()))}.txt").write_text("".join(f"{n}\n" for n in batch))
        with mo.StreamContext(spark, snapshots=mo.Snapshots(directory / "saves", restart=restart)) as ctx:  # type: ignore[arg-type]
            lines = ctx.stream_file(inbox, unbounded=True, files_per_batch=1)
            sums = lines.map(lambda line: int(line)).group_by(lambda n: n % 3)
            sums.rich_map(0, lambda s, k, n: (s + n,) * 2, returns=int).write_parquet(str(out))
            running = ctx.start()
            running.catch_up()
            running.wait(0)
            running.stop()
        rows = [tuple(row.values()) for file in out.glob("part-*") for row in pq.ParquetFile(file).read().to_pylist()]
        written.append(sorted(rows))
    return written, [sums_of(NUMBERS[:1]), sums_of(NUMBERS), sums_of(NUMBERS)]


def sums_of(batches: list[list[int]]) -> list[tuple[int, int]]:
    ctx = mo.StreamContext(engine="reference")
    numbers = ctx.stream_iter([n for batch in batches for n in batch]).group_by(lambda n: n % 3)
    return sorted(numbers.rich_map(0, lambda s, k, n: (s + n,) * 2).unkey().collect())


@job
def bounded_with_snapshots(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """Run twice: the second run reads what the first has saved."""
    seen = directory / "seen"

    def counted(n: int) -> int:
        with seen.open("a") as file:
            file.write(".")
        return n

    def program(numbers: mo.Stream[int]) -> Any:
        sums = numbers.group_by_sum(lambda n: n % 3, lambda n: n).unkey().sorted_by(lambda pair: pair[0]).collect()
        return sums, numbers.rich_map(1, lambda s, n: ((s * 31 + n) % 10007,) * 2).collect()

    results = []
    for _ in range(2):
        with mo.StreamContext(spark, snapshots=mo.Snapshots(directory / "saves", items=30)) as ctx:
            results.append(program(ctx.stream_iter(range(90)).map(counted, returns=int)))
    results.append(len(seen.read_text()))
    wanted = program(mo.StreamContext(engine="reference").stream_iter(range(90)))
    return results, [wanted, wanted, 2 * 90]


@job
def loop_with_snapshots(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """A loop whose tasks stay, saved after each round."""

    def program(ctx: mo.StreamContext) -> Any:
        state = ctx.stream_iter(range(10)).replay(
            5,
            0,
            lambda stream, state: stream.map(lambda n: n + state.value),
            lambda delta, n: delta + n,
            lambda state, delta: (state + delta) % 1009,
            lambda state: True,
            delta=0,
        )
        return state.collect()

    with mo.StreamContext(spark, snapshots=mo.Snapshots(directory / "saves")) as ctx:
        found = program(ctx)
    return found, program(mo.StreamContext(engine="reference"))


# --- bounded ---


@job
def bounded_times(spark: SparkSession, directory: Path) -> tuple[Any, Any]:
    """Moments keep their values whatever the zone of the session is."""

    def program(ctx: mo.StreamContext) -> list[Any]:
        times = ctx.stream_iter([time for batch in TIMES for time in batch])
        windows = times.add_timestamps(lambda t: t).window_all(mo.EventTimeWindow.tumbling("1h")).count().with_bounds()
        written = times.map(lambda t: (t, t.hour, t.isoformat(), t.strftime("%d.%m. %H:%M"), t - SKIPPED > HOUR))
        return [*written.collect(), *sorted(windows.collect())]

    return program(mo.StreamContext(spark)), program(mo.StreamContext(engine="reference"))


def outcomes(spark: SparkSession, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names or JOBS:
        with tempfile.TemporaryDirectory() as directory:
            try:
                found, wanted = JOBS[name](spark, Path(directory))
                yield {"job": name, "found": repr(found), "wanted": repr(wanted)}
            except Exception as error:
                yield {"job": name, "found": f"{type(error).__name__}: {error}", "wanted": ""}


def main(master: str, *names: str) -> None:
    from pyspark.sql import SparkSession

    if master.startswith("sc://"):
        spark = SparkSession.builder.remote(master).getOrCreate()
        before: dict[str, str] = {}
    else:
        builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
        spark = builder.config("spark.sql.shuffle.partitions", os.environ.get("PARTITIONS", "200")).getOrCreate()
        before = dict(spark.conf.getAll)
    for outcome in outcomes(spark, list(names)):
        print(json.dumps(outcome), flush=True)
    after = before if master.startswith("sc://") else dict(spark.conf.getAll)
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    print(json.dumps({"job": "settings", "found": repr(changed), "wanted": "[]"}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
