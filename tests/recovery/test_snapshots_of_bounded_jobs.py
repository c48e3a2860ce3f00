"""Snapshots of bounded jobs, in one process: what a second run does again, what is refused, what is left."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.bounded import source_splits

pytestmark = pytest.mark.jvm

FILES, ROWS = 5, 4
ALL = list(range(FILES * ROWS))


class Row(NamedTuple):
    n: int


def write_files(directory: Path) -> None:
    """Parquet files whose times are against the order of their names."""
    (directory / "in").mkdir()
    for number in range(FILES):
        file = directory / "in" / f"{number} of {FILES}.parquet"
        pq.write_table(pa.table({"n": ALL[number * ROWS : (number + 1) * ROWS]}), file)
        os.utime(file, (100 - number, 100 - number))


def noted(n: int, directory: Path) -> int:
    """The number; that it was seen is noted, and it may be one to fail on."""
    with (directory / "seen").open("a") as file:
        file.write(f"{n}\n")
    if (directory / "fails").exists() and n == int((directory / "fails").read_text()):
        raise ValueError("as the test says")
    return n


def seen(directory: Path) -> list[int]:
    """The numbers that were read since the last time this was asked."""
    file = directory / "seen"
    found = [int(line) for line in file.read_text().split()] if file.exists() else []
    file.unlink(missing_ok=True)
    return sorted(found)


def saving(spark: Any, directory: Path, parallelism: int = 1, **settings: Any) -> mo.StreamContext:
    snapshots = mo.Snapshots(directory / "saves", **{"items": ROWS, **settings})
    config = mo.Config(progress=False, report=False, parallelism=parallelism)
    return mo.StreamContext(spark, config=config, snapshots=snapshots)


def read(ctx: mo.StreamContext, directory: Path) -> mo.Stream[int]:
    return ctx.stream_parquet(directory / "in", Row).map(lambda row: noted(row.n, directory), returns=int)


def collected(spark: Any, directory: Path, *, step: int = 1, **settings: Any) -> list[int]:
    with saving(spark, directory, **settings) as ctx:
        return read(ctx, directory).map(lambda n: n * step).collect()


def fail_at(directory: Path, n: int) -> None:
    (directory / "fails").write_text(str(n))


def fail_no_more(directory: Path) -> None:
    (directory / "fails").unlink()


@pytest.mark.thorough
def test_a_job_that_failed_goes_on_in_the_middle(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    fail_at(tmp_path, 9)
    with pytest.raises(mo.ElementError, match="as the test says"):
        collected(spark, tmp_path)
    assert seen(tmp_path)[: 2 * ROWS] == ALL[: 2 * ROWS]
    fail_no_more(tmp_path)
    assert collected(spark, tmp_path) == ALL
    assert seen(tmp_path) == ALL[2 * ROWS :], "the output of the first splits was there"
    assert collected(spark, tmp_path) == ALL
    assert seen(tmp_path) == [], "nothing was left to do"
    assert collected(spark, tmp_path, restart=3) == ALL
    assert seen(tmp_path) == ALL[4 * ROWS :]
    assert collected(spark, tmp_path, clean_on_exit=True) == ALL
    assert list((tmp_path / "saves" / "bounded").iterdir()) == []


def by_time(
    spark: Any, directory: Path, numbers: list[int], *, summed: bool = False, **settings: Any
) -> tuple[list[int], int]:
    """The numbers, or their sums so far, and the number of splits they were computed in."""
    with saving(spark, directory, **{"items": None, "keep": 1000, **settings}) as ctx:
        read = ctx.stream_iter(numbers).map(lambda n: noted(n, directory), returns=int)
        found = (read.rich_map(0, lambda total, n: (total + n, total + n)) if summed else read).collect()
        return found, len(ctx.engine._resumable.snapshots())  # type: ignore[attr-defined]


def test_pieces_of_a_long_time_grow(spark: Any, tmp_path: Path) -> None:
    numbers = list(range(40))
    fail_at(tmp_path, 20)
    with pytest.raises(mo.ElementError, match="as the test says"):
        by_time(spark, tmp_path, numbers, every="1h")
    assert {0, 4, 20} <= set(seen(tmp_path)) <= set(numbers[: 1 + 4 + 16])
    fail_no_more(tmp_path)
    assert by_time(spark, tmp_path, numbers, every="1h") == (numbers, 6), "1, 4, then 1, 4, 16, and the rest"
    assert set(seen(tmp_path)) == set(numbers[5:]), "a task of the failed job may have ended after it"


@pytest.mark.thorough
@pytest.mark.parametrize("many", [3, 12])
def test_pieces_of_a_short_time_stay_small(many: int, spark: Any, tmp_path: Path) -> None:
    """And what an earlier program did not come to is read."""
    numbers = list(range(many))
    sums = list(itertools.accumulate(numbers))
    assert by_time(spark, tmp_path, numbers, summed=True, every="1ms") == (sums, many)
    seen(tmp_path)
    fail_at(tmp_path, many // 2)
    with pytest.raises(mo.ElementError, match="as the test says"):
        by_time(spark, tmp_path, numbers, summed=True, every="1ms", restart=None)
    fail_no_more(tmp_path)
    seen(tmp_path)
    assert by_time(spark, tmp_path, numbers, summed=True)[0] == sums, "without a time the rest is listed at once"
    assert set(seen(tmp_path)) == set(numbers[many // 2 :])


def test_a_changed_program_and_changed_files_are_refused(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    at_once = {"items": 2 * len(ALL)}
    assert collected(spark, tmp_path, **at_once) == ALL
    with pytest.raises(mo.PlanError, match=r"collect cannot resume .* map \(.*: its function changed"):
        collected(spark, tmp_path, step=2, **at_once)
    pq.write_table(pa.table({"n": [77]}), tmp_path / "in" / "6 of 5.parquet")
    with pytest.raises(mo.PlanError, match=r"stream_parquet has other elements .*: 6 of 5.parquet is new"):
        collected(spark, tmp_path, **at_once)
    assert collected(spark, tmp_path, step=2, restart=None, **at_once) == [2 * n for n in [*ALL, 77]]


class Kept(mo.Sink[int]):
    """A sink that remembers the number of what it has committed."""

    def __init__(self) -> None:
        self.given: list[Sequence[int]] = []

    def last_committed(self) -> int | None:
        return 0 if self.given else None

    def prepare(self, batch: int, elements: Sequence[int]) -> None:
        self.given.append(elements)


def test_what_was_delivered_before_the_failure(spark: Any, tmp_path: Path) -> None:
    """A directory is there once, a sink that knows what it has is not given it again, a function is."""
    write_files(tmp_path)
    sink, given = Kept(), []
    for fails in (True, False):

        def receive(n: int, fails: bool = fails) -> None:
            given.append(n)
            if fails and n == ALL[-1]:
                raise ValueError("too late")

        with saving(spark, tmp_path) as ctx:
            numbers = read(ctx, tmp_path)
            numbers.write_parquet(tmp_path / "out")
            numbers.write_to(sink)
            numbers.for_each(receive)
            if fails:
                with pytest.raises(mo.ElementError, match="too late"):
                    ctx.execute()
            else:
                job = ctx.start()
                job.wait()
                assert [(each.id, each.of) for each in job.snapshots()] == [
                    (n, "write_parquet/map") for n in range(FILES)
                ]
    assert sink.given == [ALL]
    assert given == ALL * 2
    assert seen(tmp_path) == ALL
    assert pq.read_table(tmp_path / "out").column("value").to_pylist() == ALL
    with saving(spark, tmp_path) as ctx:
        read(ctx, tmp_path).write_parquet(tmp_path / "out")
        with pytest.raises(mo.SinkError, match="exists already"):
            ctx.execute()


def halves(instance: int, instances: int) -> Iterator[int]:
    yield from range(instance * 5, (instance + 1) * 5)


SOURCES: dict[str, Callable[[mo.StreamContext, Path], mo.Stream[Any]]] = {
    "iter": lambda ctx, _: ctx.stream_iter([str(n) for n in ALL]),
    "range": lambda ctx, _: ctx.stream_iter(range(20, 0, -2)),
    "par_iter": lambda ctx, _: ctx.stream_par_iter(halves, returns=int),
    "arrow": lambda ctx, _: ctx.stream_arrow(pa.table({"n": ALL})),
    "dataframe": lambda ctx, _: ctx.stream_dataframe(ctx.spark.range(10)),
    "file": lambda ctx, place: ctx.stream_file(place / "*.txt"),
    "csv": lambda ctx, place: ctx.stream_csv(place / "csv", Row),
    "json": lambda ctx, place: ctx.stream_json(place / "json", Row),
    "nothing": lambda ctx, _: ctx.stream_iter(range(0)),
}


NEAR_OTHERS = ("range", "dataframe", "json")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.thorough if n in NEAR_OTHERS else ()) for n in SOURCES]
)
def test_every_source_is_cut_and_keeps_its_order(name: str, spark: Any, tmp_path: Path) -> None:
    for kind, line in (("csv", "n\n{}\n{}\n"), ("json", '{{"n": {}}}\n{{"n": {}}}\n'), ("txt", "{}\n{}\n")):
        directory = tmp_path / kind if kind != "txt" else tmp_path
        directory.mkdir(exist_ok=True)
        for number in range(3):
            (directory / f"{number}.{kind}").write_text(line.format(number * 2, number * 2 + 1))
            os.utime(directory / f"{number}.{kind}", (100 - number, 100 - number))
    plain = mo.StreamContext(spark, config=mo.Config(progress=False))
    expected = SOURCES[name](plain, tmp_path).map(lambda x: str(x)).collect()
    with saving(spark, tmp_path, parallelism=2) as ctx:
        assert SOURCES[name](ctx, tmp_path).map(lambda x: str(x)).collect() == expected
        pieces = len(ctx.engine._resumable.snapshots())  # type: ignore[attr-defined]
    assert pieces > 1 or not expected


def test_one_large_file_is_copied_into_pieces(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_splits, "_LARGE", 10)
    (tmp_path / "in.txt").write_text("".join(f"{n}\n" for n in ALL))
    with saving(spark, tmp_path) as ctx:
        assert ctx.stream_file(tmp_path / "in.txt").map(lambda line: int(line)).collect() == ALL
        assert len(ctx.engine._resumable.snapshots()) == len(ALL) // ROWS  # type: ignore[attr-defined]


def test_what_is_left_out_is_counted_by_run(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path)
    with saving(spark, tmp_path, items=3 * ROWS) as ctx:
        inverse = read(ctx, tmp_path).map(lambda n: 60 // n, on_error="skip")
        for _ in range(2):
            assert inverse.collect() == [60 // n for n in ALL if n]
        assert list(ctx.metrics()["skipped"].values()) == [1]
    assert seen(tmp_path) == sorted(ALL * 2), "two jobs, each of which read everything"


@pytest.mark.thorough
def test_every_part_of_a_job_is_closed_at_the_end(spark: Any, tmp_path: Path) -> None:
    """Two windows of one source: time ends for each of them."""
    write_files(tmp_path)
    with saving(spark, tmp_path, items=3 * ROWS) as ctx:
        timed = ctx.stream_parquet(tmp_path / "in", Row).map(lambda row: row.n).add_timestamps(lambda n: -n, delay=0)
        sums = timed.window_all(mo.EventTimeWindow.tumbling(10)).sum().collect_vec()
        sizes = timed.window_all(mo.EventTimeWindow.session(3)).count().collect_vec()
        ctx.execute()
    assert sums.get() == [sum(range(11, 20)), sum(range(1, 11)), 0]
    assert sizes.get() == [len(ALL)]
