"""A stopped job resumes with another parallelism: states are the same, whatever the number of state partitions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.engines.spark.internals import query_log

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded, pytest.mark.thorough]
KEYS, LINES = 30, 90
RESCALED = [2, 5, 1]
"""The parallelism of each start."""


class Seen(mo.Operator[int, tuple[int, int]]):
    """The number of elements that its replica has processed."""

    def process(self, element: int, message: mo.Message) -> list[tuple[int, int]]:
        self.store["seen"] = self.store.get("seen", 0) + 1
        return [(element, self.store["seen"])]


def counted(state: int, key: int, value: int) -> tuple[int, tuple[int, int]]:
    return state + 1, (value, state + 1)


PROGRAMS: dict[str, Any] = {
    "rich_map": lambda s: s.group_by(lambda n: n % KEYS).rich_map(0, counted),
    "rich_map without keys": lambda s: s.rich_map(0, lambda state, n: (state + n, state + n)),
    "apply": lambda s: s.apply(Seen(), replicate=3),
    "sum": lambda s: s.group_by_sum(lambda n: n % KEYS, lambda n: n),
    "count": lambda s: s.group_by_count(lambda n: n % KEYS),
    "count window": lambda s: s.group_by(lambda n: n % KEYS).window(mo.CountWindow.tumbling(3)).sum(),
    "time window": lambda s: (
        s.add_timestamps(lambda n: n, delay=0).group_by(lambda n: n % 3).window(mo.EventTimeWindow.tumbling(7)).sum()
    ),
    "session": lambda s: (
        s.add_timestamps(lambda n: n + n // 10 * 5, delay=0).window_all(mo.EventTimeWindow.session(2)).count()
    ),
    "unique": lambda s: s.map(lambda n: n % 50).unique(),
    "two in a row": lambda s: (
        s.group_by(lambda n: n % KEYS)
        .rich_map(0, counted)
        .drop_key()
        .map(lambda p: p[1])
        .rich_map(0, lambda state, n: (state + n, state + n))
    ),
}


def add_file(directory: Path, number: int) -> None:
    """Adds a file with numbers that are not in the others."""
    (directory / "in").mkdir(exist_ok=True)
    file = directory / "in" / f"{number}.txt"
    file.write_text("".join(f"{number * LINES + n}\n" for n in range(LINES)))
    os.utime(file, (number + 1, number + 1))


class Collected(mo.Sink[Any]):
    """All elements. It may fail at a micro-batch."""

    def __init__(self, found: list[Any], fails_at: int | None = None) -> None:
        self.found, self.fails_at = found, fails_at

    def prepare(self, batch: int, elements: list[Any]) -> None:
        if batch == self.fails_at:
            raise OSError("the sink is full")
        self.found += elements


def run(
    spark: Any, directory: Path, program: Any, parallelism: int, found: list[Any], *, fails_at: int | None = None
) -> None:
    """Runs a job until it has read all files; or, if it fails, until its sink gets a micro-batch."""
    saves = mo.Snapshots(directory / "saves")
    config = mo.Config(progress=False, report=False, parallelism=parallelism)
    with mo.StreamContext(spark, config=config, snapshots=saves) as ctx:
        numbers = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1).map(int, returns=int)
        program(numbers).write_to(Collected(found, fails_at))
        job = ctx.start()
        if fails_at is not None:
            with pytest.raises(mo.MorisotError, match="the sink is full"):
                job.wait(60)
        else:
            job.catch_up()
        job.stop()


def partitions(directory: Path) -> int | None:
    (query,) = (directory / "saves" / "streams").glob("*/spark")
    return query_log.partitions(query, query_log.started(query)[-1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_job_resumes_with_another_parallelism(spark: Any, tmp_path: Path, name: str) -> None:
    rescaled: list[Any] = []
    fixed: list[Any] = []
    for directory in (tmp_path / "rescaled", tmp_path / "fixed"):
        directory.mkdir()
    for number, parallelism in enumerate(RESCALED):
        add_file(tmp_path / "rescaled", number)
        add_file(tmp_path / "fixed", number)
        run(spark, tmp_path / "rescaled", PROGRAMS[name], parallelism, rescaled)
        assert partitions(tmp_path / "rescaled") == parallelism
    run(spark, tmp_path / "fixed", PROGRAMS[name], 2, fixed)
    assert rescaled, "the program has results"
    assert sorted(map(repr, rescaled)) == sorted(map(repr, fixed))


def test_an_open_micro_batch_is_finished_before(spark: Any, tmp_path: Path) -> None:
    found: list[Any] = []
    add_file(tmp_path, 0)
    run(spark, tmp_path, PROGRAMS["rich_map"], 2, found)
    add_file(tmp_path, 1)
    run(spark, tmp_path, PROGRAMS["rich_map"], 2, found, fails_at=1)
    run(spark, tmp_path, PROGRAMS["rich_map"], 3, found)
    add_file(tmp_path, 2)
    run(spark, tmp_path, PROGRAMS["rich_map"], 3, found)
    assert partitions(tmp_path) == 3
    numbers = range(3 * LINES)
    assert sorted(found) == sorted((n % KEYS, (n, n // KEYS + 1)) for n in numbers)


def test_files_are_written_after_a_change(spark: Any, tmp_path: Path) -> None:
    written = tmp_path / "out"
    for number, parallelism in enumerate((2, 3, 3)):
        add_file(tmp_path, number)
        config = mo.Config(progress=False, report=False, parallelism=parallelism)
        with mo.StreamContext(spark, config=config, snapshots=mo.Snapshots(tmp_path / "saves")) as ctx:
            lines = ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=1)
            sums = lines.rich_map(0, lambda state, line: (state + int(line), state + int(line)))
            sums.map(str).write_text(written)
            job = ctx.start()
            job.catch_up()
            job.stop()
    found = sorted(int(row.value) for row in spark.read.text(str(written)).collect())
    assert found == [sum(range(n + 1)) for n in range(3 * LINES)]
