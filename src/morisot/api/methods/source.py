"""Sources: the `stream_…` methods of a context."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, overload

from morisot.api.base import PathLike, check_batch_size, check_callable
from morisot.api.inlet import Inlet, Memory, Store
from morisot.api.location import caller
from morisot.api.methods.kafka import KafkaMethods
from morisot.api.methods.rowwise import items_declared
from morisot.api.methods.state import without_ids
from morisot.compile.table.records import is_plain_constructor
from morisot.errors import Location, PlanError, SourceError
from morisot.plan.endpoints import OffsetSource, Source
from morisot.plan.files import is_local
from morisot.plan.life_cycle import has_life_cycle, names_in
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import (
    OnError,
    StreamArrow,
    StreamChannel,
    StreamCsv,
    StreamDataframe,
    StreamFile,
    StreamIter,
    StreamJson,
    StreamOffsets,
    StreamParIter,
    StreamParquet,
    StreamRange,
    StreamRate,
    StreamSocket,
)
from morisot.plan.nodes.state import SENT_TYPES
from morisot.runtime.local_files import is_partitioned, local_files, only_directories
from morisot.types import arrow, infer
from morisot.types.element import ANY, INT, NONE, STR, List, Record, Tuple, Type, contains_any
from morisot.types.records import is_record_class
from morisot.types.replicas import Emit, Replica, having_store, sent
from morisot.worker.codec.numpy_scalars import without_numpy
from morisot.worker.files.format import Kind

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from morisot.api.engine import Engine
    from morisot.api.stream import Stream

T = TypeVar("T")


class SourceMethods(KafkaMethods):
    """Sources. Those of files and topics take `unbounded=True` to follow a directory or a topic."""

    if TYPE_CHECKING:

        @property
        def engine(self) -> Engine: ...

        def _store(self, type_: Type, capacity: int) -> tuple[Store, Callable[[Any], None]]: ...

        def _line(self, host: str, port: int, location: Location) -> Store | None: ...

    def stream_iter(self, iterable: Iterable[T], *, returns: Any = None) -> Stream[T]:
        """The items of an iterable, which is read once, now. `returns=` declares their type.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter("abc").collect()
        ['a', 'b', 'c']
        """
        if isinstance(iterable, range) and returns in (None, int):
            return self._range(iterable, "stream_iter")  # type: ignore[return-value]
        if not isinstance(iterable, Iterable):
            raise PlanError(f"stream_iter needs an iterable, not {iterable!r}", location=caller())
        values = list(iterable)
        if returns is None:
            type_ = infer.of_values(values)
        else:
            type_ = infer.of_annotation(returns)
            values = _checked(values, type_)
        type_ = ANY if type_ == NONE else type_
        return self.plain(StreamIter(values, type=type_, location=caller()))

    @overload
    def stream_par_iter(self, generator: range) -> Stream[int]: ...
    @overload
    def stream_par_iter(self, generator: Callable[[int, int], Iterable[T]], *, returns: Any = None) -> Stream[T]: ...
    def stream_par_iter(self, generator: Any, *, returns: Any = None) -> Stream[Any]:
        """A range, or the elements that `generator(instance, instances)` yields, generated in parallel tasks.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_par_iter(range(3)).collect()
        [0, 1, 2]
        """
        if isinstance(generator, range):
            return self._range(generator, "stream_par_iter")
        location = caller()
        check_callable(generator, "stream_par_iter", 2, location)
        declared = items_declared(generator, returns)
        closure = Closure(generator, location, "stream_par_iter", declared)
        item: Type = declared.item if isinstance(declared, List) else ANY
        return self.plain(StreamParIter(closure, type=item, location=location))

    def _range(self, numbers: range, operator: str) -> Stream[int]:
        if numbers and not all(-(2**63) <= end < 2**63 for end in (numbers[0], numbers[-1])):
            raise PlanError(f"{numbers} is beyond 64 bits, the range of an int element", location=caller())
        return self.plain(StreamRange(numbers, type=INT, location=caller(), operator=operator))

    def stream_file(
        self, path: PathLike, *, unbounded: bool = False, files_per_batch: int | None = None
    ) -> Stream[str]:
        """The lines of a text file, of all files of a directory, or of a glob's; `.gz` is decompressed."""
        where = checked_path(path, "stream_file", unbounded)
        following = followed("stream_file", unbounded, files_per_batch)
        return self.plain(StreamFile(where, **following, type=STR, location=caller()))

    def stream_csv(
        self,
        path: PathLike,
        record: type[T],
        *,
        header: bool = True,
        delimiter: str = ",",
        quote: str = '"',
        multiline: bool = False,
        on_error: OnError = "raise",
        unbounded: bool = False,
        files_per_batch: int | None = None,
    ) -> Stream[T]:
        """The rows of CSV files as records of a dataclass or NamedTuple.

        Columns are matched with fields by the names of the header, or by position without a header. A row that does not
        fit stops the job; with `on_error="skip"` it is skipped and counted.
        """
        where = checked_path(path, "stream_csv", unbounded)
        type_ = self._declared(record, "stream_csv")
        if on_error not in ("raise", "skip"):
            raise PlanError(f"on_error is {on_error!r}: give 'raise' or 'skip'", location=caller())
        for name, child in type_.children:
            if child.children or isinstance(child, List):
                raise PlanError(
                    f"the field {name} of {type_} has the type {child}; a CSV field holds one plain value",
                    location=caller(),
                )
        options: dict[str, Any] = {
            "header": header,
            "delimiter": delimiter,
            "quote": quote,
            "multiline": multiline,
            "on_error": on_error,
            **followed("stream_csv", unbounded, files_per_batch),
        }
        rows = self.plain(StreamCsv(where, **options, type=type_, location=caller()))
        return self._constructed(rows, record, on_error)

    @overload
    def stream_json(
        self,
        path: PathLike,
        record: type[T],
        *,
        on_error: OnError = "raise",
        unbounded: bool = False,
        files_per_batch: int | None = None,
    ) -> Stream[T]: ...
    @overload
    def stream_json(
        self,
        path: PathLike,
        record: None = None,
        *,
        on_error: OnError = "raise",
        unbounded: bool = False,
        files_per_batch: int | None = None,
    ) -> Stream[Any]: ...
    def stream_json(
        self,
        path: PathLike,
        record: Any = None,
        *,
        on_error: OnError = "raise",
        unbounded: bool = False,
        files_per_batch: int | None = None,
    ) -> Stream[Any]:
        """The objects of files with one JSON object a line, as records."""
        where = checked_path(path, "stream_json", unbounded)
        type_ = self._declared(record, "stream_json") if record else self._row_type("json", where, on_error)
        following = followed("stream_json", unbounded, files_per_batch)
        rows = self.plain(StreamJson(where, on_error=on_error, **following, type=type_, location=caller()))
        return self._constructed(rows, record, on_error) if record else rows

    def _row_type(self, kind: Kind, path: str, on_error: OnError = "raise") -> Record:
        return self.engine.row_type(kind, path, caller(), skips=on_error == "skip")

    @overload
    def stream_parquet(
        self, path: PathLike, record: type[T], *, unbounded: bool = False, files_per_batch: int | None = None
    ) -> Stream[T]: ...
    @overload
    def stream_parquet(
        self, path: PathLike, record: None = None, *, unbounded: bool = False, files_per_batch: int | None = None
    ) -> Stream[Any]: ...
    def stream_parquet(
        self, path: PathLike, record: Any = None, *, unbounded: bool = False, files_per_batch: int | None = None
    ) -> Stream[Any]:
        """The rows of Parquet files as records, of a given class, or of one derived from the columns."""
        where = checked_path(path, "stream_parquet", unbounded)
        type_ = self._declared(record, "stream_parquet") if record else self._row_type("parquet", where)
        following = followed("stream_parquet", unbounded, files_per_batch)
        rows = self.plain(StreamParquet(where, **following, type=type_, location=caller()))
        return self._constructed(rows, record) if record else rows

    def stream_dataframe(self, frame: DataFrame) -> Stream[Any]:
        """The rows of a Spark DataFrame as records. A streaming DataFrame is an unbounded stream."""
        type_ = self.engine.frame_type(frame)
        return self.plain(StreamDataframe(frame, unbounded=frame.isStreaming, type=type_, location=caller()))

    def stream_arrow(self, table: pyarrow.Table) -> Stream[Any]:
        """The rows of an Arrow table as records.

        >>> import morisot as mo, pyarrow as pa
        >>> rows = mo.StreamContext(engine="reference").stream_arrow(pa.table({"a": [1, 2]}))
        >>> rows.map(lambda row: row.a * 2).collect()
        [2, 4]
        """
        return self.plain(StreamArrow(table, type=arrow.row_type_of(table.schema), location=caller()))

    def stream_rate(self, n_per_second: int) -> Stream[int]:
        """The integers 0, 1, 2, … at a steady rate, unbounded."""
        if type(n_per_second) is not int or n_per_second < 1:
            raise PlanError(f"stream_rate cannot emit {n_per_second!r} elements a second", location=caller())
        return self.plain(StreamRate(n_per_second, type=INT, location=caller()))

    def stream_socket(self, host: str, port: int) -> Stream[str]:
        """The lines, in UTF-8, that a server at `host` and `port` sends, until it has no more."""
        if not host or not isinstance(host, str):
            raise PlanError(f"stream_socket needs the name of a host, not {host!r}", location=caller())
        if type(port) is not int or not 0 < port < 2**16:
            raise PlanError(f"stream_socket needs a port from 1 to 65535, not {port!r}", location=caller())
        location = caller()
        return self.plain(StreamSocket(self._line(host, port, location), host, port, type=STR, location=location))

    def stream_channel(self, returns: Any = None, *, capacity: int = 10_000) -> tuple[Inlet[Any], Stream[Any]]:
        """An inlet, through which threads of the program send elements of a type, and the stream of these elements.

        >>> import morisot as mo
        >>> ctx = mo.StreamContext(engine="reference")
        >>> inlet, numbers = ctx.stream_channel(int)
        >>> with inlet:
        ...     inlet.send_all([1, 2, 3])
        >>> numbers.map(lambda n: n + 1).collect()
        [2, 3, 4]
        """
        if type(capacity) is not int or capacity < 1:
            raise PlanError(f"capacity is {capacity!r}: give a whole number of 1 or more", location=caller())
        type_ = ANY if returns is None else infer.of_annotation(returns)
        store, check = self._store(type_, capacity)
        on_spark = not isinstance(store, Memory)
        node = StreamChannel(store, unbounded=on_spark, type=type_, location=caller(), operator="stream_channel")
        return Inlet(store, check), self.plain(node)

    def stream(self, source: Source[T] | OffsetSource[T], *, returns: Any = None) -> Stream[T]:
        """The elements of a user-defined source, a `mo.Source` or, unbounded, a `mo.OffsetSource`.

        >>> import morisot as mo
        >>> class Countdown(mo.Source[int]):
        ...     def read(self):
        ...         return range(3, 0, -1)
        >>> mo.StreamContext(engine="reference").stream(Countdown()).collect()
        [3, 2, 1]
        """
        location = caller()
        declared = returns if returns is not None else element_declared(source)
        has_ids = get_origin(declared) is Emit or names_in(source, Emit.__name__)
        if get_origin(declared) is Emit:
            (declared,) = get_args(declared)
        element = ANY if declared is None else infer.of_annotation(declared)
        type_ = Tuple((*SENT_TYPES, element)) if has_ids else element
        node = self._source(source, type_, location, has_ids=has_ids)
        return self.plain(without_ids(node, element, location) if has_ids else node)

    def _source(
        self, source: Source[Any] | OffsetSource[Any], type_: Type, location: Location, *, has_ids: bool
    ) -> Node:
        if isinstance(source, OffsetSource):
            return StreamOffsets(source, has_ids=has_ids, type=type_, location=location, operator="stream")
        if not isinstance(source, Source):
            raise PlanError(
                f"stream needs a mo.Source or a mo.OffsetSource, not {source!r}",
                location=location,
                advice="derive a class from one of them, or use stream_iter(…) for elements in memory",
            )
        closure = Closure(FirstReads(source, has_ids=has_ids), location, "stream", List(type_))
        return StreamParIter(closure, type=type_, location=location, operator="stream")

    def _declared(self, record: Any, operator: str) -> Record:
        if not (isinstance(record, type) and (is_record_class(record) or is_dataclass(record))):
            raise PlanError(
                f"{operator} needs a dataclass or NamedTuple, not {record!r}",
                location=caller(),
                advice="declare the row: class Row(NamedTuple): name: str; count: int",
            )
        name = record.__name__
        type_ = infer.of_record_class(record) if is_plain_constructor(record) else infer.of_arguments(record)
        if contains_any(type_):
            untyped = [name for name, child in type_.children if contains_any(child)]
            raise PlanError(
                f"{operator} cannot read the field {untyped[0]} of {name}: its annotation is no element type",
                location=caller(),
                advice="use int, float, bool, str, bytes, date, datetime, `… | None`, lists, or records of those",
            )
        for field, child in type_.children:
            for cls in _classes(child):
                if not is_plain_constructor(cls):
                    raise PlanError(
                        f"{operator} cannot read the field {field} of {name}: the constructor of "
                        f"{cls.__name__} does more than store its arguments",
                        location=caller(),
                        advice=f"declare the field with a plain record class, and make the {cls.__name__} in a map",
                    )
        return type_

    def _constructed(self, rows: Stream[Any], record: Any, on_error: OnError = "raise") -> Stream[Any]:
        """The rows as records. A constructor that does more than store its arguments is called for each row."""
        if rows.type == infer.of_record_class(record):
            return rows
        return rows.map(Constructed(record, rows.type.names), returns=record, on_error=on_error)  # type: ignore[attr-defined]


