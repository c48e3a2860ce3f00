"""The table of docs/guide/files.md, row by row: the value that each engine reads, or an error."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from tests.operators import readings

NAN, INF = float("nan"), float("inf")
FIELDS: dict[str, list[tuple[str, Any]]] = {
    "n": [("3", 3), ("+3", 3), ("007", 7), ("", None), (str(-(2**63)), -(2**63))],
    "x": [("3", 3.0), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("nan", NAN), ("-inf", -INF), ("Infinity", INF)],
    "d": [("2025-01-31", dt.date(2025, 1, 31)), ("0001-01-01", dt.date(1, 1, 1))],
    "t": [
        ("2025-01-31", dt.datetime(2025, 1, 31)),
        ("2025-01-31T10:20", dt.datetime(2025, 1, 31, 10, 20)),
        ("2025-01-31 10:20:30", dt.datetime(2025, 1, 31, 10, 20, 30)),
        ("2025-01-31T10:20:30.5", dt.datetime(2025, 1, 31, 10, 20, 30, 500_000)),
    ],
    "b": [("true", True), ("FALSE", False)],
    "s": [(" a ", " a "), ('"a ""b"""', 'a "b"'), ('x"y', 'x"y'), ('"x" ', "x"), ("", "")],
}
MISFITS = {
    "n": [" 3", "3 ", "1.0", "1_000", "3L", "٣", str(2**63), "0x10"],
    "x": [" 3", "3d", "1_0", "0x1p3", "1,5", "e5", "٣"],
    "d": ["2025-1-1", "20250131", "2025-01-31 10:00", "2025-02-30", "0000-01-01", "2025-W05-1"],
    "t": ["2025-01-31T10:20:30Z", "2025-01-31 10:20:30+02:00", "2025-1-1 10:00", "2025-01-31 24:00", "10:20"],
    "b": ["1", "yes", " true"],
    "s": ['"a"b', '"a""'],
}
ROW = {"s": "s", "n": "1", "x": "1", "d": "", "t": "", "b": ""}


def csv_file(field: str, text: str) -> bytes:
    """A file with a row for one value, after a row in good order."""
    row = ",".join({**ROW, field: text}.values())
    return f"s,n,x,d,t,b\nfirst,,,,,\n{row}\n".encode()


JSON: dict[bytes, Any] = {
    b'{"s": 3}': "3",
    b'{"s": true}': "true",
    b'{"s": [1,  2]}': "[1,  2]",
    b'{"s": 1e5}': "1e5",
    b'{"s": {"a": "b"}}': '{"a": "b"}',
    b'{"s": "a", "s": "b"}': "b",
    b'\xef\xbb\xbf{"s": "bom"}': "bom",
    b'{"s": "\\u00e9", "more": 1}': "é",
    b'{"S": "other"}': None,
}
BAD_JSON = [
    *(
        b'{"n": 1.0}',
        b'{"n": "3"}',
        b'{"n": true}',
        b'{"n": 9223372036854775808}',
        b'{"x": "1.5"}',
        b'{"xs": [1, null]}',
    ),
    *(
        b"{'s': 1}",
        b'{"s": "\xff"}',
        b'{"d": "2025-1-1"}',
        b'{"t": "2025-01-31T10:00:00Z"}',
        b'{"s": 1,}',
        b'{"xs": 1}',
    ),
]
DAMAGED = {
    "utf16.csv": "s,n,x,d,t,b\n".encode("utf-16"),
    "invalid.csv": b"s,n,x,d,t,b\n\xff,,,,,\n",
    "truncated.csv.gz": gzip.compress(b"s,n,x,d,t,b\n" + bytes(range(65, 91)) * 9)[:-9],
    "cut.csv.bz2": bz2.compress(b"s,n,x,d,t,b\na,,,,,\n")[:-5],
    "begun.csv.bz2": b"BZh91A",
    "named.csv.gz": b"s,n,x,d,t,b\na,,,,,\n",
    "renamed.csv": gzip.compress(b"s,n,x,d,t,b\na,,,,,\n"),
    "other.csv.zst": b"s,n,x,d,t,b\na,,,,,\n",
    "header.csv": b"s,n\na,1\n",
}


def put(directory: Path, name: str, content: bytes) -> str:
    (directory / name).write_bytes(content)
    return str(directory / name)


