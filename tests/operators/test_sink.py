"""Sinks on every engine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.api.output import NotRunYet


class Point(NamedTuple):
    x: int
    name: str | None


POINTS = [Point(1, "a"), Point(2, None), Point(3, 'say "hi", ok')]


def lines_of(directory: Path) -> list[str]:
    files = sorted(file for file in directory.iterdir() if file.name.startswith("part-"))
    return [line for file in files for line in file.read_text().splitlines()]


def test_several_sinks_run_together(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2, 3])
    doubled, how_many, seen = numbers.map(lambda n: n * 2).collect_vec(), numbers.collect_count(), list[int]()
    numbers.for_each(seen.append)
    ctx.execute()
    assert (doubled.get(), how_many.get(), seen) == ([2, 4, 6], 3, [1, 2, 3])


def test_several_sinks_read_the_source_once(ctx: mo.StreamContext, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def note(n: int, file: str = str(log)) -> int:
        with open(file, "a") as lines:
            lines.write(f"{n}\n")
        return n

    numbers = ctx.stream_iter([1, 2, 3]).map(note, returns=int)
    sums, counts = numbers.group_by_sum(lambda n: n % 2, lambda n: n).collect_vec(), numbers.collect_count()
    everything = numbers.collect_vec()
    ctx.execute()
    assert sorted(sums.get()) == [(0, 2), (1, 4)]
    assert counts.get() == 3
    assert everything.get() == [1, 2, 3]
    assert sorted(log.read_text().split()) == ["1", "2", "3"]


def persistent(ctx: mo.StreamContext) -> set[int]:
    """The numbers of what Spark keeps; other tests of the process may have left something to its garbage collector."""
    return set(ctx.spark.sparkContext._jsc.getPersistentRDDs().keySet())


def test_what_is_kept_for_several_sinks_is_released(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_iter([1, 2, 3]).map(lambda n: [n, {n}])
    numbers.collect_count()
    before = persistent(spark_ctx)
    kept: list[int] = []
    numbers.for_each(lambda n: kept.append(len(persistent(spark_ctx) - before)))
    spark_ctx.execute()
    assert set(kept) == {1}
    assert not persistent(spark_ctx) - before


def test_output_before_the_run_is_an_error(ctx: mo.StreamContext) -> None:
    output = ctx.stream_iter([1]).collect_vec()
    with pytest.raises(NotRunYet, match=r"run it with ctx.execute\(\)"):
        output.get()
    ctx.execute()
    assert output.get() == [1]


def test_collect_count_of_nothing_is_zero(ctx: mo.StreamContext) -> None:
    count = ctx.stream_iter([1]).filter(lambda n: n > 1).collect_count()
    ctx.execute()
    assert count.get() == 0


def test_collect_channel_bounded(ctx: mo.StreamContext) -> None:
    channel = ctx.stream_iter([1, 2, 3]).collect_channel()
    ctx.execute()
    assert list(channel) == [1, 2, 3]


def test_for_each_on_a_keyed_stream_takes_key_and_value(ctx: mo.StreamContext) -> None:
    seen: list[Any] = []
    ctx.stream_iter([1, 2]).group_by(lambda n: n % 2).for_each(lambda key, value: seen.append((key, value)))
    ctx.execute()
    assert seen == [(1, 1), (0, 2)]


def test_for_each_failure_is_an_element_error(ctx: mo.StreamContext) -> None:
    ctx.stream_iter([1, 0]).for_each(lambda n: 1 // n)
    with pytest.raises(mo.ElementError, match=r"for_each at .*test_sink.py:\d+ failed on the element 0: ZeroDivision"):
        ctx.execute()


def test_execute_without_sinks(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="nothing to execute"):
        ctx.execute()


def test_sinks_that_never_ran_are_said_at_the_end(ctx: mo.StreamContext) -> None:
    with pytest.warns(UserWarning, match=r"never run.*collect_vec \(.*test_sink.py"), ctx:
        ctx.stream_iter([1]).collect_vec()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ctx.close()


def test_write_text(ctx: mo.StreamContext, tmp_path: Path) -> None:
    ctx.stream_iter(["a", "", "ß"]).write_text(str(tmp_path / "out"))
    ctx.execute()
    assert lines_of(tmp_path / "out") == ["a", "", "ß"]
    assert ctx.stream_file(tmp_path / "out").collect() == ["a", "", "ß"]


def test_write_text_of_something_else_is_refused(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.PlanError, match="write_text writes str elements, not int"):
        ctx.stream_iter([1]).write_text(str(tmp_path / "out"))


@pytest.mark.parametrize("format_", ["csv", "json", "parquet"])
def test_what_is_written_reads_back(ctx: mo.StreamContext, tmp_path: Path, format_: str) -> None:
    path = str(tmp_path / "out")
    getattr(ctx.stream_iter(POINTS), f"write_{format_}")(path)
    ctx.execute()
    assert sorted(getattr(ctx, f"stream_{format_}")(path, Point).collect()) == sorted(POINTS, key=lambda p: p.x)


def test_write_parquet_names_the_columns(ctx: mo.StreamContext, tmp_path: Path) -> None:
    ctx.stream_iter([(1, "a"), (2, "b")]).group_by(lambda p: p[0]).write_parquet(str(tmp_path / "out"))
    ctx.execute()
    read = pa.concat_tables(pq.read_table(file) for file in sorted((tmp_path / "out").glob("*.parquet")))
    assert read.to_pylist() == [{"key": 1, "value": {"_0": 1, "_1": "a"}}, {"key": 2, "value": {"_0": 2, "_1": "b"}}]


def test_writing_where_something_is(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    ctx.stream_iter(["a"]).write_text(path)
    ctx.execute()
    ctx.stream_iter(["b"]).write_text(path)
    with pytest.raises(mo.SinkError, match=r"write_text \(.*test_sink.py:\d+\): .* exists already"):
        ctx.execute()
    ctx.stream_iter(["c"]).write_text(path, mode="append")
    ctx.execute()
    assert sorted(lines_of(tmp_path / "out")) == ["a", "c"]
    ctx.stream_iter(["d"]).write_text(path, mode="overwrite")
    ctx.execute()
    assert lines_of(tmp_path / "out") == ["d"]


def test_write_csv_of_nested_values_is_refused(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.PlanError, match="a CSV field holds one plain value"):
        ctx.stream_iter([(1, [2])]).write_csv(str(tmp_path / "out"))


def test_untyped_elements_are_refused_by_tables(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"to_arrow needs elements with a type.*\n.*returns="):
        ctx.stream_iter([1]).map(lambda n: {n}).to_arrow()


def test_to_arrow_and_pandas(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(POINTS)
    assert stream.to_arrow().to_pylist() == [point._asdict() for point in POINTS]
    assert stream.map(lambda p: p.x).to_pandas()["value"].tolist() == [1, 2, 3]


def test_to_dataframe(spark_ctx: mo.StreamContext) -> None:
    df = spark_ctx.stream_iter(POINTS).filter(lambda p: p.x > 1).to_dataframe()
    assert df.columns == ["x", "name"]
    assert [tuple(row) for row in df.collect()] == POINTS[1:]


def test_channel_larger_than_its_capacity(ctx: mo.StreamContext) -> None:
    channel = ctx.stream_iter([1, 2, 3]).collect_channel(capacity=1)
    ctx.execute()
    assert list(channel) == [1, 2, 3]


def test_writing_goes_on_in_python_where_a_column_fails(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    spark_ctx.stream_iter([2**62, 1]).map(lambda n: n * 4 - n * 3).write_parquet(str(tmp_path / "out"))
    spark_ctx.execute()
    read = pa.concat_tables(pq.read_table(file) for file in sorted((tmp_path / "out").glob("*.parquet")))
    values: list[Any] = read["value"].to_pylist()
    assert sorted(values) == [1, 2**62]


def test_a_failed_overwrite_leaves_what_was_there(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    spark_ctx.stream_iter(["old"]).write_text(path)
    spark_ctx.execute()
    spark_ctx.stream_iter([1, 0]).map(lambda n: str(1 // n)).write_text(path, mode="overwrite")
    with pytest.raises(mo.ElementError):
        spark_ctx.execute()
    assert spark_ctx.stream_file(path).collect() == ["old"]
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_several_folds_run_the_functions_before_them_once(ctx: mo.StreamContext, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def note(n: int, file: str = str(log)) -> float:
        with open(file, "a") as lines:
            lines.write(f"{n}\n")
        return n / 2

    halves = ctx.stream_iter([1, 2, 3]).map(note)
    total = halves.reduce_assoc(lambda a, b: a + b).collect_vec()
    texts = halves.fold_assoc("", lambda a, x: a + str(x), lambda a, b: a + b).collect_vec()
    ctx.execute()
    assert total.get() == [3.0]
    assert texts.get() == ["0.51.01.5"]
    assert sorted(log.read_text().split()) == ["1", "2", "3"]


def test_queries_over_what_is_kept_read_it_from_there(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    file = tmp_path / "numbers.txt"
    file.write_text("".join(f"{n}\n" for n in range(9)))
    numbers = spark_ctx.stream_file(file).map(lambda line: int(line))
    even, odd = numbers.filter(lambda n: n % 2 == 0), numbers.filter(lambda n: n % 2 == 1)
    merged = even.merge(odd)
    assert spark_ctx.engine.spark_plan(merged._node).split("== Physical Plan ==")[1].count("InMemoryTableScan") == 2
    assert sorted(merged.collect()) == list(range(9))
