"""What a writer writes, our readers, pandas and Polars read back equal: every type, nasty values, all kinds of jobs."""

from __future__ import annotations

import base64
import datetime as dt
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pytest
from pyspark.sql import SparkSession

import morisot as mo
from morisot.types.element import BYTES, DATE, DATETIME, FLOAT, Dict, List, Optional, Record, Tuple, Type
from morisot.types.infer import of_annotation

NASTY_TEXTS = [
    *("", " ", "  a  ", "\t", "a\t", "\n", "a\nb", "\r", "a\rb", "a\r\nb", "\x00", "\x1f", " ", "﻿x", "\x85"),
    *('"', '""', '"a"', 'q"q', '"a,b"', ",", ";", '","', '"\n"', "#c", "\\", '\\"', "\\n", "'", "null", "NULL", "None"),
    *("NaN", "true", "1", "1e5", "2025-01-01", "é", "😀", "﷽", "{}", "[1]", "-", "=1+1", "a" * 300),
]
NASTY_FLOATS = [
    0.0,
    -0.0,
    0.1 + 0.2,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    1e16,
    123456789.123456789,
    -1e-7,
    1e22,
]
NOT_FINITE = [math.nan, math.inf, -math.inf]
NASTY_INTS = [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)]
NASTY_TIMES = [
    *(dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2025, 1, 2)),
    *(dt.datetime(2025, 1, 2, 3, 4, 5, 6), dt.datetime(1582, 10, 10), dt.datetime(2025, 3, 30, 2, 30, 0, 123_000)),
]


class Flat(NamedTuple):
    """What fits into CSV fields."""

    number: int
    text: str
    name: str | None
    n: int | None
    x: float
    y: float | None
    flag: bool
    maybe: bool | None
    day: dt.date
    at: dt.datetime
    later: dt.datetime | None


class Inner(NamedTuple):
    a: int | None
    b: str


class Deep(NamedTuple):
    """What JSON and Parquet files have besides."""

    number: int
    flat: Flat
    data: bytes
    items: list[int]
    floats: list[float | None]
    weights: dict[str, float]
    pair: tuple[int, str]
    inner: Inner
    none: Inner | None
    inners: list[Inner]
    times: list[dt.datetime]


class One(NamedTuple):
    value: str


class Maybe(NamedTuple):
    value: int | None


TEXT = {"value": pl.String}
FORMATS = ("csv", "json", "parquet")


def some_text(chance: random.Random) -> str:
    return chance.choice([*NASTY_TEXTS, "".join(chance.choices(" \t\r\n\"',;#\\\0aé😀", k=chance.randrange(6)))])


def some_float(chance: random.Random) -> float:
    return chance.choice([*NASTY_FLOATS, *NOT_FINITE, chance.gauss(0, 1e9), chance.random()])


def some_int(chance: random.Random) -> int:
    return chance.choice([*NASTY_INTS, chance.randrange(-(2**63), 2**63)])


def some_time(chance: random.Random) -> dt.datetime:
    between = (dt.datetime.max - dt.datetime.min) // dt.timedelta(microseconds=1)
    return chance.choice([*NASTY_TIMES, dt.datetime.min + dt.timedelta(microseconds=chance.randrange(between))])


def random_row(chance: random.Random) -> Deep:
    def maybe(some: Callable[[random.Random], Any]) -> Any:
        return some(chance) if chance.random() < 0.7 else None

    def several(some: Callable[[random.Random], Any]) -> list[Any]:
        return [some(chance) for _ in range(chance.randrange(3))]

    def inner(chance: random.Random) -> Inner:
        return Inner(maybe(some_int), some_text(chance))

    flat = Flat(
        *(some_int(chance), some_text(chance), maybe(some_text), maybe(some_int), some_float(chance)),
        *(maybe(some_float), chance.random() < 0.5, maybe(lambda chance: chance.random() < 0.5)),
        *(some_time(chance).date(), some_time(chance), maybe(some_time)),
    )
    fields: tuple[Any, ...] = (
        *(some_int(chance), flat, chance.randbytes(3), several(some_int), several(lambda _: maybe(some_float))),
        *({text: some_float(chance) for text in sorted(several(some_text))}, (some_int(chance), some_text(chance))),
        *(inner(chance), maybe(inner), several(inner), several(some_time)),
    )
    return Deep(*fields)


def nasty() -> list[Deep]:
    """Rows with every nasty value, and None."""
    rows = []
    for index in range(len(NASTY_TEXTS)):
        text, at = NASTY_TEXTS[index], NASTY_TIMES[index % len(NASTY_TIMES)]
        x, n = [*NASTY_FLOATS, *NOT_FINITE][index % 12], NASTY_INTS[index % 5]
        some = index % 3 > 0
        flat = Flat(
            *(index, text, text if some else None, n if some else None, x, x if some else None, some),
            *(not some if index % 2 else None, at.date(), at, at if some else None),
        )
        inner = Inner(n if some else None, text)
        inners = [inner] * (1 + index % 2)
        rows.append(
            Deep(
                *(index, flat, bytes([index, 255]), [n] * (1 + index % 2), [x, None], {text: x}, (n, text), inner),
                *(None if some else inner, inners, [at]),
            )
        )
    return rows


