"""The sinks for files and databases, without a JVM: each call of the protocol, again and in part."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.sinks.values import line_of, row_of
from tests.postgres import PASSWORD


class Pair(NamedTuple):
    word: str
    number: int | None


@dataclass
class Point:
    x: int
    y: str


PLACE = mo.Replica(0, 1, "here")
Rows = Callable[[], list[tuple[Any, ...]]]


def lines_in(directory: Path) -> list[str]:
    files = sorted(directory.glob("batch=*/part-*"))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def made(kind: str, directory: Path, request: pytest.FixtureRequest) -> tuple[mo.Sink[Any], Rows]:
    """A sink, and a function that reads what it has committed."""
    columns = ["word", "count"]
    if kind == "directory":
        import json

        path = directory / "out"
        return mo.sinks.Directory(path), lambda: [tuple(json.loads(line).values()) for line in lines_in(path)]
    if kind == "sqlite":
        file = directory / "rows.db"

        def read() -> list[tuple[Any, ...]]:
            with sqlite3.connect(file) as database:
                return list(database.execute("SELECT word, count FROM counts ORDER BY rowid"))

        return mo.sinks.SQLite(file, "counts", columns), read
    import psycopg

    conninfo = request.getfixturevalue("postgres")
    table = f"t{abs(hash(directory))}"
    with psycopg.connect(conninfo) as database:
        database.execute(f"CREATE TABLE {table} (word text NOT NULL, count bigint)")

    def select() -> list[tuple[Any, ...]]:
        with psycopg.connect(conninfo) as database:
            return sorted(database.execute(f"SELECT word, count FROM {table}").fetchall())

    return mo.sinks.PostgreSQL(conninfo, table, columns), select


def prepared(sink: Any, batch: int, elements: Sequence[Any], attempt: int = 0) -> list[Any]:
    """The arguments of commit and abort after the number: the receipts of a parallel sink with two parts."""
    if not sink.is_parallel:
        sink.prepare(batch, elements)
        return []
    half = len(elements) // 2
    parts = [(0, elements[:half]), (1, elements[half:])]
    return [[sink.prepare(batch, part, mo.SinkPart(number, attempt)) for number, part in parts if part]]


KINDS = ["directory", "sqlite", "postgresql"]
ONE = [Pair("a", 1), Pair("b", None)]
TWO = [Pair("ü", 3)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_committed_is_visible_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    sink, rows = made(kind, tmp_path, request)
    sink.on_init(PLACE)
    assert sink.last_committed() is None
    receipts = prepared(sink, 0, ONE)
    assert rows() == []
    sink.commit(0, *receipts)
    assert rows() == [tuple(pair) for pair in ONE]
    if sink.last_committed() is None:  # its commit is idempotent
        sink.commit(0, *receipts)
    else:
        assert sink.last_committed() == 0
    prepared(sink, 1, TWO, attempt=1)  # of a task whose result does not count
    receipts = prepared(sink, 1, TWO, attempt=2)
    if not sink.is_parallel:
        sink.abort(1)
        sink.prepare(1, TWO)
    sink.commit(1, *receipts)
    assert rows() == [tuple(pair) for pair in [*ONE, *TWO]]
    empty = prepared(sink, 2, [])
    sink.commit(2, *empty)
    sink.abort(3, *prepared(sink, 3, ONE))
    sink.on_exit()
    again, _ = made(kind, tmp_path, request) if kind != "postgresql" else (sink, rows)
    again.on_init(PLACE)
    assert again.last_committed() in (2, None)
    assert rows() == [tuple(pair) for pair in [*ONE, *TWO]]


def test_a_directory_goes_back_to_a_batch(tmp_path: Path) -> None:
    sink = mo.sinks.Directory[str](tmp_path / "out")
    sink.on_init(PLACE)
    for batch in range(3):
        sink.commit(batch, *prepared(sink, batch, [f"line {batch}"]))
    sink.roll_back(0)
    assert lines_in(tmp_path / "out") == ["line 0"]
    with pytest.raises(FileExistsError, match="batch=000000000 is there already"):
        prepared(sink, 0, ["other"])
    with pytest.raises(FileNotFoundError, match="prepared files are missing in .*part-00000-7"):
        sink.commit(5, ["part-00000-7"])
    with pytest.raises(ValueError, match="a line break"):
        prepared(sink, 6, ["one\ntwo"])
    assert stat.S_IMODE((tmp_path / "out" / "_staged").stat().st_mode) == 0o700
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in (tmp_path / "out").glob("batch=*/part-*"))


def test_a_new_database_is_private(tmp_path: Path) -> None:
    sink = mo.sinks.SQLite[int](tmp_path / "a.db", "numbers", ["n"])
    sink.on_init(PLACE)
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600
    with pytest.raises(ValueError, match=r"\(1, 2\) has 2 values for the columns n"):
        sink.prepare(0, [(1, 2)])  # type: ignore[list-item]


def test_secrets_are_not_shown(capsys: pytest.CaptureFixture[str], postgres: str) -> None:
    ctx = mo.StreamContext(engine="reference")
    stream = ctx.stream_rate(1)
    sink = mo.sinks.PostgreSQL[Any](postgres, "t", ["n"])
    stream.write_to(sink)
    stream.explain()
    said = capsys.readouterr().out + repr(sink)
    for node in ctx._sinks:
        said += repr(node.parameters)
    assert PASSWORD not in said
    ctx._sinks.clear()
    for wrong in (f"{PASSWORD} host=/nowhere", f"host=/nowhere password={PASSWORD}"):
        with pytest.raises(ConnectionError) as failure:
            mo.sinks.PostgreSQL[Any](wrong, "t", ["n"]).on_init(PLACE)
        assert PASSWORD not in str(failure.value)


def test_an_element_is_a_row_and_a_line() -> None:
    assert [row_of(each) for each in (Pair("a", 1), Point(1, "b"), 3)] == [("a", 1), (1, "b"), (3,)]
    assert [line_of(each) for each in ("ä b", 1.5, Pair("ä", None), Point(1, "b"))] == [
        "ä b",
        "1.5",
        '{"word": "ä", "number": null}',
        '{"x": 1, "y": "b"}',
    ]
