"""A table of a PostgreSQL database as a sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from morisot.errors import EnvironmentProblem
from morisot.plan.endpoints import Sink, SinkPart
from morisot.sinks.values import quoted, refuse_other_width, row_of
from morisot.types.replicas import Replica

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")


class PostgreSQL(Sink[T], commit="after_snapshot", parallel=True):
    """Inserts a row for each element into a table, which must exist.

    Workers copy the rows of their parts into the table `<table>_staged`. One transaction inserts those of a batch into
    the table, and stores the number of the batch in the table `morisot_commits`, under `name`. `conninfo` is a
    connection string or URL of libpq. It is never printed. It needs the extra `morisot[postgres]`.
    """

    def __init__(self, conninfo: str, table: str, columns: Sequence[str], *, name: str | None = None) -> None:
        self._conninfo = conninfo
        self._table = table
        self._columns = tuple(columns)
        self._name = name or table

    def on_init(self, place: Replica) -> None:  # noqa: ARG002 - the signature of the protocol
        """Creates the tables for staged rows and for numbers of batches."""
        with self._connected() as database:
            # Two jobs may create the tables at the same time, which CREATE … IF NOT EXISTS does not allow.
            database.execute("SELECT pg_advisory_xact_lock(hashtext('morisot_commits'))")
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {self._staged} AS SELECT '' :: text AS morisot_sink, "
                "0 :: bigint AS morisot_batch, 0 AS morisot_instance, 0 :: bigint AS morisot_attempt, "
                f"{self._names} FROM {quoted(self._table)} WITH NO DATA"
            )
            database.execute(
                "CREATE TABLE IF NOT EXISTS morisot_commits (sink text PRIMARY KEY, batch bigint NOT NULL)"
            )

    def last_committed(self) -> int | None:
        """The number in `morisot_commits`."""
        with self._connected() as database:
            found = database.execute("SELECT batch FROM morisot_commits WHERE sink = %s", [self._name]).fetchone()
        return None if found is None else int(found[0])

    def prepare(self, batch: int, elements: Sequence[T], part: SinkPart) -> tuple[int, int]:
        """Copies the rows of a part. The receipt has the numbers of the part and of the attempt."""
        numbers = "morisot_sink, morisot_batch, morisot_instance, morisot_attempt"
        copy = f"COPY {self._staged} ({numbers}, {self._names}) FROM STDIN"
        with self._connected() as database, database.cursor() as cursor, cursor.copy(copy) as rows:
            for element in elements:
                row = row_of(element)
                refuse_other_width(element, row, self._columns)
                rows.write_row((self._name, batch, part.instance, part.attempt, *row))
        return part.instance, part.attempt

    def commit(self, batch: int, receipts: Sequence[tuple[int, int]]) -> None:
        """Moves the rows of the successful attempts into the table, with the number of the batch."""
        where = (
            "WHERE morisot_sink = %s AND morisot_batch = %s AND (morisot_instance, morisot_attempt) IN "
            "(SELECT * FROM unnest(%s :: int[], %s :: bigint[]))"
        )
        instances, attempts = ([receipt[index] for receipt in receipts] for index in (0, 1))
        insert = f"INSERT INTO {quoted(self._table)} ({self._names}) SELECT {self._names} FROM {self._staged}"
        with self._connected() as database:
            database.execute(f"{insert} {where}", [self._name, batch, instances, attempts])
            self._forget(database, batch)
            database.execute(
                "INSERT INTO morisot_commits VALUES (%s, %s) ON CONFLICT (sink) DO UPDATE SET batch = excluded.batch",
                [self._name, batch],
            )

    def abort(self, batch: int, receipts: Sequence[tuple[int, int]]) -> None:  # noqa: ARG002
        """Removes the rows of all attempts."""
        with self._connected() as database:
            self._forget(database, batch)

    def _forget(self, database: psycopg.Connection[Any], batch: int) -> None:
        where = "WHERE morisot_sink = %s AND morisot_batch = %s"
        database.execute(f"DELETE FROM {self._staged} {where}", [self._name, batch])

    @property
    def _names(self) -> str:
        return ", ".join(map(quoted, self._columns))

    @property
    def _staged(self) -> str:
        return quoted(f"{self._table}_staged")

    def _connected(self) -> psycopg.Connection[Any]:
        """A connection, whose block is one transaction, and which is closed at its end."""
        try:
            import psycopg
        except ImportError:
            raise EnvironmentProblem(
                "the PostgreSQL sink needs psycopg.\n  What to do: pip install 'morisot[postgres]', also on the workers"
            ) from None
        try:
            return psycopg.connect(self._conninfo)
        except psycopg.OperationalError as error:
            raise ConnectionError(str(error).strip()) from None
        except psycopg.Error:  # its text repeats parts of the connection string
            raise ConnectionError("the connection string is not one of libpq") from None

    def __repr__(self) -> str:
        return f"PostgreSQL({self._table!r})"
