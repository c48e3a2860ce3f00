"""Snapshots of unbounded jobs, in one process: what is listed, what is refused, what is left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq
import pytest

import morisot as mo

pytestmark = [pytest.mark.jvm, pytest.mark.unbounded]
_KEPT = "spark.sql.streaming.minBatchesToRetain"


def put(directory: Path, number: int, *lines: int) -> None:
    file = directory / f"{number}.txt"
    directory.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (number + 1, number + 1))


def measured(snapshots: list[mo.Snapshot], number: int) -> bool:
    """Whether this snapshot is there with the sizes of its states, which Spark reports after the commit."""
    return bool(snapshots) and snapshots[-1].id >= number and bool(snapshots[-1].state)


def run(spark: Any, directory: Path, batches: int, *, step: int = 1, name: str = "", **settings: Any) -> Any:
    """Run a job on what is in the directory until it has this number of snapshots; its output, and its snapshots."""
    snapshots = mo.Snapshots(directory / "saves", **settings)
    seen: list[int] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
        numbers = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1).map(lambda line: int(line))
        sums = numbers.rich_map(0, lambda total, n: (total + n * step, total + n * step))
        (sums.name(name) if name else sums).for_each(seen.append)
        job = ctx.start()
        deadline = time.monotonic() + 120
        while not measured(job.snapshots(), batches - 1) and time.monotonic() < deadline:
            job.wait(0.1)
        job.stop()
        return seen, job.snapshots()


def test_a_job_goes_on_in_another_context(spark: Any, tmp_path: Path) -> None:
    before = spark.conf.get(_KEPT)
    put(tmp_path / "in", 0, 1, 2)
    put(tmp_path / "in", 1, 3)
    seen, snapshots = run(spark, tmp_path, 2)
    assert seen == [1, 3, 6]
    assert [(each.id, each.of) for each in snapshots] == [(0, "for_each"), (1, "for_each")]
    assert snapshots[1].offsets == ({"logOffset": 1},)
    ((title, size),) = snapshots[1].state.items()
    assert title.startswith("rich_map (")
    assert size["entries"] > 0
    assert size["bytes"] > 0
    put(tmp_path / "in", 2, 4)
    assert run(spark, tmp_path, 3)[0] == [10]
    assert run(spark, tmp_path, 3, restart=0)[0] == [6, 10], "the elements after the snapshot are replayed"
    assert run(spark, tmp_path, 3, restart=None)[0] == [1, 3, 6, 10]
    assert spark.conf.get(_KEPT) == before


@pytest.mark.thorough
def test_the_oldest_snapshot_has_all_it_needs(spark: Any, tmp_path: Path) -> None:
    """The log of the source is dropped early, but not before the snapshots that need it."""
    many = 34
    spark.conf.set(_KEPT, 10)  # an earlier job of the session may have asked for more, which stays
    for number in range(many):
        put(tmp_path / "in", number, number)
    snapshots = run(spark, tmp_path, many, keep=15)[1]
    assert [each.id for each in snapshots][-15:] == list(range(many - 15, many))
    (log,) = (tmp_path / "saves").rglob("sources/0")
    assert len(list(log.iterdir())) < many, "nothing was dropped"
    oldest = snapshots[0].id
    seen, _ = run(spark, tmp_path, many, keep=15, restart=oldest)
    assert seen == [sum(range(number + 1)) for number in range(oldest + 1, many)]


def test_a_source_that_is_read_twice_has_snapshots_as_others(spark: Any, tmp_path: Path) -> None:
    """Spark writes its offsets twice, and retains one log of them."""

    def run(**settings: Any) -> tuple[list[int], list[int]]:
        seen: list[int] = []
        snapshots = mo.Snapshots(tmp_path / "saves", **settings)
        with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
            first, other = (
                ctx.stream_file(tmp_path / name, unbounded=True, files_per_batch=1).map(lambda line: int(line))
                for name in ("in", "other")
            )
            first.merge(first.map(lambda n: -n), other).for_each(seen.append)
            job = ctx.start()
            job.catch_up()
            job.stop()
            return sorted(seen), [each.id for each in job.snapshots()]

    for number in range(3):
        put(tmp_path / "in", number, number + 1)
        put(tmp_path / "other", number, 10 * (number + 1))
    assert run() == ([-3, -2, -1, 1, 2, 3, 10, 20, 30], [0, 1, 2])
    put(tmp_path / "other", 1, 200)
    assert run(restart=0) == ([-3, -2, 2, 3, 30, 200], [0, 1, 2])


def test_a_changed_program_is_refused_unless_its_operators_have_names(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    assert run(spark, tmp_path, 1)[0] == [1]
    with pytest.raises(mo.PlanError, match=r"the program has changed: rich_map \(.*\): its function changed"):
        run(spark, tmp_path, 2, step=10)
    with pytest.raises(mo.ConfigError, match="restart is 7: for_each has no such snapshot"):
        run(spark, tmp_path, 2, restart=7)
    with pytest.raises(mo.ConfigError, match="restart is 0: sums has no such snapshot .*; there is none yet"):
        run(spark, tmp_path, 1, name="sums", restart=0)
    assert run(spark, tmp_path, 1, name="sums")[0] == [1], "a stream of another name has other snapshots"
    put(tmp_path / "in", 1, 5)
    assert run(spark, tmp_path, 2, step=10, name="sums")[0] == [51]


def test_a_job_of_which_one_sink_is_refused_does_not_run_at_all(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    (tmp_path / "out").mkdir()
    ctx = mo.StreamContext(spark, config=mo.Config(progress=False))
    lines = ctx.stream_file(tmp_path / "in", unbounded=True)
    channel = lines.collect_channel()
    lines.write_text(str(tmp_path / "out"))
    with pytest.raises(mo.SinkError, match="exists already"):
        ctx.start()
    assert not spark.streams.active
    assert list(channel) in ([], ["1"]), "it has ended"


def test_snapshots_may_be_removed_at_the_end(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    run(spark, tmp_path, 1, clean_on_exit=True)
    assert not list((tmp_path / "saves" / "streams").iterdir())


@pytest.mark.parametrize(("files_per_batch", "snapshots"), [(None, [0, 1, 2]), (2, [0, 1])])
def test_of_a_directory_a_number_of_elements_is_a_file(
    files_per_batch: int | None, snapshots: list[int], spark: Any, tmp_path: Path
) -> None:
    for number in range(3):
        put(tmp_path / "in", number, number, 10)
    saves = mo.Snapshots(tmp_path / "saves", items=2)
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=saves) as ctx:
        seen: list[str] = []
        ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=files_per_batch).for_each(seen.append)
        job = ctx.start()
        job.catch_up()
        job.stop()
        assert [each.id for each in job.snapshots()] == snapshots
    assert seen == ["0", "10", "1", "10", "2", "10"]


# -- several sinks of one query ---------------------------------------------------------------------------------------


def run_several(spark: Any, directory: Path, *sinks: str, **settings: Any) -> Any:
    """Run a job with some of the sinks of one stream; what a function was given, and the snapshots."""
    snapshots = mo.Snapshots(directory / "saves", **settings)
    seen: list[int] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False), snapshots=snapshots) as ctx:
        numbers = ctx.stream_file(directory / "in", unbounded=True, files_per_batch=1).map(lambda line: int(line))
        sums = numbers.rich_map(0, lambda total, n: (total + n, total + n))
        for sink in sinks:
            match sink:
                case "seen":
                    sums.name("seen").for_each(seen.append)
                case "doubled":
                    sums.map(lambda n: n * 2).name("doubled").write_parquet(str(directory / "doubled"))
                case "failing":
                    sums.map(lambda n: n * 3).name("failing").for_each(failing_until_repaired(directory / "repaired"))
                case "files":
                    sums.name("files").write_parquet(str(directory / "files"))
        job = ctx.start()
        try:
            job.catch_up()
        finally:
            queries = len(spark.streams.active)
            job.stop()
        return seen, [(each.of, each.id) for each in job.snapshots()], queries


def failing_until_repaired(mark: Path) -> Any:
    def fail(number: int) -> None:
        if number == 33 and not mark.exists():
            raise ValueError(number)

    return fail


def in_files(directory: Path) -> list[int]:
    tables: list[list[Any]] = [pq.ParquetFile(file).read()["value"].to_pylist() for file in directory.glob("part-*")]
    return sorted(n for table in tables for n in table)


def test_sinks_of_one_query_are_saved_together(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 2)
    put(tmp_path / "in", 1, 3)
    three = ("seen", "files", "doubled")
    seen, saved, queries = run_several(spark, tmp_path, *three)
    assert (seen, queries) == ([1, 3, 6], 1)
    assert saved == [(name, number) for name in sorted(three) for number in (0, 1)]
    put(tmp_path / "in", 2, 4)
    seen, saved, _ = run_several(spark, tmp_path, *reversed(three))
    assert seen == [10], "lines of the program may move"
    assert in_files(tmp_path / "files") == [1, 3, 6, 10]
    put(tmp_path / "in", 1, 5)
    seen, saved, _ = run_several(spark, tmp_path, *three, restart=0)
    assert seen == [8, 12], "the states have gone back to the first micro-batch"
    assert in_files(tmp_path / "files") == [1, 3, 8, 12], "and the files"
    assert in_files(tmp_path / "doubled") == [2, 6, 16, 24]


def test_another_group_of_sinks_is_another_program(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    run_several(spark, tmp_path, "seen", "files")
    with pytest.raises(
        mo.PlanError, match=r"write_parquet cannot .* program has changed: .*seen.*is not there any more"
    ):
        run_several(spark, tmp_path, "files")
    with pytest.raises(mo.PlanError, match=r"for_each cannot .* program has changed: .*files.*is not there any more"):
        run_several(spark, tmp_path, "seen")
    with pytest.raises(mo.PlanError, match=r"program has changed: .*write_parquet \(.*\) is new"):
        run_several(spark, tmp_path, "seen", "files", "doubled")


@pytest.mark.thorough
def test_sinks_that_were_saved_alone_go_on_alone(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    assert run_several(spark, tmp_path, "seen")[0] == [1]
    put(tmp_path / "in", 1, 2)
    seen, _, queries = run_several(spark, tmp_path, "seen", "files")
    assert (seen, queries) == ([3], 2)
    assert in_files(tmp_path / "files") == [1, 3], "a new sink reads from the start"


def test_a_failure_after_some_sinks_were_served(spark: Any, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1)
    put(tmp_path / "in", 1, 10)
    with pytest.raises(mo.ElementError, match="failed on the element 33"):
        run_several(spark, tmp_path, "seen", "files", "failing")
    assert in_files(tmp_path / "files") == [1, 11]
    (tmp_path / "repaired").touch()
    seen, _, _ = run_several(spark, tmp_path, "seen", "files", "failing")
    assert seen == [11], "a function is given the micro-batch again"
    assert in_files(tmp_path / "files") == [1, 11], "files are not written again"


def test_what_was_due_when_a_job_stopped_comes_when_it_goes_on(spark: Any, tmp_path: Path) -> None:
    """The last micro-batch moved the watermark past a window; Spark would give it with the next element."""
    put(tmp_path / "in", 0, 1, 2)
    put(tmp_path / "in", 1, 30)

    def run(restart: Literal["latest"] | int) -> tuple[list[int], list[int]]:
        seen: list[int] = []
        with mo.StreamContext(
            spark, config=mo.Config(progress=False), snapshots=mo.Snapshots(tmp_path / "saves", restart=restart)
        ) as ctx:
            numbers = ctx.stream_file(tmp_path / "in", unbounded=True, files_per_batch=1).map(lambda line: int(line))
            timed = numbers.add_timestamps(lambda n: n, delay=0)
            timed.window_all(mo.EventTimeWindow.tumbling(10)).sum().for_each(seen.append)
            job = ctx.start()
            job.catch_up()
            job.stop()
            return seen, [each.id for each in job.snapshots()]

    assert run("latest") == ([3], [0, 1, 2])
    assert run(1) == ([3], [0, 1, 2]), "the snapshot was made before the window was given"
    assert run("latest") == ([], [0, 1, 2, 3]), "it was given"


def test_a_report_of_a_query_that_waits_does_not_hide_the_next_micro_batch(spark: Any, tmp_path: Path) -> None:
    """Spark gives both the same number."""
    put(tmp_path / "in", 0, 5)
    interval = "spark.sql.streaming.noDataProgressEventInterval"
    before = spark.conf.get(interval)
    spark.conf.set(interval, 50)
    try:
        with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
            lines = ctx.stream_file(tmp_path / "in", unbounded=True)
            lines.group_by_count(lambda line: line).for_each(lambda line, count: None)
            job = ctx.start()
            job.catch_up()
            job.wait(1)
            (first,) = job.metrics()["sinks"]
            put(tmp_path / "in", 1, 5000)
            job.catch_up()
            (second,) = job.metrics()["sinks"]
            job.stop()
    finally:
        spark.conf.set(interval, before)
    assert [sum(state["entries"] for state in each["state"].values()) for each in (first, second)] == [1, 2]