def _checked(values: list[Any], type_: Type) -> list[Any]:
    """The elements of a declared type, without numpy scalars. Raises an error for an element of another type."""
    if type_ != ANY:
        values = [without_numpy(value) for value in values]
    for value in values:
        if not infer.is_instance(value, type_):
            raise PlanError(
                f"stream_iter is declared to have elements of the type {type_}, and {value!r} is not one",
                location=caller(),
                advice="correct `returns=`, or convert the elements",
            )
    return values


def _classes(type_: Type) -> Iterator[type]:
    """The classes of the records in a type."""
    if isinstance(type_, Record):
        yield type_.cls
    inside = [getattr(type_, name) for name in ("inner", "item", "value") if hasattr(type_, name)]
    for part in (*inside, *(child for _, child in type_.children)):
        yield from _classes(part)


class Constructed:
    """Makes a record of a row, by the constructor of its class."""

    def __init__(self, record: type, names: tuple[str, ...]) -> None:
        self._record = record
        self._names = names
        self.__name__ = record.__name__

    def __call__(self, row: tuple[Any, ...]) -> Any:
        return self._record(**dict(zip(self._names, row, strict=True)))


class FirstReads:
    """A parallel source of which only the first instance reads, and calls the callbacks."""

    def __init__(self, source: Source[Any], *, has_ids: bool) -> None:
        self._source = source
        self._has_ids = has_ids

    def __call__(self, instance: int, _instances: int) -> Iterable[Any]:
        if instance != 0:
            return ()
        found = self._with_callbacks() if has_life_cycle(self._source) else self._source.read()
        return map(sent, found) if self._has_ids else found

    def _with_callbacks(self) -> Iterator[Any]:
        source = self._source
        with having_store(source, {}):
            try:
                source.on_init(Replica(0, 1, socket.gethostname()))
                yield from source.read()
            except Exception as error:
                source.on_error(error)
                raise
            finally:
                source.on_exit()


