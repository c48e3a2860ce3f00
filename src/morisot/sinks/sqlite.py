"""A table of an SQLite database as a sink."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from morisot.plan.endpoints import Sink
from morisot.private import make_directory, private_file
from morisot.sinks.values import quoted, refuse_other_width, row_of
from morisot.types.replicas import Replica

T = TypeVar("T")


class SQLite(Sink[T], commit="after_snapshot"):
    """Inserts a row for each element into a table of a database file.

    The rows of a batch are staged in a second table. One transaction inserts them and stores the number of the batch in
    the table `morisot_commits`, under `name`. The table is created if it does not exist.

    >>> import morisot as mo
    >>> ctx = mo.StreamContext(engine="reference")
    >>> ctx.stream_iter([("a", 1), ("b", 2)]).write_to(mo.sinks.SQLite("counts.db", "counts", ["word", "count"]))
    """

    def __init__(
        self, path: str | os.PathLike[str], table: str, columns: Sequence[str], *, name: str | None = None
    ) -> None:
        self._path = Path(path).absolute()
        self._table = table
        self._columns = tuple(columns)
        self._name = name or table

    def on_init(self, place: Replica) -> None:  # noqa: ARG002 - the signature of the protocol
        """Creates the file and the tables."""
        make_directory(self._path.parent)
        if not self._path.exists():
            private_file(self._path).close()
        names = self._names
        with self._transaction() as database:
            database.execute(f"CREATE TABLE IF NOT EXISTS {quoted(self._table)} ({names})")
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {self._staged} (morisot_sink TEXT, morisot_batch INTEGER, {names})"
            )
            database.execute(
                "CREATE TABLE IF NOT EXISTS morisot_commits (sink TEXT PRIMARY KEY, batch INTEGER NOT NULL)"
            )

    def last_committed(self) -> int | None:
        """The number in `morisot_commits`."""
        with self._transaction() as database:
            found = database.execute("SELECT batch FROM morisot_commits WHERE sink = ?", [self._name]).fetchone()
        return None if found is None else int(found[0])

    def prepare(self, batch: int, elements: Sequence[T]) -> None:
        """Stages the rows."""
        rows = []
        for element in elements:
            row = row_of(element)
            refuse_other_width(element, row, self._columns)
            rows.append((self._name, batch, *row))
        marks = ", ".join("?" * (len(self._columns) + 2))
        with self._transaction() as database:
            self._forget(database, batch)
            database.executemany(f"INSERT INTO {self._staged} VALUES ({marks})", rows)

    def commit(self, batch: int) -> None:
        """Moves the staged rows into the table, with the number of the batch."""
        chosen = f"SELECT {self._names} FROM {self._staged} WHERE morisot_sink = ? AND morisot_batch = ? ORDER BY rowid"
        with self._transaction() as database:
            database.execute(f"INSERT INTO {quoted(self._table)} ({self._names}) {chosen}", [self._name, batch])
            self._forget(database, batch)
            database.execute("INSERT OR REPLACE INTO morisot_commits VALUES (?, ?)", [self._name, batch])

    def abort(self, batch: int) -> None:
        """Removes the staged rows."""
        with self._transaction() as database:
            self._forget(database, batch)

    def _forget(self, database: sqlite3.Connection, batch: int) -> None:
        where = "WHERE morisot_sink = ? AND morisot_batch = ?"
        database.execute(f"DELETE FROM {self._staged} {where}", [self._name, batch])

    @property
    def _names(self) -> str:
        return ", ".join(map(quoted, self._columns))

    @property
    def _staged(self) -> str:
        return quoted(f"{self._table}_staged")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection for one transaction. Other threads call the next method."""
        with contextlib.closing(sqlite3.connect(self._path, timeout=60, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def __repr__(self) -> str:
        return f"SQLite({str(self._path)!r}, {self._table!r})"
