"""Files of sources on every engine: headers, rows that are skipped, and the table of docs/guide/files.md."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.test_source import Pair, write


class Note(NamedTuple):
    a: int
    b: str | None


def put(directory: Path, number: int, text: str) -> None:
    """A file that is read after those with a smaller number."""
    directory.mkdir(exist_ok=True)
    hidden = directory / f"_{number}"
    hidden.write_text(text, "utf-8")
    os.utime(hidden, (number + 1, number + 1))
    hidden.rename(directory / f"{number}.csv")


def followed(ctx: mo.StreamContext, read: Callable[[], Any], puts: Callable[[], Any]) -> tuple[list[Any], Any]:
    """The elements and the metrics of a job that follows a directory, into which files are put after its start."""
    seen: list[Any] = []
    read().for_each(seen.append)
    job = ctx.start()
    try:
        puts()
        job.catch_up()
        return seen, job.metrics()
    finally:
        job.stop()


# -- headers ---------------------------------------------------------------------------------------------------------


def test_stream_csv_each_file_has_its_own_header(ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, "a,b\n1,2\n")
    put(tmp_path / "in", 1, "b,a\n3,4\n")
    put(tmp_path / "in", 2, "b,more,a\n5,x,6\n")
    rows = ctx.stream_csv(tmp_path / "in", Pair)
    assert rows.collect() == [Pair(1, 2), Pair(4, 3), Pair(6, 5)]
    assert rows.map(lambda row: row.a).collect() == [1, 4, 6]


@pytest.mark.jvm
@pytest.mark.unbounded
def test_stream_csv_follows_a_directory_that_is_empty_at_first(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    directory = tmp_path / "in"
    directory.mkdir()

    def puts() -> None:
        put(directory, 0, "b,a\n3,4\n")
        put(directory, 1, "a,b\n1,2\n")

    seen, _ = followed(spark_ctx, lambda: spark_ctx.stream_csv(directory, Pair, unbounded=True), puts)
    assert seen == [Pair(4, 3), Pair(1, 2)]


# -- skipped rows ----------------------------------------------------------------------------------------------------

CSV = "a,b\n1,x\ny,z\n2,\n3\n4,5,6\n5,w\n"
JSON = '{"a": 1, "b": "x"}\n{"a": "y", "b": "z"}\n{"a": 2}\n{broken\n{"b": "w"}\n{"a": 5, "b": "w"}\n'


@pytest.mark.parametrize(("kind", "text"), [("csv", CSV), ("json", JSON)], ids=["csv", "json"])
def test_a_row_is_skipped_whatever_is_read_of_it(
    kind: str, text: str, ctx: mo.StreamContext, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, f"t.{kind}", text)
    read = ctx.stream_csv if kind == "csv" else ctx.stream_json
    rows = read(path, Note, on_error="skip")
    assert rows.map(lambda row: row.b).collect() == ["x", None, "w"]
    assert ctx.metrics()["skipped"] == {rows._node.title: 3}
    assert f"{rows._node.title}: 3 elements skipped ({path}, line" in capfd.readouterr().err
    assert rows.collect() == [Note(1, "x"), Note(2, None), Note(5, "w")]
    assert ctx.metrics()["skipped"] == {rows._node.title: 3}
    others = read(path, Note, on_error="skip")
    assert others.map(lambda row: row.a).collect() == [1, 2, 5]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("csv", "a,b\n1,x\ny,z\n5,w\n"), ("json", '{"a": 1, "b": "x"}\n{"a": "y", "b": "z"}\n{"a": 5, "b": "w"}\n')],
    ids=["csv", "json"],
)
def test_a_row_is_skipped_because_of_a_field_that_is_not_read(
    kind: str, text: str, ctx: mo.StreamContext, tmp_path: Path
) -> None:
    """No row has a fault but in this field, so that nothing else makes Spark look at it."""
    path = write(tmp_path, f"t.{kind}", text)
    rows = (ctx.stream_csv if kind == "csv" else ctx.stream_json)(path, Note, on_error="skip")
    assert rows.map(lambda row: row.b).collect() == ["x", "w"]
    assert list(ctx.metrics()["skipped"].values()) == [1]
    assert rows.count().collect() == [2]


@pytest.mark.jvm
@pytest.mark.unbounded
def test_skipped_rows_of_a_followed_directory_are_counted(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, "a,b\n1,x\n")

    def read() -> mo.Stream[Any]:
        return spark_ctx.stream_csv(tmp_path / "in", Note, on_error="skip", unbounded=True).map(lambda row: row.b)

    seen, metrics = followed(spark_ctx, read, lambda: put(tmp_path / "in", 1, CSV))
    assert seen == ["x", "x", None, "w"]
    assert list(metrics["skipped"].values()) == [3]


def test_for_each_gets_no_row_twice_if_spark_cannot_read_a_later_file(ctx: mo.StreamContext, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, "a,b\n1,2\n3,4\n")
    put(tmp_path / "in", 1, "b,a\n5,6\n")
    seen: list[Any] = []
    ctx.stream_csv(tmp_path / "in", Pair).for_each(seen.append)
    ctx.execute()
    assert seen == [Pair(1, 2), Pair(3, 4), Pair(6, 5)]
