"""Small files, mutated files, and the elements or the error of each of them on an engine."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo

Outcome = tuple[str, list[str]]
"""("rows", the elements), or ("error", nothing)."""


class Row(NamedTuple):
    s: str
    n: int | None
    x: float | None
    d: dt.date | None
    t: dt.datetime | None
    b: bool | None


class Nested(NamedTuple):
    s: str | None
    n: int | None
    x: float | None
    d: dt.date | None
    t: dt.datetime | None
    xs: list[int] | None


FIELDS: dict[str, Callable[[Any], Any]] = {
    "s": lambda row: row.s,
    "n": lambda row: row.n,
    "x": lambda row: row.x,
    "d": lambda row: row.d,
    "t": lambda row: row.t,
}


class Reading(NamedTuple):
    """How a file is read: the rows, with or without the rows that do not fit, or a single field of them."""

    kind: str
    skips: bool = False
    field: str | None = None

    def __call__(self, ctx: mo.StreamContext, path: str) -> Any:
        rows = self._rows(ctx, path)
        return rows if self.field is None else rows.map(FIELDS[self.field])

    def _rows(self, ctx: mo.StreamContext, path: str) -> Any:
        on_error: Any = "skip" if self.skips else "raise"
        if self.kind == "csv":
            return ctx.stream_csv(path, Row, on_error=on_error)
        if self.kind == "json":
            return ctx.stream_json(path, Nested, on_error=on_error)
        return ctx.stream_file(path) if self.kind == "text" else ctx.stream_parquet(path, Row)


def drawn_reading(kind: str, chance: random.Random) -> Reading:
    """A field is drawn only if rows are skipped: Spark does not convert the fields that a program does not read."""
    if kind not in ("csv", "json") or chance.random() < 0.4:
        return Reading(kind)
    return Reading(kind, skips=True, field=chance.choice([None, *FIELDS]))


def outcome(ctx: mo.StreamContext, reading: Reading, path: str) -> Outcome:
    """The elements of one file, or its error. Other exceptions than a SourceError pass."""
    try:
        return "rows", comparable(reading(ctx, path).collect())
    except mo.SourceError as error:
        said = str(error)
        assert Path(path).name in said, said
        assert "\tat " not in said, said
        assert "What to do: " in said, said
        return "error", []


def comparable(elements: list[Any]) -> list[str]:
    """Elements as texts, because NaN differs from itself."""
    return [repr(element) for element in elements]


_TOKENS = [
    *(b'"', b",", b"\n", b"\r", b"\r\n", b" ", b"\t", b"{", b"]", b"null", b"\\", b"\xef\xbb\xbf", b"\xff", b"\xc3"),
    *(b"3", b"-", b"+", b".", b"e", b"nan", b"inf", b"Infinity", b"NaN", b"true", b"1e400", b"99999999999999999999"),
    *(b"2025-1-1", b"2025-01-31T10:00:00Z", b"2025-01-31 10:00", b"2025-01-31", b"0000-01-01", b"3d", b"0x1p3", b"1_0"),
    *(b'""', b'"x"y', b'" 3"', b"''", b"\\u0041", b"\\ud800", b"${x}", b"\x00", "é".encode(), "\ufffd".encode()),
]


def plain_file(kind: str, chance: random.Random) -> bytes:
    """A file in good order."""
    rows: list[dict[str, Any]] = [
        {
            "s": chance.choice(["a", "", 'q"q', "x, y", " b ", "é", "None"]),
            "n": chance.choice([None, 0, -5, 2**63 - 1, chance.randrange(1000)]),
            "x": chance.choice([None, 0.5, -1e300, float(chance.randrange(10))]),
            "d": chance.choice([None, dt.date(2025, 1, 31), dt.date(1, 1, 1)]),
            "t": chance.choice([None, dt.datetime(2025, 1, 31, 10, 20, 30), dt.datetime(1999, 12, 31, 1, 2, 3, 450)]),
            "b": chance.choice([None, True, False]),
        }
        for _ in range(chance.randrange(1, 5))
    ]
    if kind == "parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), buffer)
        return buffer.getvalue()
    if kind == "json":
        for row in rows:
            row["xs"] = chance.choice([None, [], [1, 2]])
        return "".join(json.dumps(row, default=str, ensure_ascii=chance.random() < 0.5) + "\n" for row in rows).encode()
    lines = [",".join(map(_quoted, row.values())) for row in rows]
    return ("\n".join([*(["s,n,x,d,t,b"] if kind == "csv" else []), *lines]) + "\n").encode()


_TYPES: list[tuple[str, pa.DataType]] = [
    *(("s", pa.string()), ("n", pa.int64()), ("x", pa.float64())),
    *(("d", pa.date32()), ("t", pa.timestamp("us")), ("b", pa.bool_())),
]
_SCHEMA = pa.schema(_TYPES)


def _quoted(value: Any) -> str:
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def mutated(kind: str, chance: random.Random) -> tuple[str, bytes]:
    """The name and the content of a file with up to three faults."""
    content = plain_file(kind, chance)
    compression = chance.choice(["", "", "", ".gz", ".bz2"]) if kind != "parquet" else ""
    for _ in range(chance.randrange(4)):
        content = _fault(content, chance)
    if compression:
        content = gzip.compress(content) if compression == ".gz" else bz2.compress(content)
        if chance.random() < 0.3:
            content = content[: chance.randrange(len(content))]
        if chance.random() < 0.2:
            compression = ""
    return f"{kind}{compression}", content


def _fault(content: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(content) + 1)
    end = min(len(content), at + chance.randrange(1, 6))
    match chance.randrange(4):
        case 0:
            return content[:at] + chance.choice(_TOKENS) + content[at:]
        case 1:
            return content[:at] + content[end:]
        case 2:
            return content[:at] + chance.choice(_TOKENS) + content[end:]
        case _:
            return content[:at] + content[at:end] * 2 + content[end:]


def plain(content: bytes) -> bytes:
    """The content, decompressed if it is complete."""
    unpack = {b"\x1f\x8b": gzip.decompress, b"BZ": bz2.decompress}.get(content[:2])
    try:
        return content if unpack is None else unpack(content)
    except (OSError, EOFError, ValueError, zlib.error):
        return content


def is_named(kind: str, content: bytes) -> bool:
    """Whether the table of the differences between the engines names this file: a JSON line that is not one object."""
    if kind != "json":
        return False
    for line in plain(content).replace(b"\r", b"\n").split(b"\n"):
        text = line.decode(errors="replace").strip().removeprefix("\ufeff")
        try:
            json.loads(text)
        except ValueError as error:
            if "Extra data" in str(error):
                return True
        if text.startswith("["):
            return True
    return False
