"""User-defined unbounded sources as Python data sources of Spark."""

from __future__ import annotations

import base64
import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.plan.endpoints import OffsetSource
from morisot.plan.life_cycle import uses_store
from morisot.plan.nodes.source import StreamOffsets
from morisot.types.element import Type
from morisot.types.replicas import having_store, sent
from morisot.worker.codec.batches import Misfit, encode
from morisot.worker.replicas.replica import LiveReplica, Placed, has_ended, replica_of
from morisot.worker.report.failure import SOURCE, WorkerFailure
from morisot.worker.report.signature import Seal


def stream(spark: SparkSession, node: StreamOffsets, placed: Placed | None) -> DataFrame:
    """The elements of the source, with a column for each leaf. Spark reads it in a separate Python process.

    `placed` is the source as an object with callbacks, if it has any.
    """
    reader = OffsetReader(
        node.source, node.type, f"{node.operator} ({node.location})", current_seal(), placed, has_ids=node.has_ids
    )
    name = f"morisot_{uuid.uuid4().hex}"

    class UsersSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return schema.ddl(node.type)

        def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:  # noqa: N802 - Spark's name
            return reader

    spark.dataSource.register(UsersSource)
    return spark.readStream.format(name).load()


def _first_part(read: tuple[Iterable[Any], dict[str, Any]]) -> tuple[list[Any], dict[str, Any]]:
    elements, end = read
    return list(elements), end


def _unchanged(found: Any) -> Any:
    return found


class OffsetReader(SimpleDataSourceStreamReader):
    """Spark's interface of a source, which calls the user's source."""

    def __init__(
        self,
        source: OffsetSource[Any],
        type_: Type,
        title: str,
        seal: Seal,
        placed: Placed | None = None,
        *,
        has_ids: bool = False,
    ) -> None:
        self._has_ids = has_ids
        self._source = source
        self._placed = placed
        self._stored = uses_store(source)
        """Whether the offsets for Spark contain the key store as well."""
        self._type = type_
        self._title = title
        self._seal = seal

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        offset: dict[str, Any] = self._asked("initial_offset()", "initial_offset")
        return self._with_store(offset, {}) if self._stored else offset

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        if self._placed is not None and has_ended(self._placed):
            return iter(()), start  # Spark reads until the query ends
        offset, store = self._parts(start)
        asked = f"read({offset})"
        elements, end = self._asked(asked, "read", offset, store=store, collects=_first_part)
        if store is not None:
            end = start if end == offset else self._with_store(end, store)
        return self._rows(asked, elements), end

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:  # noqa: N802
        (first, store), (last, _) = self._parts(start), self._parts(end)
        asked = f"read_again({first}, {last})"
        return self._rows(asked, self._asked(asked, "read_again", first, last, store=store, collects=list))

    def commit(self, end: dict[str, Any]) -> None:
        if self._placed is not None and has_ended(self._placed):
            return
        offset, _ = self._parts(end)
        self._asked(f"commit({offset})", "commit", offset)

    def _parts(self, offset: dict[str, Any]) -> tuple[dict[str, Any], dict[Any, Any] | None]:
        """The offset of the user, and the key store at it."""
        if not self._stored:
            return offset, None
        return offset["offset"], pickle.loads(base64.b64decode(offset["store"]))

    def _with_store(self, offset: dict[str, Any], store: dict[Any, Any]) -> dict[str, Any]:
        return {"offset": offset, "store": base64.b64encode(pickle.dumps(store)).decode()}

    def _rows(self, asked: str, given: list[Any]) -> Iterator[tuple[Any, ...]]:
        try:
            if self._has_ids:
                given = [*map(sent, given)]
            columns = [as_plain(column) for column in encode(given, self._type, dumps)]
        except TypeError as error:
            raise self._failed(asked, error) from None
        except Misfit as error:
            raise self._failed(asked, TypeError(f"{error}; correct the type given to stream(…)")) from None
        return iter(list(zip(*columns, strict=True)))  # the iterator of a list, which Spark copies to read it again

    def _asked(
        self,
        asked: str,
        method: str,
        *arguments: Any,
        store: dict[Any, Any] | None = None,
        collects: Callable[[Any], Any] = _unchanged,
    ) -> Any:
        """Calls a method of the source, and collects the elements that it returns while it has its key store."""
        source: LiveReplica | None = None
        try:
            if self._placed is None:
                return collects(getattr(self._source, method)(*arguments))
            source = replica_of(self._placed, 0)
            with having_store(source.operator, store):
                return collects(source.call(method, *arguments))
        except Exception as error:
            if source is not None:
                source.fail(error)
            raise self._failed(asked, error) from None

    def _failed(self, asked: str, error: Exception) -> Exception:
        """The signed failure, by which the driver knows that it is the source's."""
        name = type(self._source).__name__
        said = f"{self._title}: {name}.{asked} failed: {type(error).__name__}: {error}"
        return WorkerFailure(f"{self._seal.sealed({'kind': SOURCE, 'said': said})} {said}")


def as_plain(column: Any) -> list[Any]:
    """The values of a column as Spark requires them in a row: as from Arrow, but maps as dicts."""
    return [_plain(value, column.type) for value in column.to_pylist()]


def _plain(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(type_):
        return {key: _plain(each, type_.item_type) for key, each in value}
    if pa.types.is_list(type_):
        return [_plain(each, type_.value_type) for each in value]
    if pa.types.is_struct(type_):
        return {field.name: _plain(value[field.name], field.type) for field in type_}
    return value
