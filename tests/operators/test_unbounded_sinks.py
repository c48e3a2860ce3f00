"""Several sinks of one unbounded job: the shared stream is read and computed once."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

import morisot as mo
from tests.operators.test_endpoints import Kept
from tests.operators.test_unbounded import until

pytestmark = pytest.mark.jvm


def put(directory: Path, number: int, *lines: Any) -> None:
    """A file that is read after those with a smaller number."""
    directory.mkdir(exist_ok=True)
    file = directory / f"{number}.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (number + 1, number + 1))


def test_for_each_is_told_the_number_of_the_micro_batch(spark: Any, tmp_path: Path) -> None:
    """A micro-batch that is replayed after a failure has the same number."""
    for number in range(3):
        put(tmp_path / "in", number, f"{number}a", f"{number}b")
    full = tmp_path / "full"

    def run(*, failing: bool) -> list[tuple[int, str]]:
        seen: list[tuple[int, str]] = []

        def note(batch: int, line: str) -> None:
            seen.append((batch, line))
            if line == "1b" and full.exists():
                raise OSError("the disk is full")

        snapshots = mo.Snapshots(tmp_path / "saves")
        with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
            ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=1).for_each(note, with_batch=True)
            job = ctx.start()
            with pytest.raises(mo.ElementError, match="the disk is full") if failing else contextlib.nullcontext():
                job.catch_up()
            job.stop()
        return seen

    full.touch()
    assert run(failing=True) == [(0, "0a"), (0, "0b"), (1, "1a"), (1, "1b")]
    full.unlink()
    assert run(failing=False) == [(1, "1a"), (1, "1b"), (2, "2a"), (2, "2b")]


def test_for_each_of_bounded_elements_has_one_micro_batch(spark_ctx: mo.StreamContext) -> None:
    seen: list[Any] = []
    numbers = spark_ctx.stream_iter([3, 4])
    numbers.for_each(lambda *told: seen.append(told), with_batch=True)
    numbers.key_by(lambda n: n % 2).for_each(lambda batch, key, n: seen.append((batch, key, n)), with_batch=True)
    spark_ctx.execute()
    assert seen == [(0, 3), (0, 4), (0, 1, 3), (0, 0, 4)]
    with pytest.raises(mo.PlanError, match="for_each"):
        numbers.for_each(lambda n: None, with_batch=True)


def noting(file: Path) -> Callable[[Any], None]:
    """A function for inspect(…) that leaves a line for each element, wherever it runs."""
    path = str(file)

    def note(element: Any) -> None:
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(f"{element}\n")

    return note


def noted(file: Path) -> list[str]:
    return sorted(file.read_text().split())


class Pair(NamedTuple):
    number: int
    text: str


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


def test_branches_of_all_kinds_are_read_once(spark: Any, spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, *range(6))
    put(tmp_path / "in", 1, *range(6, 12))
    sink = Kept()
    pairs: list[Any] = []
    even, odd = followed(spark_ctx, tmp_path / "in").inspect(noting(tmp_path / "notes")).split_by(lambda n: n % 2, 2)
    low, high = even.inspect(noting(tmp_path / "even")).route(lambda n: n < 5, lambda n: n > 7)
    low.merge(odd.map(lambda n: -n)).write_to(sink)
    high.write_parquet(str(tmp_path / "high"))
    odd.group_by(lambda n: n % 3).for_each(lambda k, n: pairs.append((k, n)))
    even.shuffle().map(lambda n: str(n)).write_text(str(tmp_path / "even-lines"))
    job = spark_ctx.start()
    try:
        job.catch_up()
        assert len(spark.streams.active) == 1
    finally:
        job.stop()
    assert sorted(sink.elements) == [-11, -9, -7, -5, -3, -1, 0, 2, 4]
    assert sink.calls == ["open", *((step, batch) for batch in (0, 1) for step in ("prepare", "commit")), "close"]
    assert rows_of(tmp_path / "high") == [8, 10]
    assert sorted(pairs) == sorted((n % 3, n) for n in range(1, 12, 2))
    lines = [line for file in (tmp_path / "even-lines").glob("part-*.txt") for line in file.read_text().split()]
    assert sorted(map(int, lines)) == list(range(0, 12, 2))
    assert noted(tmp_path / "notes") == sorted(map(str, range(12)))
    assert noted(tmp_path / "even") == sorted(map(str, range(0, 12, 2))), (
        "behind the shared stream, for three sinks, once too"
    )


def test_running_values_go_to_several_sinks(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 2, 4)
    put(tmp_path / "in", 1, 2)
    latest: dict[int, int] = {}
    sums = followed(spark_ctx, tmp_path / "in").group_by_sum(lambda n: n % 2, lambda n: n)
    sums.write_parquet(str(tmp_path / "out"))
    sums.map(lambda k, n: n * 10).for_each(latest.__setitem__)
    job = spark_ctx.start()
    try:
        job.catch_up()
        until(lambda: job.metrics()["batches"] == 2)
        ((title, state),) = job.metrics()["sinks"][1]["state"].items()
    finally:
        job.stop()
    assert latest == {0: 80, 1: 10}
    files = {name: sorted((tmp_path / "out" / name).glob("part-*")) for name in ("batch=0", "batch=1")}
    rows = {
        name: [row for each in found for row in pq.ParquetFile(each).read().to_pylist()]
        for name, found in files.items()
    }
    assert sorted(row["value"] for row in rows["batch=0"]) == [1, 6]
    assert [row["value"] for row in rows["batch=1"]] == [8]
    assert title.startswith("group_by_sum (")
    assert state["entries"] > 0


@pytest.mark.thorough
def test_windows_are_shared_and_what_is_late_counts_once(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    for number, times in enumerate([(100, 200), (1500,), (50, 3000), (3100,)]):
        put(tmp_path / "in", number, *times)
    late: list[int] = []
    seen: list[int] = []
    timed = followed(spark_ctx, tmp_path / "in").add_timestamps(lambda n: n, delay=0)
    sums = timed.window_all(mo.EventTimeWindow.tumbling("1s"), late=late.append).sum()
    sums.for_each(seen.append)
    sums.map(lambda n: n * 10).write_parquet(str(tmp_path / "out"))
    job = spark_ctx.start()
    try:
        job.catch_up()
        until(lambda: rows_of(tmp_path / "out") == [3000, 15000] and late == [50])
        metrics = job.metrics()
    finally:
        job.stop()
    assert seen == [300, 1500]
    assert list(metrics["late"].values()) == [1]
    assert metrics["elements_in"] == 6


def test_files_of_every_kind_behind_a_fork_are_read_back(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 22)
    put(tmp_path / "in", 1, 333)
    pairs = followed(spark_ctx, tmp_path / "in").map(lambda n: Pair(n, f'"{n}", a'))
    pairs.write_csv(str(tmp_path / "csv"), delimiter=";", header=False)
    pairs.write_json(str(tmp_path / "json"))
    pairs.write_parquet(str(tmp_path / "parquet"))
    pairs.map(lambda pair: pair.text).write_text(str(tmp_path / "text"))
    job = spark_ctx.start()
    try:
        job.catch_up()
        until(lambda: job.metrics()["elements_out"] == 12)
    finally:
        job.stop()
    expected = [(n, f'"{n}", a') for n in (1, 22, 333)]
    for read in (
        lambda: spark_ctx.stream_csv(str(tmp_path / "csv"), Pair, delimiter=";", header=False),
        lambda: spark_ctx.stream_json(str(tmp_path / "json"), Pair),
        lambda: spark_ctx.stream_parquet(str(tmp_path / "parquet")),
    ):
        assert sorted(tuple(row) for row in read().collect()) == expected
    assert sorted(spark_ctx.stream_file(tmp_path / "text").collect()) == sorted(text for _, text in expected)


# -- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [pytest.param("branch", marks=pytest.mark.thorough), "shared"])
def test_a_column_that_cannot_do_a_value_delivers_nothing_twice(
    where: str, spark_ctx: mo.StreamContext, tmp_path: Path
) -> None:
    put(tmp_path / "in", 0, 1)
    put(tmp_path / "in", 1, 2**62, 3)
    seen: list[int] = []
    sink = Kept()
    numbers = followed(spark_ctx, tmp_path / "in")
    if where == "shared":
        numbers = numbers.map(lambda n: n * 4 - n * 3)
    numbers.for_each(seen.append)
    numbers.map(lambda n: n + 1).write_parquet(str(tmp_path / "out"))
    (numbers.map(lambda n: n * 4 - n * 3) if where == "branch" else numbers).write_to(sink)
    job = spark_ctx.start()
    try:
        job.catch_up()
        until(lambda: job.metrics()["batches"] == 2)
        metrics = job.metrics()
    finally:
        job.stop()
    assert job.exception() is None
    assert seen == sink.elements == [1, 2**62, 3]
    assert rows_of(tmp_path / "out") == [2, 4, 2**62 + 1]
    assert (metrics["elements_in"], metrics["elements_out"]) == (3, 9)
    assert any(title.startswith("map (") for title in spark_ctx.metrics()["moved_to_python"])


def test_what_is_left_out_counts_once(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 0, 2)
    put(tmp_path / "in", 1, 0, 5)
    diverted: list[Any] = []
    seen: list[Any] = []
    lines = spark_ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=1)
    shared = lines.map(lambda t: 10 // int(t), on_error="skip")
    half = shared.map(lambda n: {10: "ten", 5: "five"}[n], on_error=lambda error: diverted.append(error.value))
    half.for_each(seen.append)
    half.map(lambda text: len(text)).for_each(seen.append)
    shared.for_each(seen.append)
    job = spark_ctx.start()
    try:
        job.catch_up()
        until(lambda: job.metrics()["batches"] == 2)
        metrics = job.metrics()
    finally:
        job.stop()
    assert seen == ["ten", "five", 3, 4, 10, 5, 2]
    assert list(metrics["skipped"].values()) == [2]
    assert list(metrics["diverted"].values()) == [1]
    assert diverted == [2]
    assert [list(each["diverted"].values()) for each in metrics["sinks"]] == [[1], [1], []]
    assert [list(each["skipped"].values()) for each in metrics["sinks"]] == [[2], [2], [2]]


def test_the_sink_that_fails_is_named(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    (tmp_path / "file").write_text("no directory")
    seen: list[int] = []
    numbers = followed(spark_ctx, tmp_path / "in")
    numbers.for_each(seen.append)
    numbers.write_parquet(str(tmp_path / "file" / "out"))
    job = spark_ctx.start()
    with pytest.raises(mo.JobError, match=r"while write_parquet \(.*test_unbounded_sinks.py:\d+\) was written"):
        job.wait(120)
    assert seen == [], "no sink got an element"


def test_a_function_of_one_sink_fails(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 0)
    numbers = followed(spark_ctx, tmp_path / "in")
    channel = numbers.collect_channel()
    numbers.for_each(lambda n: 1 // n)
    sink = Kept()
    numbers.write_to(sink)
    job = spark_ctx.start()
    with pytest.raises(mo.ElementError, match="for_each at .* failed on the element 0: ZeroDivisionError"):
        job.wait(120)
    with pytest.raises(mo.ElementError, match="failed on the element 0"):
        channel.get()  # the reader gets the error
    assert sink.calls[-1] == "close"


def test_a_full_channel_keeps_neither_the_others_waiting_nor_the_job_from_stopping(
    spark_ctx: mo.StreamContext, tmp_path: Path
) -> None:
    put(tmp_path / "in", 0, *range(10))
    seen: list[int] = []
    numbers = followed(spark_ctx, tmp_path / "in")
    channel = numbers.collect_channel(capacity=3)
    numbers.for_each(seen.append)
    job = spark_ctx.start()
    assert channel.get(timeout=120) == 0
    assert seen == list(range(10))
    job.stop()
    assert not job.running


def test_two_sinks_cannot_write_to_one_directory(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    numbers = followed(spark_ctx, tmp_path / "in")
    numbers.write_parquet(str(tmp_path / "out"))
    numbers.write_parquet(f"{tmp_path / 'out'}/")
    with pytest.raises(
        mo.PlanError, match=r"two sinks write to '.*out': write_parquet \(.*\) and write_parquet \(.*\)"
    ):
        spark_ctx.start()


def test_a_job_says_how_far_it_is_behind(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that lie there while a sink takes its time, by a path as users write it."""
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        put(tmp_path / "in", number, number)
    goes_on = threading.Event()
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        channel, sent = ctx.stream_channel(str)
        lines = ctx.stream_file("../" + tmp_path.name + "/in", unbounded=True, files_per_batch=1)
        lines.for_each(lambda _: goes_on.wait(60))
        sent.for_each(lambda _: goes_on.wait(60))
        job = ctx.start()
        for text in "abc":
            channel.send(text)
        files, elements = job.metrics()["sinks"]
        assert (files["waiting"], files["waiting_files"], elements["waiting"], elements["waiting_files"]) == (
            0,
            4,
            3,
            0,
        )
        assert files["lag_seconds"] > 1e9, "the files have times of long ago"
        assert 0 <= elements["lag_seconds"] < 60
        goes_on.set()
        channel.close()
        job.catch_up()
        files, elements = job.metrics()["sinks"]
        job.stop()
    for each in (files, elements):
        assert (each["waiting"], each["waiting_files"], each["lag_seconds"]) == (0, 0, 0.0)


def test_functions_get_the_elements_of_several_files_in_their_order(spark: Any, tmp_path: Path) -> None:
    """Spark reads the largest file of a micro-batch first."""
    sizes = [3, 700, 1, 40, 2000]
    expected = []
    for number, size in enumerate(sizes):
        lines = [f"{number}-{line}" for line in range(size)]
        put(tmp_path / "in", number, *lines)
        expected += lines
    seen: list[str] = []
    small: list[str] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        stream = ctx.stream_file(tmp_path / "in", unbounded=True)
        stream.map(lambda line: line).for_each(seen.append)
        kept = stream.flat_map(lambda line: [line.upper()]).filter(lambda line: len(line) < 4).collect_channel()
        job = ctx.start()
        job.catch_up()
        job.stop()
        small = list(kept)
    assert seen == expected
    assert small == [line for line in expected if len(line) < 4]
