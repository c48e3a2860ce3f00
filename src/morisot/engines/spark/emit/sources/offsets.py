"""User-defined unbounded sources as Python data sources of Spark."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.emit.python.signing import current_seal
from morisot.plan.endpoints import OffsetSource
from morisot.plan.nodes.source import StreamOffsets
from morisot.types.element import Type
from morisot.worker.codec.batches import Misfit, encode
from morisot.worker.report.failure import SOURCE, WorkerFailure
from morisot.worker.report.signature import Seal


def stream(spark: SparkSession, node: StreamOffsets) -> DataFrame:
    """The elements of the source, with a column for each leaf. Spark reads it in a separate Python process."""
    reader = OffsetReader(node.source, node.type, f"{node.operator} ({node.location})", current_seal())
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


class OffsetReader(SimpleDataSourceStreamReader):
    """Spark's interface of a source, which calls the user's source."""

    def __init__(self, source: OffsetSource[Any], type_: Type, title: str, seal: Seal) -> None:
        self._source = source
        self._type = type_
        self._title = title
        self._seal = seal

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        offset: dict[str, Any] = self._asked("initial_offset()", self._source.initial_offset)
        return offset

    def read(self, start: dict[str, Any]) -> tuple[Iterator[tuple[Any, ...]], dict[str, Any]]:
        elements, end = self._asked(f"read({start})", self._source.read, start)
        return self._rows(f"read({start})", elements), end

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[tuple[Any, ...]]:  # noqa: N802
        asked = f"read_again({start}, {end})"
        return self._rows(asked, self._asked(asked, self._source.read_again, start, end))

    def commit(self, end: dict[str, Any]) -> None:
        self._asked(f"commit({end})", self._source.commit, end)

    def _rows(self, asked: str, elements: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        given = self._asked(asked, list, elements)
        try:
            columns = [as_plain(column) for column in encode(given, self._type, dumps)]
        except Misfit as error:
            raise self._failed(asked, TypeError(f"{error}; correct the type given to stream(…)")) from None
        return iter(list(zip(*columns, strict=True)))  # the iterator of a list, which Spark copies to read it again

    def _asked(self, asked: str, method: Any, *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except Exception as error:
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
