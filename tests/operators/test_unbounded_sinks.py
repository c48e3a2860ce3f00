"""Several sinks of one job without end: what they share is read and computed once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import morisot as mo
from tests.operators.test_unbounded import until

pytestmark = pytest.mark.jvm


def put(directory: Path, number: int, *lines: Any) -> None:
    """A file that is read after those with a smaller number."""
    directory.mkdir(exist_ok=True)
    file = directory / f"{number}.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (number + 1, number + 1))


def noting(file: Path) -> Callable[[Any], None]:
    """A function for inspect(…) that leaves a line for each element, wherever it runs."""
    path = str(file)

    def note(element: Any) -> None:
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(f"{element}\n")

    return note


def noted(file: Path) -> list[str]:
    return sorted(file.read_text().split())


def followed(ctx: mo.StreamContext, directory: Path) -> mo.Stream[int]:
    return ctx.stream_file(directory, unbounded=True, files_per_batch=1).map(lambda line: int(line))


def rows_of(directory: Path) -> list[Any]:
    return sorted(
        row for file in directory.glob("part-*.parquet") for row in pq.ParquetFile(file).read()["value"].to_pylist()
    )


def test_two_sinks_of_one_stream_are_one_query(spark: Any, spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 2, 3)
    put(tmp_path / "in", 1, 4)
    seen: list[int] = []
    shared = followed(spark_ctx, tmp_path / "in").inspect(noting(tmp_path / "notes"))
    shared.for_each(seen.append)
    channel = shared.filter(lambda n: n % 2 == 0).map(lambda n: n * 10).collect_channel()
    job = spark_ctx.start()
    try:
        job.catch_up()
        assert len(spark.streams.active) == 1
        until(lambda: job.metrics()["batches"] == 2)
        metrics = job.metrics()
    finally:
        job.stop()
    assert seen == [1, 2, 3, 4]
    assert list(channel) == [20, 40]
    assert noted(tmp_path / "notes") == ["1", "2", "3", "4"], "the function that both share ran once for each element"
    assert (metrics["elements_in"], metrics["elements_out"], metrics["batches"]) == (4, 6, 2)
    assert [(each["sink"], each["elements_in"], each["elements_out"]) for each in metrics["sinks"]] == [
        ("for_each", 4, 4),
        ("collect_channel", 4, 2),
    ]
