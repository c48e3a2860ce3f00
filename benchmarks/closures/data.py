"""The rows of the corpus in Parquet files, and the streams and frames that read them."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import cache
from morisot.types.element import Record, Tuple, leaves
from morisot.worker.codec.batches import arrow_type, encode

if TYPE_CHECKING:
    from benchmarks.closures.rows import Rows

DISTINCT = 4_000
"""The number of different rows of a kind; larger files repeat them."""
FILES = 2
SAMPLE = DISTINCT * FILES
"""Rows on which the answers are compared: all that are different, so that none is met for the first time later."""


def directory(rows: Rows, size: int) -> Path:
    """The Parquet files with this number of rows; made if there are none yet."""
    path = cache.DIRECTORY / f"closures-{rows.name}-v{cache.VERSION}-{size}"
    if not path.exists():
        unfinished = path.with_name(f"{path.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        repeated = list(itertools.islice(itertools.cycle(rows.take(min(size, DISTINCT))), size // FILES))
        pq.write_table(_table(rows, repeated), unfinished / "part-0.parquet")
        for number in range(1, FILES):
            shutil.copy(unfinished / "part-0.parquet", unfinished / f"part-{number}.parquet")
        unfinished.replace(path)
    return path


def sample(rows: Rows) -> list[Any]:
    """The rows of a sample's files, in their order."""
    return rows.take(SAMPLE // FILES) * FILES


def _table(rows: Rows, values: Sequence[Any]) -> pa.Table:
    arrays = encode(values, rows.type, _no_objects)
    fields = zip(columns_of(rows), leaves(rows.type), strict=True)
    return pa.Table.from_arrays(arrays, schema=pa.schema([(name, arrow_type(leaf.type)) for name, leaf in fields]))


def _no_objects(value: Any) -> bytes:
    raise TypeError(f"{value!r} has no type")


def columns_of(rows: Rows) -> list[str]:
    """The names of the columns: a record's fields, letters for the items of a tuple, `value` for anything else."""
    match rows.type:
        case Record(_, names):
            return list(names)
        case Tuple(items):
            return list("abcd"[: len(items)])
    return ["value"]


class Pair(NamedTuple):
    """A row of a table of two columns."""

    a: Any
    b: Any


class Four(NamedTuple):
    """A row of a table of four columns."""

    a: Any
    b: Any
    c: Any
    d: Any


def stream(ctx: Any, rows: Rows, path: Path) -> Any:
    """The stream of the rows: records as they are, tuples and plain values taken out of the table's rows."""
    if isinstance(rows.type, Record):
        return ctx.stream_parquet(str(path), rows.annotation)
    table = ctx.stream_parquet(str(path), _row_class(rows))
    if not isinstance(rows.type, Tuple):
        return table.map(lambda row: row.value)
    return table.map(lambda p: (p.a, p.b)) if len(rows.type.items) == 2 else table.map(lambda p: (p.a, p.b, p.c, p.d))


_CLASSES: dict[str, type] = {}


def _row_class(rows: Rows) -> type:
    if rows.name not in _CLASSES:
        items = rows.annotation.__args__ if isinstance(rows.type, Tuple) else (rows.annotation,)
        fields = list(zip(columns_of(rows), items, strict=True))
        _CLASSES[rows.name] = NamedTuple("Row", fields)  # type: ignore[assignment]
    return _CLASSES[rows.name]


def by_columns(rows: Rows, function: Callable[..., Any]) -> Callable[..., Any]:
    """The closure as a function of the table's columns, for a UDF."""
    match rows.type:
        case Record(cls):
            return lambda *fields: function(cls(*fields))
        case Tuple():
            return lambda *items: function(items)
    return lambda value: function(value)  # a builtin has no code that a UDF could look at
