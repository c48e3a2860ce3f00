"""Sinks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from morisot.api import kafka
from morisot.api.base import PathLike, StreamBase, T
from morisot.api.location import caller
from morisot.api.output import Channel, Output
from morisot.errors import PlanError
from morisot.plan.endpoints import Sink as UsersSink
from morisot.plan.endpoints import refuse_both
from morisot.plan.files import is_local
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Ordered
from morisot.plan.nodes.rowwise import Map
from morisot.plan.nodes.sink import (
    AT_THE_END,
    CollectChannel,
    CollectCount,
    CollectVec,
    ForEach,
    SinkNode,
    WriteCsv,
    WriteJson,
    WriteKafka,
    WriteMode,
    WriteParquet,
    WriteText,
    WriteTo,
)
from morisot.runtime.sink_protocol import handing_over
from morisot.types.element import ANY, BYTES, STR, Dict, List, Optional, Tuple, Type, contains_any, holds, with_value

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame


class SinkMethods(StreamBase[T]):
    """Sinks. `collect` and `to_…` run at once; the others run with `ctx.execute()` or `ctx.start()`."""

    def collect(self, *, ordered: bool = False) -> list[T]:
        """All elements as a list; runs now. With `ordered` they are in stream order, whatever operators gave it up.

        >>> import morisot as mo
        >>> mo.StreamContext(engine="reference").stream_iter([1, 2]).collect()
        [1, 2]
        """
        self._refuse_unbounded("collect")
        return self._context.engine.collect(self._given(ordered))

    def to_arrow(self) -> pyarrow.Table:
        """The elements as an Arrow table, a column for each field; runs now."""
        self._refuse_unbounded("to_arrow")
        self._refuse_untyped("to_arrow")
        table: pyarrow.Table = self._context.engine.to_arrow(self._node)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """The elements as a pandas DataFrame, a column for each field; runs now."""
        self._refuse_unbounded("to_pandas")
        self._refuse_untyped("to_pandas")
        return self.to_arrow().to_pandas()

    def to_dataframe(self) -> DataFrame:
        """The elements as a Spark DataFrame, with a column for each field."""
        self._refuse_unbounded("to_dataframe")
        self._refuse_untyped("to_dataframe")
        df: DataFrame = self._context.engine.to_dataframe(self._node)
        return df

    def collect_vec(self, *, ordered: bool = False) -> Output[list[T]]:
        """All elements as a list, available after `ctx.execute()`; with `ordered` in stream order."""
        output: Output[list[T]] = Output("collect_vec")
        node = CollectVec(self._given(ordered), type=self.type, location=caller())
        self._context.add_sink(node, output.fill)
        return output

    def collect_count(self) -> Output[int]:
        """The number of elements, available after `ctx.execute()`."""
        output: Output[int] = Output("collect_count")
        node = CollectCount(self._node, type=self.type, location=caller())
        self._context.add_sink(node, lambda counts: output.fill(counts[0]))
        return output

    def collect_channel(self, capacity: int = 10_000, *, ordered: bool = False) -> Channel[T]:
        """A queue of results, filled while the job runs: iterate over it, or `get` one. A full queue blocks the job.

        With `ordered` the results are in stream order.
        """
        if type(capacity) is not int or capacity < 1:
            raise PlanError(f"collect_channel: capacity is {capacity!r}: give 1 or more", location=caller())
        channel: Channel[T] = Channel(capacity)
        node = CollectChannel(self._given(ordered), type=self.type, location=caller())
        self._context.add_sink(node, channel.put_all, channel)
        return channel

    def for_each(self, function: Callable[..., Any], *, with_batch: bool = False, ordered: bool = False) -> None:
        """Calls `function` on each element in this process, on each (key, value) of a keyed stream.

        With `ordered` it is called in stream order. With `with_batch` the number of the micro-batch is its first
        argument. A bounded stream is micro-batch 0.
        """
        function = function if with_batch else self._spread(function, frozen=False)
        closure = self._closure(function, "for_each", len(self._arguments) + with_batch)
        node = ForEach(self._given(ordered), closure, with_batch, type=self.type, location=closure.location)
        self._context.add_sink(node, self._context.calling(node))

    def write_to(self, sink: UsersSink[T], *, ordered: bool = False) -> None:
        """Passes the elements of each micro-batch to a user-defined sink, a `mo.Sink`; with `ordered` in stream order.

        A parallel sink gets the parts of a micro-batch in several workers, so it cannot be `ordered`.
        """
        if not isinstance(sink, UsersSink):
            raise PlanError(
                f"write_to needs a mo.Sink, not {sink!r}",
                location=caller(),
                advice="derive a class from mo.Sink with prepare(batch, elements), or use for_each(…)",
            )
        refuse_both(sink, caller())
        if ordered and sink.is_parallel:
            raise PlanError(
                f"{type(sink).__name__} is a parallel sink, which gets its elements in no order",
                location=caller(),
                advice="derive it without parallel=True, or remove ordered=True",
            )
        node = WriteTo(self._given(ordered), sink, type=self.type, location=caller())
        self._context.add_sink(node, handing_over(node))

    def write_text(self, path: PathLike, *, mode: WriteMode = "error", ordered: bool = False) -> None:
        """Write each element, a str, as a line of text files in the directory `path`.

        With `ordered` the lines of all files, in the order of their names, are in stream order. Bounded only.
        """
        if self.type != STR:
            raise PlanError(
                f"write_text writes str elements, not {self.type}",
                location=caller(),
                advice="map them to text first: .map(str)",
            )
        if ordered and not self.bounded:
            raise PlanError(
                "write_text(ordered=True) needs a bounded stream: the files of a micro-batch are written in parallel",
                location=caller(),
                advice="use for_each(…, ordered=True) or write_to(…, ordered=True)",
            )
        self._write(WriteText(self._given(ordered), absolute(path), mode=mode, type=self.type, location=caller()))

    def write_csv(
        self, path: PathLike, *, header: bool = True, delimiter: str = ",", mode: WriteMode = "error"
    ) -> None:
        """Write the elements as CSV files in the directory `path`, a column for each field."""
        self._refuse_untyped("write_csv")
        self._refuse_in_csv([child for _, child in self.type.children] or [self.type])
        options: dict[str, Any] = {"header": header, "delimiter": delimiter, "mode": mode}
        self._write(WriteCsv(self._node, absolute(path), **options, type=self.type, location=caller()))

    def write_json(self, path: PathLike, *, mode: WriteMode = "error") -> None:
        """Write the elements as files with one JSON object a line in the directory `path`."""
        self._refuse_untyped("write_json")
        self._write(WriteJson(self._node, absolute(path), mode=mode, type=self.type, location=caller()))

    def write_parquet(self, path: PathLike, *, mode: WriteMode = "error") -> None:
        """Write the elements as Parquet files in the directory `path`, a column for each field."""
        self._refuse_untyped("write_parquet")
        self._write(WriteParquet(self._node, absolute(path), mode=mode, type=self.type, location=caller()))

    def write_kafka(
        self,
        servers: str | Sequence[str],
        topic: str,
        *,
        key: Callable[..., str | bytes | None] | None = None,
        value: Callable[..., str | bytes | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the elements as records of a Kafka topic: str or bytes, or the results of `key` and `value`.

        A keyed stream writes its keys, and `key` and `value` take (key, value).
        """
        where, location = kafka.checked_servers(servers, "write_kafka"), caller()
        (name,) = kafka.checked_topics([topic], "write_kafka")
        settings = kafka.checked_settings(options, "write_kafka")
        records = self._records(key, value)
        self._write(WriteKafka(records, where, name, settings=settings, type=records.type, location=location))

    def _given(self, ordered: bool) -> Node:
        """The node whose elements a sink gets."""
        node = self._node
        if not ordered:
            return node
        return Ordered(node, type=node.type, location=caller(), label=node.label)

    def _records(self, key: Callable[..., Any] | None, value: Callable[..., Any] | None) -> Node:
        """The elements as records: values, or pairs of a key and a value."""
        *own_key, own_value = self._arguments
        key_function, key_type = self._part(key, "key", *own_key)
        value_function, value_type = self._part(value, "value", own_value)
        if key_function is None and value_function is None:
            return self._node
        if key_type is None:  # a plain stream has no keys
            assert value_function is not None
            function, type_ = value_function, value_type
        else:
            assert value_type is not None
            function = kafka.pairing(key_function, value_function, keyed=bool(own_key))
            type_ = Tuple((key_type, value_type))
        assert type_ is not None
        location = caller()
        closure = Closure(function, location, "write_kafka", type_)
        whole = with_value(self.type, type_)
        node = Map(self._node, closure, type=whole, location=location, operator="write_kafka")
        self._context.check(node)
        return node

    def _part(
        self, function: Callable[..., Any] | None, part: str, own: Type | None = None
    ) -> tuple[Callable[..., Any] | None, Type | None]:
        """The function of the key or the value of a record, and its type. By default it is a part of the element."""
        advice = f"give it as text: {part}=lambda {'k, v' if len(self._arguments) > 1 else 'x'}: str(…)"
        if function is None:
            if own is not None:
                kafka.refuse_part(own, part, advice)
            return None, own
        closure, verdict = self._compiled(function, "write_kafka", self._arguments)
        if verdict.type == ANY:
            return kafka.encoding(closure.function), kafka.ENCODED
        kafka.refuse_part(verdict.type, part, advice)
        return closure.function, verdict.type

    def _write(self, node: SinkNode) -> None:
        self._context.add_sink(node, None)

    def _refuse_unbounded(self, operator: str) -> None:
        if not self.bounded:
            raise PlanError(
                f"{operator} on an unbounded stream would never end: {AT_THE_END}",
                location=caller(),
                advice="use collect_channel(), for_each(…) or write_…(…), then ctx.start()",
            )

    def _refuse_in_csv(self, columns: Sequence[Type]) -> None:
        if any(is_nested(column) for column in columns):
            reason = "a CSV field holds one plain value"
            advice = "map to flat tuples or records first, or use write_json or write_parquet"
        elif any(holds(column, BYTES) for column in columns):
            reason = "a CSV field holds text, and bytes have no text"
            advice = "map them to text first, for example with .hex(), or use write_json or write_parquet"
        elif list(columns) == [Optional(STR)]:
            reason = "with one column, None and an empty text are the same line"
            advice = "map None to a text or filter it first, or use write_json or write_parquet"
        else:
            return
        raise PlanError(f"write_csv cannot write {self.type}: {reason}", location=caller(), advice=advice)

    def _refuse_untyped(self, operator: str) -> None:
        if contains_any(self.type):
            raise PlanError(
                f"{operator} needs elements with a type, but these are {self.type}",
                location=caller(),
                advice="declare the result of the last function: map(f, returns=tuple[str, int]), or annotate it",
            )


def absolute(path: PathLike) -> str:
    """The absolute path, because Spark may have another working directory. One with `://` is unchanged."""
    return str(Path(path).absolute()) if is_local(str(path)) else str(path)


def is_nested(type_: Type) -> bool:
    """Whether a value does not fit into one CSV field."""
    if isinstance(type_, Optional):
        return is_nested(type_.inner)
    return isinstance(type_, List | Dict) or bool(type_.children)
