"""`python -m benchmarks.directories`: reading and writing directories of files in order, and in any order by hand.

The rows have the order of their files, and Morisot keeps it; the hand-written DataFrame code does not care. Variants
run in turns. The ids of the answers are compared; those of Morisot are also checked to be in order. Then the time to
plan a job that reads many files, with its closures, up to Spark's own plan.
"""

from __future__ import annotations

import argparse
import functools
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from rich.console import Console

import morisot as mo
from benchmarks.data.directories import directory
from benchmarks.harness import Options, Result, run
from benchmarks.session import open_session
from benchmarks.workload import DATAFRAME, MORISOT, Answer, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 10_000_000


class Event(NamedTuple):
    """A row of the files."""

    id: int
    kind: str
    price: int
    seller: int


def bids(spark: SparkSession, path: Path) -> Any:
    """The row-wise job, as a user writes it."""
    events = mo.StreamContext(spark, config=mo.Config(progress=False)).stream_parquet(path, Event)
    return events.filter(lambda event: event.kind == "bid").map(lambda event: (event.id, event.price * 2))


def bids_by_hand(spark: SparkSession, path: Path) -> DataFrame:
    """The same job, as an expert writes it."""
    return spark.read.parquet(str(path)).where("kind = 'bid'").selectExpr("id AS _0", "price * 2 AS _1")


def checked(table: Any, *, ordered: bool) -> Answer:
    """The number of ids, and their sum."""
    ids = table.column("_0").to_numpy()
    assert not ordered or bool(np.all(np.diff(ids) > 0)), "the rows are not in order"
    return {"ids": {"rows": len(ids), "sum": int(ids.sum())}}


def written(write: Callable[[str], None], *, ordered: bool) -> Answer:
    """The files that a function writes, in the order of their names."""
    out = Path(tempfile.mkdtemp())
    try:
        write(str(out / "rows"))
        return checked(pq.read_table(sorted((out / "rows").glob("part-*"))), ordered=ordered)
    finally:
        shutil.rmtree(out)


def collected(rows: Sequence[Any]) -> Answer:
    return {"ids": {"rows": len(rows), "sum": sum(row[0] for row in rows)}}


def counted(stream: Any) -> Answer:
    count = stream.collect_count()
    stream._context.execute()
    return {"rows": {"": count.get()}}


def writes(stream: Any) -> Callable[[str], None]:
    def write(path: str) -> None:
        stream.write_parquet(path)
        stream._context.execute()

    return write


def workloads(rows: int, files: int) -> list[Workload[Path]]:
    """What is done with the rows of a directory."""

    def workload(name: str, morisot: Callable[..., Answer], by_hand: Callable[..., Answer]) -> Workload[Path]:
        return Workload(
            f"{name} {files}",
            f"{name}, {files} files",
            rows,
            "rows",
            lambda size: directory(size, files),
            {MORISOT: morisot, DATAFRAME: by_hand},
        )

    return [
        workload(
            "table",
            lambda spark, path: checked(bids(spark, path).to_arrow(), ordered=True),
            lambda spark, path: checked(bids_by_hand(spark, path).toArrow(), ordered=False),
        ),
        workload(
            "list",
            lambda spark, path: collected(bids(spark, path).filter(lambda pair: pair[1] < 20_000).collect()),
            lambda spark, path: collected(bids_by_hand(spark, path).where("_1 < 20000").collect()),
        ),
        workload(
            "count",
            lambda spark, path: counted(bids(spark, path)),
            lambda spark, path: {"rows": {"": bids_by_hand(spark, path).count()}},
        ),
        workload(
            "write",
            lambda spark, path: written(writes(bids(spark, path)), ordered=True),
            lambda spark, path: written(lambda out: bids_by_hand(spark, path).write.parquet(out), ordered=False),
        ),
    ]


def above(least: int) -> Callable[[Event], bool]:
    return lambda event: event.price > least


def planning(spark: SparkSession, path: Path, runs: int) -> list[float]:
    """Seconds to build a job with its closures, and to plan it up to Spark's own plan; each run compiles again."""
    found = []
    for number in range(runs):
        began = time.perf_counter()
        events: Any = mo.StreamContext(spark, config=mo.Config(progress=False)).stream_parquet(path, Event)
        df: Any = events.filter(above(number)).map(lambda event: (event.id, event.kind)).to_dataframe()
        df._jdf.queryExecution().executedPlan()
        found.append(time.perf_counter() - began)
    return found


def line(result: Result) -> str:
    """The medians and ratios of one workload."""
    morisot, by_hand = result.of(MORISOT), result.of(DATAFRAME)
    problems = [one.problem for one in result.measurements if one.problem]
    if morisot is None or by_hand is None:
        return f"{result.workload.title}: {'; '.join(problems)}"
    cpu = result.ratio(morisot, lambda one: one.cpu_seconds)
    wall = result.ratio(morisot, lambda one: one.wall_seconds)
    return (
        f"{result.workload.title:24} CPU {morisot.cpu_seconds:6.2f} s, by hand {by_hand.cpu_seconds:6.2f} s: {cpu:.2f}"
        f"   wall {morisot.wall_seconds:6.2f} s, {by_hand.wall_seconds:6.2f} s: {wall:.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--files", type=int, nargs="+", default=[8, 1000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=["table", "list", "count", "write"])
    given = parser.parse_args(arguments)
    spark = open_session()
    say = functools.partial(Console().print, highlight=False, soft_wrap=True)
    options = Options(runs=given.runs, variants=(MORISOT, DATAFRAME))
    for files in given.files:
        for workload in workloads(given.rows, files):
            if workload.name.split()[0] in given.only:
                say(line(run(workload, spark, options, progress=lambda _: None)))
        seconds = planning(spark, directory(given.rows, files), given.runs)
        say(f"plan, {files} files: first {seconds[0]:.2f} s, median {median(seconds):.2f} s")
    spark.stop()


if __name__ == "__main__":
    main()
