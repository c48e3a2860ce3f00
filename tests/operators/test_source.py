"""Sources on every engine."""

from __future__ import annotations

import datetime
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo


class Trip(NamedTuple):
    city: str
    miles: int
    cost: float | None
    shared: bool = False


@dataclass(frozen=True)
class Event:
    name: str
    at: datetime.datetime
    day: datetime.date
    tags: list[str]


@dataclass(frozen=True)
class Pair:
    a: int
    b: int


def write(directory: Path, name: str, text: str) -> str:
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".gz"):
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_bytes(text.encode())
    return str(file)


# -- iterables --------------------------------------------------------------------------------------------------------


def test_stream_iter_reads_a_generator_once(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(n * n for n in range(4))
    assert stream.collect() == stream.collect() == [0, 1, 4, 9]


def test_stream_iter_empty(ctx: mo.StreamContext) -> None:
    assert ctx.stream_iter([]).map(lambda x: x + 1).collect() == []


def test_stream_iter_needs_an_iterable(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"stream_iter needs an iterable, not 5 \(.*test_source.py:\d+\)"):
        ctx.stream_iter(5)  # type: ignore[arg-type]


def test_stream_par_iter_range(ctx: mo.StreamContext) -> None:
    assert ctx.stream_par_iter(range(10, 0, -3)).collect() == [10, 7, 4, 1]


def test_stream_par_iter_generator(ctx: mo.StreamContext) -> None:
    def numbers(instance: int, instances: int) -> Iterator[int]:
        yield from range(instance, 10, instances)

    stream = ctx.stream_par_iter(numbers)
    assert str(stream.type) == "int"
    assert sorted(stream.map(lambda n: n + 1).collect()) == list(range(1, 11))


def test_stream_par_iter_beyond_64_bits_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="beyond 64 bits"):
        ctx.stream_par_iter(range(2**63, 2**63 + 2))


# -- text -------------------------------------------------------------------------------------------------------------


