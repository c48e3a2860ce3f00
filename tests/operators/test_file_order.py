"""The order of the rows of many files: that of their paths, however Spark splits and packs them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
NAMES = ("B", "a b", "a!b", "a%20b", "a%", "a+b", "a,b", "a=b", "a#b?", "ab", "b", "[x]", "{y}", "é", "日", "𝄞")
SPLITS = {"spark.sql.files.maxPartitionBytes": "2000", "spark.sql.files.openCostInBytes": "300"}


class Numbered(NamedTuple):
    file: int
    row: int


def text_of(file: int, rows: int) -> bytes:
    return "".join(f"{file} {row} {'x' * (row % 7)}\n" for row in range(rows)).encode()


def csv_of(file: int, rows: int) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows([("file", "row"), *((file, row) for row in range(rows))])
    return out.getvalue().encode()


def json_of(file: int, rows: int) -> bytes:
    return "".join(json.dumps({"file": file, "row": row}) + "\n" for row in range(rows)).encode()


def parquet_of(file: int, rows: int) -> bytes:
    out = io.BytesIO()
    columns = {"file": pa.array([file] * rows, pa.int64()), "row": pa.array(range(rows), pa.int64())}
    pq.write_table(pa.table(columns), out, row_group_size=20)
    return out.getvalue()


FORMATS: dict[str, tuple[Callable[[int, int], bytes], Callable[[mo.StreamContext, Path], Any]]] = {
    "text": (text_of, lambda ctx, path: ctx.stream_file(path)),
    "csv": (csv_of, lambda ctx, path: ctx.stream_csv(path, Numbered)),
    "csv in python": (csv_of, lambda ctx, path: ctx.stream_csv(path, Numbered, multiline=True)),
    "json": (json_of, lambda ctx, path: ctx.stream_json(path, Numbered)),
    "parquet": (parquet_of, lambda ctx, path: ctx.stream_parquet(path, Numbered)),
}


@pytest.fixture
def small_splits(spark: SparkSession) -> Iterator[None]:
    """Splits that are smaller than many files, and larger than others."""
    for name, value in SPLITS.items():
        spark.conf.set(name, value)
    yield
    for name in SPLITS:
        spark.conf.unset(name)


def fill(directory: Path, format_: str, rows: Sequence[int]) -> None:
    """Files with some numbers of rows. Every third one is compressed, if the format can be."""
    directory.mkdir()
    for number, (count, name) in enumerate(zip(rows, NAMES, strict=False)):
        content = FORMATS[format_][0](number, count)
        if number % 3 == 0 and format_ != "parquet":
            (directory / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (directory / name).write_bytes(content)


def in_reference(read: Callable[[mo.StreamContext, Path], Any], directory: Path) -> list[Any]:
    return list(read(mo.StreamContext(engine="reference"), directory).collect())


@pytest.mark.parametrize("format_", [*list(FORMATS)[1:], pytest.param("text", marks=pytest.mark.thorough)])
@pytest.mark.usefixtures("small_splits")
def test_rows_come_in_the_order_of_paths(
    format_: str, spark_ctx: mo.StreamContext, tmp_path: Path, chance: random.Random
) -> None:
    fill(tmp_path / "in", format_, [chance.choice([0, 1, 9, 150, 400]) for _ in NAMES])
    read = FORMATS[format_][1]
    stream, expected = read(spark_ctx, tmp_path / "in"), in_reference(read, tmp_path / "in")
    assert stream.collect() == expected
    numbered = stream.rich_map(0, lambda before, row: (before + 1, (before, row)))
    assert numbered.collect() == list(enumerate(expected))


@pytest.mark.usefixtures("small_splits")
def test_sinks_take_rows_in_order_although_the_first_ones_come_last(
    spark_ctx: mo.StreamContext, tmp_path: Path
) -> None:
    fill(tmp_path / "in", "text", [200, 0, 30, *(5 for _ in NAMES[3:])])
    first = NAMES.index("a!b")  # the smallest name of all

    def late(line: str) -> str:
        if line.startswith(f"{first} 0 "):
            time.sleep(0.5)
        return line

    lines = spark_ctx.stream_file(tmp_path / "in").map(late)
    expected = in_reference(FORMATS["text"][1], tmp_path / "in")
    assert len(expected) > 200
    seen: list[str] = []
    lines.for_each(seen.append)
    found = lines.collect_vec()
    lines.write_text(str(tmp_path / "out"))
    spark_ctx.execute()
    assert (seen, found.get()) == (expected, expected)
    files = sorted((tmp_path / "out").glob("part-*"))
    assert len(files) > 2
    assert [line for file in files for line in file.read_text("utf-8").splitlines()] == expected
    assert lines.limit(20, offset=190).collect() == expected[190:210]


@pytest.mark.usefixtures("small_splits")
def test_directories_with_values_of_columns_come_in_order(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    for number, (directory, count) in enumerate([("k=b", 3), ("k=a b", 300), ("k=a!", 40)]):
        (tmp_path / "in" / directory).mkdir(parents=True)
        (tmp_path / "in" / directory / "rows.parquet").write_bytes(parquet_of(number, count))
    rows: Any = spark_ctx.stream_parquet(tmp_path / "in").map(lambda row: (row.k, row.file, row.row))
    found = [("a b", 1, 300), ("a!", 2, 40), ("b", 0, 3)]
    assert rows.collect() == [(key, file, row) for key, file, count in found for row in range(count)]


def test_files_keep_their_order_if_the_settings_change_after_a_dataframe_was_made(
    spark: SparkSession, spark_ctx: mo.StreamContext, tmp_path: Path
) -> None:
    fill(tmp_path / "in", "parquet", [400, 3, 100, 30])
    df = spark_ctx.stream_parquet(tmp_path / "in", Numbered).to_dataframe()
    expected = [tuple(row) for row in in_reference(FORMATS["parquet"][1], tmp_path / "in")]
    for name, value in SPLITS.items():
        spark.conf.set(name, value)
    try:
        assert [tuple(row) for row in df.collect()] == expected
    finally:
        for name in SPLITS:
            spark.conf.unset(name)
