"""Unbounded jobs: followed directories, rates, and what a Job tells."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import morisot as mo
from tests.operators.engines import Runner, last_by_key


def until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def test_stream_rate_through_a_channel(spark_ctx: mo.StreamContext) -> None:
    channel = spark_ctx.stream_rate(200).filter(lambda n: n % 2 == 0).map(lambda n: n * 10).collect_channel()
    job = spark_ctx.start()
    try:
        assert sorted(channel.get(timeout=60) for _ in range(5)) == [0, 20, 40, 60, 80]
    finally:
        job.stop()
    assert not job.running
    assert job.exception() is None


def test_followed_directory_word_count(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b a\n")
    counts: dict[str, int] = {}
    words = spark_ctx.stream_file(tmp_path, unbounded=True).flat_map(lambda line: line.lower().split())
    words.group_by_count(lambda word: word).for_each(counts.__setitem__)
    job = spark_ctx.start()
    try:
        until(lambda: counts == {"a": 2, "b": 1})
        (tmp_path / "two.txt").write_text("b C\n")
        until(lambda: counts == {"a": 2, "b": 2, "c": 1})
        until(lambda: job.metrics()["elements_in"] == 2)
        assert job.metrics()["sinks"][0]["sink"] == "for_each"
        assert job.metrics()["elements_out"] == 4
        assert not job.wait(0.01)
    finally:
        job.stop()


def test_write_parquet_unbounded(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "a.txt").write_text("1\n22\n")
    spark_ctx.stream_file(source, unbounded=True).map(lambda t: (t, len(t))).write_parquet(str(out))
    with spark_ctx:
        job = spark_ctx.start()
        until(lambda: job.metrics()["elements_in"] == 2)
        rows = [row for file in out.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
        assert sorted(row["_1"] for row in rows) == [1, 2]
    assert not job.running


def test_write_parquet_of_running_counts(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    (source / "a.txt").write_text("x\ny\nx\n")
    spark_ctx.stream_file(source, unbounded=True).group_by_count(lambda t: t).write_parquet(str(out))
    job = spark_ctx.start()
    try:
        until(lambda: job.metrics()["elements_in"] == 3)
    finally:
        job.stop()
    rows = [row for file in out.glob("batch=*/*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]
    assert sorted((row["key"], row["value"]) for row in rows) == [("x", 2), ("y", 1)]


def test_failing_stage_is_an_element_error(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\nboom\n")
    channel = spark_ctx.stream_file(tmp_path, unbounded=True).map(lambda t: complex(t)).collect_channel()
    job = spark_ctx.start()
    with pytest.raises(mo.ElementError, match=r"map at .*test_unbounded.py:\d+ failed on the element 'boom'") as caught:
        job.wait(60)
    assert isinstance(caught.value.__cause__, ValueError)
    assert "py4j" not in str(caught.value).lower()
    assert job.exception() is caught.value
    with pytest.raises(mo.ElementError, match="failed on the element 'boom'"):
        channel.get()  # the reader gets the error


def test_failing_column_is_what_python_raises(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("4\n0\n")
    spark_ctx.stream_file(tmp_path / "in", unbounded=True).map(lambda t: 8 // int(t)).write_parquet(
        str(tmp_path / "out")
    )
    job = spark_ctx.start()
    with pytest.raises(mo.ElementError, match="failed on the element '0': ZeroDivisionError"):
        job.wait(60)


def test_column_that_cannot_do_a_value_goes_on_in_python(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{2**62}\n")
    seen: list[int] = []
    spark_ctx.stream_file(tmp_path, unbounded=True).map(lambda t: int(t) * 4 - int(t) * 3).for_each(seen.append)
    job = spark_ctx.start()
    try:
        until(lambda: seen == [2**62] or job.wait(0.1))
    finally:
        job.stop()


def test_failing_for_each(spark_ctx: mo.StreamContext) -> None:
    spark_ctx.stream_rate(50).for_each(lambda n: 1 // 0)
    job = spark_ctx.start()
    with pytest.raises(mo.ElementError, match="for_each at .* failed on the element 0: ZeroDivisionError"):
        job.wait(60)


def test_a_full_channel_does_not_keep_a_job_from_stopping(spark_ctx: mo.StreamContext) -> None:
    channel = spark_ctx.stream_rate(1000).collect_channel(capacity=3)
    job = spark_ctx.start()
    channel.get(timeout=60)
    job.stop()
    assert not job.running


def test_unbounded_collect_and_execute_are_refused(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_rate(10)
    for sink in ("collect", "to_arrow", "to_pandas"):
        with pytest.raises(mo.PlanError, match=rf"{sink} on an unbounded stream would never end.*\n.*collect_channel"):
            getattr(numbers, sink)()
    with pytest.raises(mo.PlanError, match="collect_vec cannot run on unbounded input"):
        numbers.collect_vec()
    numbers.for_each(print)
    with pytest.raises(mo.PlanError, match=r"for_each on an unbounded stream never ends.*\n.*ctx.start"):
        spark_ctx.execute()


def test_bounded_sinks_may_be_started_too(spark_ctx: mo.StreamContext) -> None:
    output = spark_ctx.stream_iter([1, 2]).map(lambda n: n + 1).collect_vec()
    job = spark_ctx.start()
    assert job.wait(60)
    assert output.get() == [2, 3]


def test_following_needs_a_directory(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.SourceError, match="follows a directory"):
        spark_ctx.stream_file(tmp_path / "missing", unbounded=True)


def test_unbounded_runs_are_not_for_the_reference_engine() -> None:
    ctx = mo.StreamContext(engine="reference")
    ctx.stream_rate(5).for_each(print)
    with pytest.raises(mo.PlanError, match="no running jobs"):
        ctx.start()


def test_what_would_differ_after_a_running_aggregate_is_refused(spark_ctx: mo.StreamContext) -> None:
    counts = spark_ctx.stream_rate(10).group_by_count(lambda n: n % 2)
    for build in (
        lambda: counts.filter(lambda k, n: n == 1),
        lambda: counts.flat_map(lambda k, n: [n, n]),
        lambda: counts.drop_key(),
        lambda: counts.keys(),
        lambda: counts.count(),
        lambda: counts.unkey().map(lambda p: p[1]),
    ):
        with pytest.raises(mo.PlanError, match="cannot follow an aggregate on unbounded input"):
            build()
    assert counts.map(lambda k, n: n * 2).unkey() is not None


def test_unbounded_write_modes(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    out.mkdir()
    (out / "old.csv").write_text("old\n")
    (source / "a.txt").write_text("1\n22\n")
    lines = spark_ctx.stream_file(source, unbounded=True).map(lambda t: (t, len(t)))
    with pytest.raises(mo.PlanError, match="cannot append to a directory while a stream runs"):
        lines.write_csv(str(out), mode="append")
    lines.write_csv(str(out))
    with pytest.raises(mo.SinkError, match="exists already"):
        spark_ctx.start()
    lines.write_csv(str(out), mode="overwrite", delimiter=";")
    job = spark_ctx.start()
    try:
        until(lambda: job.metrics()["elements_out"] == 2)
    finally:
        job.stop()
    text = "".join(file.read_text() for file in out.glob("*.csv"))
    assert "22;2" in text
    assert "old" not in text


def test_bounded_channel_of_a_started_job_ends(spark_ctx: mo.StreamContext) -> None:
    channel = spark_ctx.stream_iter(range(20)).collect_channel(capacity=3)
    spark_ctx.start()
    assert list(channel) == list(range(20))


def test_untyped_keys_are_counted_on_unbounded_input(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\nyy\nz\n")
    counts: dict[Any, int] = {}
    lines = spark_ctx.stream_file(tmp_path, unbounded=True).map(lambda t: frozenset({len(t), len(t) * 1.0}))
    lines.group_by_count(lambda lengths: lengths).for_each(counts.__setitem__)
    job = spark_ctx.start()
    try:
        until(lambda: counts == {frozenset({1}): 2, frozenset({2}): 1} or job.wait(0.1))
    finally:
        job.stop()


AGGREGATES = {
    "fold": lambda keyed: keyed.fold(7, lambda a, n: a * 31 + n),
    "reduce": lambda keyed: keyed.reduce(lambda a, b: a - b),
    "fold_assoc": lambda keyed: keyed.fold_assoc([], lambda a, n: [*a, n], lambda a, b: a + b),
    "reduce_assoc": lambda keyed: keyed.reduce_assoc(lambda a, b: a + b),
    "count": lambda keyed: keyed.count(),
}


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_last_running_value_of_a_key_is_the_bounded_answer(name: str, unbounded_runner: Runner) -> None:
    numbers = [3, 1, 4, 1, 5, 9, 2, 6]

    def program(stream: mo.Stream[int]) -> Any:
        return AGGREGATES[name](stream.group_by(lambda n: n % 3))

    expected = program(mo.StreamContext(engine="reference").stream_iter(numbers)).collect()
    result = unbounded_runner.run(program, numbers)
    assert sorted(last_by_key(result)) == sorted(expected)


@pytest.mark.parametrize(
    "program",
    [
        lambda s: s.group_by_sum(lambda n: n % 3, lambda n: n),
        lambda s: s.group_by_avg(lambda n: n % 3, lambda n: n),
        lambda s: s.group_by_min_element(lambda n: n % 3, lambda n: -n),
        lambda s: s.group_by_max_element(lambda n: n % 3, lambda n: -n),
    ],
    ids=["sum", "avg", "min_element", "max_element"],
)
def test_shortcuts_give_running_values(program: Any, unbounded_runner: Runner) -> None:
    numbers = [3, 1, 4, 1, 5, 9, 2, 6]
    expected = program(mo.StreamContext(engine="reference").stream_iter(numbers)).collect()
    result = unbounded_runner.run(program, numbers)
    assert sorted(last_by_key(result)) == sorted(expected)


@pytest.mark.partitions
def test_a_fold_without_keys_sees_the_stream_in_order(unbounded_runner: Runner) -> None:
    result = unbounded_runner.run(lambda s: s.fold("", lambda text, n: text + str(n)), [3, 1, 4, 1, 5])
    assert result[-1] == "31415"


def test_unique_by_gives_each_key_once_and_operators_may_follow(unbounded_runner: Runner) -> None:
    result = unbounded_runner.run(
        lambda s: s.unique_by(lambda n: n % 3).filter(lambda n: n > 1).map(lambda n: n * 10), [3, 1, 4, 2]
    )
    assert result == [30, 20]


def test_a_sum_beyond_64_bits_on_the_way_is_repaired(unbounded_runner: Runner) -> None:
    result = unbounded_runner.run(
        lambda s: s.group_by_sum(lambda n: 0, lambda n: n), [2**62, 2**62, -(2**62), -(2**62), 1, 2, 3, 4]
    )
    assert result[-1] == (0, 10)


def test_explain_says_where_a_running_fold_keeps_its_state(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_rate(1).group_by(lambda n: n % 2).fold(0, lambda a, n: a + n)
    (form,) = [each for each in stream.forms() if each.operator == "fold"]
    assert form.form == "stage"
    assert "its state is in Python" in form.reason


@pytest.mark.jvm
def test_what_depends_on_the_order_of_merged_streams_is_refused(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_rate(5)
    merged = numbers.merge(numbers.map(lambda n: -n))
    for program in (
        lambda: merged.rich_map(0, lambda a, n: (n, a)),
        lambda: merged.map(lambda n: n + 1).fold(0, lambda a, n: a * 31 + n),
        lambda: merged.group_by(lambda n: n % 3).window(mo.CountWindow.tumbling(2)).sum(),
        lambda: merged.limit(3),
    ):
        with pytest.raises(mo.PlanError, match=r"cannot follow merge \(.*\) on unbounded input(.|\n)*reorder\(\)"):
            program()
    timed = [stream.add_timestamps(lambda n: n, delay="1s") for stream in (numbers, numbers.map(lambda n: -n))]
    timed[0].merge(timed[1]).reorder().rich_map(0, lambda a, n: (n, a))
    merged.fold(0, lambda a, n: a + n)
    merged.unique()
    merged.group_by_sum(lambda n: n % 3, lambda n: n)
    merged.fold_assoc(0, lambda a, n: max(a, n), lambda a, b: max(a, b))