def test_stream_file_lines(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", "one\r\n\ntwo ßé😀\nlast without newline")
    assert ctx.stream_file(path).collect() == ["one", "", "two ßé😀", "last without newline"]


def test_stream_file_gzip(ctx: mo.StreamContext, tmp_path: Path) -> None:
    assert ctx.stream_file(write(tmp_path, "a.txt.gz", "one\ntwo\n")).collect() == ["one", "two"]


def test_stream_file_glob_and_directory_in_the_order_of_paths(ctx: mo.StreamContext, tmp_path: Path) -> None:
    write(tmp_path, "books/b.txt", "long line " * 50 + "\n")
    write(tmp_path, "books/a.txt", "a\n")
    write(tmp_path, "books/c.txt.gz", "c1\nc2\n")
    write(tmp_path, "books/_hidden", "x\n")
    write(tmp_path, "books/.also", "x\n")
    expected = ["a", "long line " * 50, "c1", "c2"]
    assert ctx.stream_file(tmp_path / "books").collect() == expected
    assert ctx.stream_file(f"{tmp_path}/books/*.txt").collect() == expected[:2]


def test_stream_file_missing(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.SourceError, match=r"stream_file \(.*test_source.py:\d+\) finds no file at"):
        ctx.stream_file(tmp_path / "nothing*.txt")


# -- CSV --------------------------------------------------------------------------------------------------------------


def test_stream_csv(ctx: mo.StreamContext, tmp_path: Path) -> None:
    text = 'city,miles,cost,shared\nRoma,3,1.5,true\n"a, ""b""",-4,,FALSE\n,0,2e3,true\n'
    assert ctx.stream_csv(write(tmp_path, "t.csv", text), Trip).collect() == [
        Trip("Roma", 3, 1.5, True),
        Trip('a, "b"', -4, None, False),
        Trip("", 0, 2000.0, True),
    ]


def test_stream_csv_columns_by_name_whatever_their_order(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "B;extra;A\n1;x;2\n3;y;4\n")
    assert ctx.stream_csv(path, Pair, delimiter=";").collect() == [Pair(2, 1), Pair(4, 3)]


def test_stream_csv_without_header(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "1,2\r\n3,4\r\n")
    assert ctx.stream_csv(path, Pair, header=False).collect() == [Pair(1, 2), Pair(3, 4)]


def test_stream_csv_header_that_does_not_fit(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.SourceError, match="has the fields a, b, which the table has not; its columns are x, y, z"):
        ctx.stream_csv(write(tmp_path, "t.csv", "x,y,z\n1,2,3\n"), Pair).collect()


@pytest.mark.parametrize("row", ["x,2", "1,2,3", "1", "1,", "1.5,2"])
def test_stream_csv_bad_row_names_file_and_row(ctx: mo.StreamContext, tmp_path: Path, row: str) -> None:
    path = write(tmp_path, "t.csv", f"a,b\n1,2\n{row}\n5,6\n")
    with pytest.raises(mo.SourceError, match=r"stream_csv \(.*test_source.py:\d+\): a row does not fit Pair") as caught:
        ctx.stream_csv(path, Pair).collect()
    assert "t.csv" in str(caught.value)
    assert "line 3" in str(caught.value)
    assert re.search(re.escape(row.split(",", maxsplit=1)[0]), str(caught.value))


def test_stream_csv_bad_row_skipped_and_counted(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "a,b\n1,2\nx,2\n5,6\n7\n")
    stream = ctx.stream_csv(path, Pair, on_error="skip")
    assert stream.collect() == [Pair(1, 2), Pair(5, 6)]
    assert ctx.metrics()["skipped"] == {f"stream_csv ({stream._node.location})": 2}


def test_stream_csv_needs_a_record(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.PlanError, match="needs a dataclass or NamedTuple"):
        ctx.stream_csv(write(tmp_path, "t.csv", "a\n1\n"), dict)


# -- JSON -------------------------------------------------------------------------------------------------------------


def test_stream_json(ctx: mo.StreamContext, tmp_path: Path) -> None:
    row = {"name": "x", "at": "2024-02-29T10:20:30.000005", "day": "2024-02-29", "tags": ["a", "b"], "more": 1}
    path = write(tmp_path, "t.json", json.dumps(row) + "\n\n")
    moment = datetime.datetime(2024, 2, 29, 10, 20, 30, 5)
    assert ctx.stream_json(path, Event).collect() == [Event("x", moment, moment.date(), ["a", "b"])]


def test_stream_json_types_from_the_file(ctx: mo.StreamContext, tmp_path: Path) -> None:
    path = write(tmp_path, "t.json", '{"n": 1, "s": "a"}\n{"n": 2}\n')
    rows = ctx.stream_json(path)
    assert rows.map(lambda r: r.s).collect() == ["a", None]
    assert rows.collect()[0].n == 1


@pytest.mark.parametrize("row", ['{"a": "x", "b": 1}', "{broken", '{"a": 1}'])
def test_stream_json_bad_row(ctx: mo.StreamContext, tmp_path: Path, row: str) -> None:
    path = write(tmp_path, "t.json", f'{{"a": 1, "b": 2}}\n{row}\n')
    with pytest.raises(mo.SourceError, match="a row does not fit Pair") as caught:
        ctx.stream_json(path, Pair).collect()
    assert "t.json" in str(caught.value)
    assert ctx.stream_json(path, Pair, on_error="skip").collect() == [Pair(1, 2)]


# -- tables -----------------------------------------------------------------------------------------------------------


def table() -> pa.Table:
    return pa.table(
        {
            "city": ["Roma", "Paris"],
            "miles": pa.array([1, 2], pa.int32()),
            "cost": [1.5, None],
            "shared": [True, False],
        }
    )


def test_stream_parquet(ctx: mo.StreamContext, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    assert ctx.stream_parquet(tmp_path / "t.parquet", Trip).collect() == [
        Trip("Roma", 1, 1.5, True),
        Trip("Paris", 2, None, False),
    ]
    rows = ctx.stream_parquet(tmp_path / "t.parquet")
    assert rows.map(lambda row: row.miles + 1).collect() == [2, 3]


def test_stream_parquet_null_where_the_record_has_none(ctx: mo.StreamContext, tmp_path: Path) -> None:
    class Strict(NamedTuple):
        cost: float

    pq.write_table(table(), tmp_path / "t.parquet")
    with pytest.raises(mo.SourceError, match="cost"):
        ctx.stream_parquet(tmp_path / "t.parquet", Strict).collect()


def test_stream_parquet_missing_field(ctx: mo.StreamContext, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    with pytest.raises(mo.SourceError, match="has the fields a, b, which the table has not"):
        ctx.stream_parquet(tmp_path / "t.parquet", Pair).collect()


def test_stream_arrow(ctx: mo.StreamContext) -> None:
    nested = pa.table({"p": [{"x": 1, "y": "a"}], "l": [[1, 2]], "d": [datetime.date(2020, 1, 2)]})
    (row,) = ctx.stream_arrow(nested).collect()
    assert (row.p.x, row.p.y, row.l, row.d) == (1, "a", [1, 2], datetime.date(2020, 1, 2))


def test_stream_dataframe(spark_ctx: mo.StreamContext) -> None:
    df = spark_ctx.spark.sql("SELECT 1 AS n, named_struct('x', 2, 'y', 'a') AS p, timestamp'2020-01-01 10:00:00' AS t")
    (row,) = spark_ctx.stream_dataframe(df).collect()
    assert (row.n, row.p.x, row.p.y, row.t) == (1, 2, "a", datetime.datetime(2020, 1, 1, 10))


def test_stream_dataframe_column_names_that_are_no_identifiers(spark_ctx: mo.StreamContext) -> None:
    df = spark_ctx.spark.sql("SELECT 1 AS `a b`, 2 AS `c.d`")
    assert spark_ctx.stream_dataframe(df).map(lambda row: row[0] + row[1]).collect() == [3]


def test_stream_dataframe_needs_spark() -> None:
    reference: Any = mo.StreamContext(engine="reference")
    with pytest.raises(mo.PlanError, match="needs Spark"):
        reference.stream_dataframe(object())


def test_stream_rate_must_be_positive(spark_ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="cannot emit 0 elements a second"):
        spark_ctx.stream_rate(0)


def test_columns_are_not_taken_by_place_when_some_names_fit(ctx: mo.StreamContext, tmp_path: Path) -> None:
    with pytest.raises(mo.SourceError, match="has the field a, which the table has not; its columns are b, c"):
        ctx.stream_csv(write(tmp_path, "t.csv", "b,c\n1,2\n"), Pair).collect()


def test_columns_are_taken_by_place_when_no_name_says_otherwise(ctx: mo.StreamContext, tmp_path: Path) -> None:
    assert ctx.stream_csv(write(tmp_path, "t.csv", "a,other\n1,2\n"), Pair).collect() == [Pair(1, 2)]
    assert ctx.stream_csv(write(tmp_path, "u.csv", "x,y\n1,2\n"), Pair).collect() == [Pair(1, 2)]


class Everything(NamedTuple):
    a: int | None
    b: datetime.datetime | None
    c: list[datetime.datetime]
    d: dict[str, float]
    e: tuple[int, str] | None


@pytest.mark.parametrize(
    "element",
    [
        None,
        1.5,
        "x",
        b"q",
        True,
        datetime.date(2024, 1, 1),
        datetime.datetime(2024, 1, 1, 12),
        (1, "a"),
        [1, 2],
        {"a": 1.0},
        Everything(None, datetime.datetime(1960, 1, 1), [datetime.datetime(2024, 1, 1)], {"a": 1.0}, (1, "b")),
        {1, 2},
    ],
)
def test_elements_come_back_as_they_went_in(ctx: mo.StreamContext, element: Any) -> None:
    assert ctx.stream_iter([element, element]).collect() == [element, element]