def element_declared(source: Any) -> Any:
    """The type argument of a class that derives from `Source[int]`; None if it has none."""
    for base in getattr(type(source), "__orig_bases__", ()):
        if get_origin(base) in (Source, OffsetSource) and not isinstance(get_args(base)[0], TypeVar):
            return get_args(base)[0]
    return None


def followed(operator: str, unbounded: bool, files_per_batch: int | None) -> dict[str, Any]:
    """The fields of a node that follows a directory."""
    check_batch_size(files_per_batch, "files_per_batch", operator, unbounded=unbounded, followed="directory")
    return {"unbounded": unbounded, "files_per_batch": files_per_batch}


def checked_path(path: PathLike, operator: str, unbounded: bool) -> str:
    """The path as text. Raises an error for a local path without files."""
    text = os.fspath(path)
    if not is_local(text):
        return text
    if unbounded and not Path(text).is_dir():
        raise SourceError(f"{operator} ({caller()}) follows a directory, and {text!r} is none")
    if not unbounded and not Path(text).is_dir() and not local_files(text):
        raise SourceError(f"{operator} ({caller()}) finds no file at {text!r}")
    inside = [] if unbounded else only_directories(text)
    if inside and not (operator == "stream_parquet" and is_partitioned(text)):
        raise SourceError(
            f"{operator} ({caller()}) finds no file at {text!r}, but directories, such as {inside[0]!r}, which are "
            f"ignored\n  What to do: name them with a pattern, such as {str(Path(text) / '*')!r}"
        )
    return str(Path(text).absolute())
