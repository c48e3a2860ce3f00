"""Files that are damaged or empty, and tables with NULL: an error that names the file, on both engines."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.emit.frames.tables import complete_in_file
from morisot.worker.files.lines import has_end


def put(directory: Path, name: str, content: bytes) -> str:
    (directory / name).write_bytes(content)
    return str(directory / name)


# -- damaged and empty files -----------------------------------------------------------------------------------------


def test_the_end_of_a_bzip2_file_is_found(tmp_path: Path) -> None:
    """Of each beginning of a file, which may have several streams."""
    for texts in ((b"",), (b"a,b\n1,2\n",), (b"a\n", b"b\n"), *((bytes(range(n)),) for n in range(1, 40, 3))):
        content = b"".join(map(bz2.compress, texts))
        ends = {0, *itertools.accumulate(len(bz2.compress(text)) for text in texts)}
        for size in range(len(content) + 1):
            assert has_end(put(tmp_path, "a.bz2", content[:size])) == (size in ends), (texts, size)


def test_an_empty_file_of_text_has_no_lines(ctx: mo.StreamContext, tmp_path: Path) -> None:
    for name in ("a.txt", "a.gz", "a.bz2"):
        put(tmp_path, name, b"")
    put(tmp_path, "b.txt", b"BZh is no compressed text\n")
    assert ctx.stream_file(tmp_path).collect() == ["BZh is no compressed text"]
    assert ctx.stream_file(tmp_path / "a.bz2").collect() == []


class OneText(NamedTuple):
    s: str


def parquet_file(rows: int) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"s": [str(n) for n in range(rows)]}), buffer)
    return buffer.getvalue()


LINES = b"".join(b"%d\n" % n for n in range(1000))
FAULTS: dict[str, tuple[str, bytes, bytes]] = {
    "truncated": ("parquet", parquet_file(9)[:-20], parquet_file(9)),
    "empty": ("parquet", b"", parquet_file(9)),
    "cut": ("bz2", bz2.compress(LINES)[:-4], bz2.compress(LINES)),
    "incomplete": ("gz", gzip.compress(LINES)[:-20], gzip.compress(LINES)),
    "renamed": ("txt", gzip.compress(LINES), LINES),
}
"""The ending of a damaged file, its content, and that of a good one."""


def check_damaged(ctx: mo.StreamContext, directory: Path, fault: str) -> None:
    """A damaged file between good ones, of which the last is the largest, is an error that names it."""
    kind, damaged, good = FAULTS[fault]
    directory.mkdir()
    put(directory, f"1.{kind}", good)
    put(directory, f"2 {fault}.{kind}", damaged)
    put(directory, f"3.{kind}", parquet_file(99) if kind == "parquet" else good)
    rows: Any = ctx.stream_parquet(directory, OneText) if kind == "parquet" else ctx.stream_file(directory)
    with pytest.raises(mo.SourceError, match=rf"2 {fault}\.{kind}[:,](.|\n)*What to do: "):
        rows.collect()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_in_a_directory_is_an_error(fault: str, tmp_path: Path) -> None:
    check_damaged(mo.StreamContext(engine="reference"), tmp_path / "in", fault)


@pytest.mark.jvm
@pytest.mark.parametrize(
    "fault", [f if f in ("cut", "empty") else pytest.param(f, marks=pytest.mark.thorough) for f in FAULTS]
)
def test_a_damaged_file_in_a_directory_is_an_error_on_spark(
    fault: str, spark_ctx: mo.StreamContext, tmp_path: Path
) -> None:
    check_damaged(spark_ctx, tmp_path / "in", fault)


# -- NULL in tables --------------------------------------------------------------------------------------------------


class Inner(NamedTuple):
    k: int


class Listed(NamedTuple):
    n: int
    part: list[int]


class Mapped(NamedTuple):
    n: int
    part: dict[str, int]


class Nesting(NamedTuple):
    n: int
    part: Inner


class Deep(NamedTuple):
    n: int
    part: list[list[int | None]] | None


PARTS: dict[type, tuple[pa.DataType, Any, Any]] = {
    Listed: (pa.list_(pa.int64()), [1], [2, None]),
    Mapped: (pa.map_(pa.string(), pa.int64()), [("a", 1)], [("b", None)]),
    Nesting: (pa.struct([("k", pa.int64())]), {"k": 1}, {"k": None}),
    Deep: (pa.list_(pa.list_(pa.int64())), [[1, None]], [[1], None]),
}
"""Record classes, the type of their column, a value that fits, and one in which a part is NULL."""


def test_a_part_without_a_value_is_an_error(ctx: mo.StreamContext, tmp_path: Path) -> None:
    for cls, (type_, *values) in PARTS.items():
        for name, value in zip(("good", "null"), values, strict=True):
            table = pa.table({"n": [1, 2], "part": pa.array([values[0], value], type_)})
            pq.write_table(table, tmp_path / f"{name}.parquet")
        assert len(ctx.stream_parquet(tmp_path / "good.parquet", cls).collect()) == 2
        with pytest.raises(mo.SourceError, match=r"null\.parquet, line 2, field part.*: there is no value") as raised:
            ctx.stream_parquet(tmp_path / "null.parquet", cls).collect()
        assert "What to do: declare the field as " in str(raised.value)


def test_columns_with_null_in_a_part_are_not_complete(tmp_path: Path) -> None:
    table = pa.table({"xs": pa.array([[1], [None]]), "x": pa.array([[1], [2]]), "ys.n": pa.array([1, 2])})
    pq.write_table(table, tmp_path / "a.parquet")
    assert complete_in_file(str(tmp_path / "a.parquet")) == {"x", "ys.n"}