@pytest.mark.parametrize("field", FIELDS)
def test_values_of_csv_fields(field: str, tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    for number, (text, value) in enumerate(FIELDS[field]):
        rows = ctx.stream_csv(put(tmp_path, f"{number}.csv", csv_file(field, text)), readings.Row).collect()
        assert repr(getattr(rows[1], field)) == repr(value), text


class Named(NamedTuple):
    name: str | None
    n: int | None


EMPTY_FIELDS = b'name,n\n,1\n"",\n"" ,""\n" ",\n'
NAMED = [Named(None, 1), Named("", None), Named("", None), Named(" ", None)]


@pytest.mark.parametrize("multiline", [False, True])
def test_an_empty_field_in_quotes_is_a_text(multiline: bool, tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    rows = ctx.stream_csv(put(tmp_path, "a.csv", EMPTY_FIELDS), Named, multiline=multiline)
    assert rows.collect() == NAMED


def test_a_quoted_field_that_is_not_closed_does_not_take_the_rest_of_the_file(tmp_path: Path) -> None:
    rows = mo.StreamContext(engine="reference").stream_csv(
        put(tmp_path, "a.csv", b'name,n\na,1\n"b,2\nc,3\n'), Named, multiline=True
    )
    with pytest.raises(mo.SourceError, match="a quoted field is not closed"):
        rows.collect()


def test_values_of_json_objects(tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    for number, (content, value) in enumerate(JSON.items()):
        rows = ctx.stream_json(put(tmp_path, f"{number}.json", content), readings.Nested).collect()
        assert [row.s for row in rows] == [value], content


def bad_files(directory: Path) -> list[tuple[str, str]]:
    """Files with a row that does not fit, or that cannot be read."""
    rows = [(field, text) for field, texts in MISFITS.items() for text in texts]
    return [
        *(("csv", put(directory, f"c{n}.csv", csv_file(*row))) for n, row in enumerate(rows)),
        *(("json", put(directory, f"j{n}.json", content)) for n, content in enumerate(BAD_JSON)),
        *(("csv", put(directory, name, content)) for name, content in DAMAGED.items()),
        *(("parquet", path) for path in odd_tables(directory)),
    ]


def odd_tables(directory: Path) -> list[str]:
    """Parquet files with a column that does not fit."""
    columns: dict[str, Any] = {
        "uint64": pa.array([2**64 - 1], pa.uint64()),
        "nanoseconds": pa.array([1], pa.timestamp("ns")),
        "fraction": pa.array([1.5]),
        "null": pa.array([None], pa.string()),
    }
    fields = {"uint64": "n", "nanoseconds": "t", "fraction": "n", "null": "s"}
    row: dict[str, Any] = {"s": ["a"], "n": [1], "x": [1.0], "d": [None], "t": [None], "b": [True]}
    for name, column in columns.items():
        table = pa.table({**row, fields[name]: column})
        table = table.set_column(3, "d", pa.array([None], pa.date32()))
        if fields[name] != "t":
            table = table.set_column(4, "t", pa.array([None], pa.timestamp("us")))
        pq.write_table(table, directory / f"{name}.parquet")
    return [str(directory / f"{name}.parquet") for name in columns]


def test_what_does_not_fit_is_an_error(tmp_path: Path) -> None:
    ctx = mo.StreamContext(engine="reference")
    for kind, path in bad_files(tmp_path):
        assert readings.outcome(ctx, readings.Reading(kind), path)[0] == "error", Path(path).read_bytes()


@pytest.mark.jvm
@pytest.mark.thorough
def test_what_does_not_fit_is_an_error_on_spark(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    for kind, path in bad_files(tmp_path):
        assert readings.outcome(spark_ctx, readings.Reading(kind), path)[0] == "error", Path(path).read_bytes()


@pytest.mark.jvm
def test_spark_reads_what_the_table_says(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    """All values in two files, and a file of each compression; in `make thorough` mutated files follow."""
    fields = [(field, text, value) for field, cases in FIELDS.items() for text, value in cases]
    lines = b"".join(csv_file(field, text).split(b"\n", 2)[2] for field, text, _ in fields)
    content = b"\xef\xbb\xbfs,n,x,d,t,b\r\n" + lines
    csv_rows = spark_ctx.stream_csv(put(tmp_path, "a.csv", content), readings.Row).collect_vec()
    json_lines = b"\n".join(line.removeprefix(b"\xef\xbb\xbf") for line in JSON)
    json_rows = spark_ctx.stream_json(put(tmp_path, "a.json", json_lines), readings.Nested).collect_vec()
    named = spark_ctx.stream_csv(put(tmp_path, "b.csv", EMPTY_FIELDS), Named).collect_vec()
    packed = spark_ctx.stream_file(put(tmp_path, "a b [1].bz2", bz2.compress(b"one\rtwo"))).collect_vec()
    spark_ctx.execute()
    assert [repr(getattr(row, field)) for row, (field, *_) in zip(_second(csv_rows.get()), fields, strict=True)] == [
        repr(value) for *_, value in fields
    ]
    assert [row.s for row in json_rows.get()] == list(JSON.values())
    assert packed.get() == ["one", "two"]
    assert named.get() == NAMED
    assert not [title for title in spark_ctx.metrics()["moved_to_python"] if "stream_csv" not in title]


def _second(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row.s != "first"]