# ---- other readers


def files_in(directory: Path) -> list[Path]:
    return sorted(file for file in directory.rglob("part-*") if file.stat().st_size)


def by_pandas(file: Path, format_: str, cls: type) -> list[dict[str, Any]]:
    if format_ == "parquet":
        return pd.read_parquet(file, dtype_backend="pyarrow").to_dict("records")  # type: ignore[return-value]
    if format_ == "json":
        read: Any = pd.read_json(file, lines=True, dtype=False, convert_dates=False, precise_float=True)
        found: list[dict[str, Any]] = read.astype(object).where(read.notna(), None).to_dict("records")
        return found
    numbers = {"number": "int64", "n": "Int64", "x": float, "y": float}
    dtypes: Any = {name: numbers.get(name, str) for name in Flat._fields}
    nothing = {name: ["NaN"] if name in ("x", "y") else [] for name in Flat._fields}
    optional = {name: [*nothing[name], ""] for name in ("name", "n", "y", "maybe", "later")}
    table = pd.read_csv(
        file, dtype=dtypes, keep_default_na=False, na_values={**nothing, **optional}, float_precision="round_trip"
    )
    return table.to_dict("records")  # type: ignore[return-value]


def by_polars(file: Path, format_: str, cls: type) -> list[dict[str, Any]]:
    if format_ == "parquet":
        return pl.read_parquet(file).to_dicts()
    if format_ == "json":
        return pl.read_ndjson(file, infer_schema_length=None).to_dicts()
    of_scalar = {
        "int": pl.Int64,
        "float": pl.Float64,
        "bool": pl.Boolean,
        "date": pl.Date,
        "datetime": pl.Datetime("us"),
    }
    record = of_annotation(cls)
    assert isinstance(record, Record)
    inner = [item.inner if isinstance(item, Optional) else item for item in record.items]
    schema = {name: of_scalar.get(str(type_), pl.String) for name, type_ in zip(record.names, inner, strict=True)}
    return pl.read_csv(file, schema=schema).to_dicts()  # type: ignore[arg-type]


def understood(value: Any, type_: Type) -> Any:
    """What another reader gives, as the Python value of the type: JSON has texts for dates, and structs are dicts."""
    match type_:
        case Optional(inner):
            return None if is_nothing(value, inner) else understood(value, inner)
        case Record(cls, names, items):
            return cls(*(understood(value.get(name), item) for name, item in zip(names, items, strict=True)))
        case Tuple(items):
            return tuple(understood(value[f"_{index}"], item) for index, item in enumerate(items))
        case List(item):
            return [understood(each, item) for each in value]
        case Dict(item):
            found = {key: understood(each, item) for key, each in pairs(value) if each is not None}
            return dict(sorted(found.items()))  # Polars orders the keys by their first rows
        case _ if type_ == BYTES:
            return base64.b64decode(value) if isinstance(value, str) else value
        case _ if type_ == FLOAT:
            return math.nan if value is None or value is pd.NA else float(value)
        case _ if type_ in (DATE, DATETIME):
            return moment(value, type_)
        case _:
            return {"true": True, "false": False}.get(value, value) if str(type_) == "bool" else value


def is_nothing(value: Any, type_: Type) -> bool:
    if isinstance(type_, Record) and isinstance(value, dict):  # Polars gives a struct without values
        return value.get("b") is None
    return value is None or value is pd.NA or (type_ != FLOAT and isinstance(value, float) and math.isnan(value))


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
        return
    for each in value:
        yield (each["key"], each["value"]) if isinstance(each, dict) else each


def moment(value: Any, type_: Type) -> Any:
    if isinstance(value, str):
        return (dt.date if type_ == DATE else dt.datetime).fromisoformat(value)
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    return value


def same(found: Sequence[Any], rows: Sequence[Any], told_apart: Callable[[Any], Any] = repr) -> None:
    """Compares rows in any order, by their texts: NaN is NaN, and 0.0 is not -0.0."""
    assert sorted(map(told_apart, found)) == sorted(map(told_apart, rows))


def without_nan(row: Any) -> str:
    """For pandas, NaN and an empty field in quotes are None, and the text of a CSV field ends before a zero byte."""
    row = ends_before_zero(row)
    return repr(row._replace(name=row.name or None) if isinstance(row, Flat) else row).replace("nan", "None")


def ends_before_zero(row: Any) -> Any:
    if not isinstance(row, Flat):
        return row
    return row._replace(text=row.text.split("\0")[0], name=row.name and row.name.split("\0")[0])


def check_other_readers(directory: Path, format_: str, rows: Sequence[Any]) -> None:
    cls = type(rows[0])
    for read, told_apart in ((by_pandas, without_nan), (by_polars, repr)):
        found = [row for file in files_in(directory) for row in read(file, format_, cls)]
        same([understood(row, of_annotation(cls)) for row in found], rows, told_apart)


def check_own_reader(ctx: mo.StreamContext, directory: Path, format_: str, rows: Sequence[Any]) -> None:
    options = {"multiline": True} if format_ == "csv" else {}
    stream = getattr(ctx, f"stream_{format_}")(directory, type(rows[0]), **options)
    same(stream.collect(), rows)


def declared(ctx: mo.StreamContext, rows: list[Deep]) -> mo.Stream[Any]:
    """The rows with their declared type, which empty lists do not show."""
    return ctx.stream_iter(rows).map(lambda row: row, returns=Deep)


def write(rows: mo.Stream[Any], directory: Path) -> None:
    """All writers of rows that have both kinds of records."""
    rows.map(lambda row: row.flat).write_csv(directory / "csv")
    rows.write_json(directory / "json")
    rows.write_parquet(directory / "parquet")
    rows.map(lambda row: row.flat.text).write_csv(directory / "one")
    rows.map(lambda row: row.flat.text.replace("\n", "").replace("\r", "")).write_text(directory / "text")


def check(directory: Path, rows: Sequence[Deep], *contexts: mo.StreamContext) -> None:
    for format_ in FORMATS:
        given = [row.flat for row in rows] if format_ == "csv" else rows
        check_other_readers(directory / format_, format_, given)
        for ctx in contexts:
            check_own_reader(ctx, directory / format_, format_, given)
    texts = [One(row.flat.text) for row in rows]
    for ctx in contexts:
        same(ctx.stream_csv(directory / "one", One, multiline=True).collect(), texts)
        lines = [row.flat.text.replace("\n", "").replace("\r", "") for row in rows]
        same(ctx.stream_file(directory / "text").collect(), lines)
    one = [row["value"] for file in files_in(directory / "one") for row in pl.read_csv(file, schema=TEXT).to_dicts()]
    same([One(text) for text in one], texts)


@pytest.mark.parametrize("number", [40, pytest.param(2_000, marks=pytest.mark.thorough)])
def test_the_reference_engine_reads_back_what_it_writes(number: int, chance: random.Random, tmp_path: Path) -> None:
    """With the nasty rows, because pandas and Polars infer types from all rows."""
    rows = [*nasty(), *(random_row(chance) for _ in range(number))]
    ctx = mo.StreamContext(engine="reference")
    write(declared(ctx, rows), tmp_path)
    ctx.execute()
    check(tmp_path, rows, ctx)


def test_spark_reads_back_what_both_engines_write(spark: SparkSession, tmp_path: Path) -> None:
    reference = mo.StreamContext(engine="reference")
    on_spark = mo.StreamContext(spark, config=mo.Config(progress=False))
    for ctx, readers in ((reference, [on_spark]), (on_spark, [on_spark, reference])):
        directory = tmp_path / str(len(readers))
        write(ctx.stream_iter(nasty()), directory)
        ctx.execute()
        check(directory, nasty(), *readers)


@pytest.mark.unbounded
def test_unbounded_writers_write_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """The sinks of a shared stream, and one that has a query of its own, write as a bounded job does."""
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        channel, stream = ctx.stream_channel(Deep)
        write(stream, tmp_path)
        alone, flats = ctx.stream_channel(Flat)
        flats.write_csv(tmp_path / "alone")
        channel.send_all(nasty())
        alone.send_all(row.flat for row in nasty())
        channel.close()
        alone.close()
        ctx.start().wait()
    check(tmp_path, nasty(), mo.StreamContext(engine="reference"))
    check_other_readers(tmp_path / "alone", "csv", [row.flat for row in nasty()])


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ([(1, b"a")], "bytes have no text"),
        ([b"a", b"b"], "bytes have no text"),
        (["a", None], "None and an empty text are the same line"),
    ],
)
def test_what_csv_files_cannot_hold_is_refused(elements: list[Any], reason: str, tmp_path: Path) -> None:
    stream = mo.StreamContext(engine="reference").stream_iter(elements)
    with pytest.raises(mo.PlanError, match=reason):
        stream.write_csv(tmp_path / "out")


@pytest.mark.parametrize("engine", ["reference", pytest.param("spark", marks=pytest.mark.jvm)])
def test_columns_that_are_often_none(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A line with one field that is None is not an empty line, and files take a column with nothing but None."""
    spark = None if engine == "reference" else request.getfixturevalue("spark")
    ctx = mo.StreamContext(spark, engine=engine, config=mo.Config(progress=False))
    numbers = ctx.stream_iter([1, None, 3])
    numbers.write_csv(tmp_path / "csv")
    nothing = ctx.stream_iter([(1, None), (2, None)])
    for format_ in FORMATS:
        getattr(nothing, f"write_{format_}")(tmp_path / f"none-{format_}")
    ctx.execute()
    same(ctx.stream_csv(tmp_path / "csv", Maybe).collect(), [Maybe(1), Maybe(None), Maybe(3)])
    assert sorted(n for file in files_in(tmp_path / "csv") for n in pd.read_csv(file)["value"].dropna()) == [1, 3]
    for file in files_in(tmp_path / "none-parquet"):
        assert {*pd.read_parquet(file)["_1"]} == {None}
    assert sum(len(pl.read_csv(file)) for file in files_in(tmp_path / "none-csv")) == 2
