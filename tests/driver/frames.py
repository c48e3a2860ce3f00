"""Frames in memory: what the emission of unbounded operators asks of Spark's DataFrames.

A frame is a plan, as Spark's are. Each micro-batch runs it, from the root to the sources, as a tree: a frame that two
others read is computed twice, and a stateful operator in it has two states, as in Spark. The rows of a task are a list
of Arrow batches.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import pickle
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext, cloudpickle
from pyspark.errors import AnalysisException
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, TimerValues

from morisot.engines.spark.internals import names
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.keys import canonical
from tests.driver.sql import Named, condition, fields_of, named, selected, unquoted
from tests.driver.store import Checkpoint, Handle, OperatorStore

Task = list[pa.RecordBatch]
"""The rows that one task works on."""
Tasks = list[Task]
_AGGREGATE = re.compile(r"(?P<function>count|first)\((?P<of>1|`(?:[^`]|``)*`)\) AS (?P<name>`(?:[^`]|``)*`|\w+)")


@dataclass
class MicroBatch:
    """A micro-batch that runs: what it reads, the time, and the states that it changes."""

    number: int
    inputs: Sequence[Sequence[pa.RecordBatch]]
    """The files of each source."""
    first: bool
    """Whether the job has not committed one before: then bounded inputs are read."""
    now: int
    """The clock, in milliseconds."""
    working: Checkpoint
    """The states before it, which it changes."""
    chance: random.Random
    parallelism: int
    marks: dict[int, int | None] = field(default_factory=dict)
    """The largest time that each watermark operator has seen, in milliseconds."""
    used: set[str] = field(default_factory=set)
    """The names of the classes whose objects processed it: machines, buckets and stages."""
    _operators: Iterator[int] = field(default_factory=itertools.count)

    def next_operator(self) -> int:
        """The number of an operator with something to remember: the same in each micro-batch."""
        return next(self._operators)

    @contextlib.contextmanager
    def task(self, partition: int) -> Iterator[None]:
        """Code inside finds itself in a task of the micro-batch, as in a worker."""
        context = object.__new__(TaskContext)
        context._partitionId = partition
        context._attemptNumber = 0
        context._localProperties = {names.MICRO_BATCH: str(self.number)}
        before = TaskContext._taskContext
        TaskContext._taskContext = context
        try:
            yield
        finally:
            TaskContext._taskContext = before

    def shuffled(self, rows: Task) -> Tasks:
        """The rows in any order, in any tasks: as an exchange delivers them."""
        table = joined(rows)
        if table is None:
            return self.tasks()
        order = self.chance.sample(range(table.num_rows), table.num_rows)
        return self.spread(recut(table.take(pa.array(order, pa.int64())), self.chance))

    def spread(self, parts: Sequence[pa.RecordBatch]) -> Tasks:
        """Parts of a frame, each whole, in any tasks."""
        tasks = self.tasks()
        for part in self.chance.sample(parts, len(parts)):
            self.chance.choice(tasks).append(part)
        return tasks

    def tasks(self) -> Tasks:
        return [[] for _ in range(self.chance.randint(1, 3))]


class Pickled:
    """What is sent to workers: each task has a copy of its own."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @functools.cached_property
    def _pickled(self) -> bytes:
        pickled: bytes = cloudpickle.dumps(self._value)  # type: ignore[no-untyped-call]
        return pickled

    def copy(self) -> Any:
        return pickle.loads(self._pickled)


def joined(rows: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    """The rows as one batch; None if there are none."""
    batches = [each for each in rows if each.num_rows]
    if not batches:
        return None
    table = pa.Table.from_batches(batches).combine_chunks()
    (batch,) = table.to_batches()
    return batch


def recut(batch: pa.RecordBatch, chance: random.Random) -> Task:
    """The rows in batches of any sizes."""
    cuts = sorted({0, batch.num_rows, *(chance.randint(0, batch.num_rows) for _ in range(chance.randint(0, 2)))})
    return [batch.slice(begin, end - begin) for begin, end in itertools.pairwise(cuts)]


@dataclass(frozen=True)
class Field:
    """A column as Spark describes it."""

    name: str

    @property
    def dataType(self) -> Field:  # noqa: N802 - Spark's name
        return self

    def simpleString(self) -> str:  # noqa: N802 - Spark's name
        return "ANY"


@dataclass(frozen=True)
class Schema:
    fields: list[Field]


class MemoryFrame:
    """The root of all frames: the methods of a DataFrame that are asked for."""

    columns: list[str]

    def run(self, batch: MicroBatch) -> Tasks:
        """The rows of a micro-batch, task by task."""
        raise NotImplementedError

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        return True

    @property
    def schema(self) -> Schema:
        return Schema([Field(name) for name in self.columns])

    def select(self, *_: str) -> MemoryFrame:
        raise AnalysisException("no column is there but those of the elements", messageParameters={})

    def selectExpr(self, *expressions: str) -> MemoryFrame:  # noqa: N802 - Spark's name
        columns: list[Named] = []
        for each in expressions:
            columns += [named(quoted(name)) for name in self.columns] if each == "*" else [named(each)]
        return Select(self, columns)

    def where(self, text: str) -> MemoryFrame:
        return Where(self, text)

    def drop(self, *dropped: str) -> MemoryFrame:
        return self.selectExpr(*(quoted(name) for name in self.columns if name not in dropped))

    def mapInArrow(self, function: Callable[[Any], Any], schema: str) -> MemoryFrame:  # noqa: N802 - Spark's name
        return InWorker(self, function, schema)

    def unionAll(self, other: MemoryFrame) -> MemoryFrame:  # noqa: N802 - Spark's name
        return Union(self, other)

    def withWatermark(self, column: str, delay: str) -> MemoryFrame:  # noqa: N802 - Spark's name
        assert delay == "0 seconds"
        return Watermark(self, column)

    def repartition(self, *_: Any) -> MemoryFrame:
        return Exchange(self)

    def repartitionById(self, *_: Any) -> MemoryFrame:  # noqa: N802 - Spark's name
        return Exchange(self)

    def groupBy(self, *columns: str) -> Groups:  # noqa: N802 - Spark's name
        return Groups(self, [unquoted(each) for each in columns])

    def agg(self, *aggregates: str) -> MemoryFrame:
        return Groups(self, []).agg(*aggregates)

    def join(self, other: MemoryFrame, on: str, how: str) -> MemoryFrame:
        return TableJoin(self, other, on, how)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class Source(MemoryFrame):
    """The files of a source. If row order matters, one task reads a file in order; else rows come in any order."""

    def __init__(self, number: int, columns: list[str], *, has_row_order: bool) -> None:
        self.number = number
        self.columns = columns
        self.has_row_order = has_row_order

    def run(self, batch: MicroBatch) -> Tasks:
        files = batch.inputs[self.number]
        if not self.has_row_order:
            return batch.shuffled(list(files))
        tasks = batch.spread(files)
        return [[part for file in task for part in recut(file, batch.chance)] for task in tasks]


class BoundedInput(MemoryFrame):
    """A bounded stream beside an unbounded one: the first micro-batch reads all of it."""

    def __init__(self, rows: pa.RecordBatch, *, has_row_order: bool) -> None:
        self.rows = rows
        self.columns = list(rows.schema.names)
        self.has_row_order = has_row_order

    def run(self, batch: MicroBatch) -> Tasks:
        if not batch.first:
            return batch.tasks()
        return batch.spread([self.rows]) if self.has_row_order else batch.shuffled([self.rows])


class Table(MemoryFrame):
    """A bounded stream that every micro-batch reads."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows
        self.columns = list(rows.schema.names)

    def run(self, batch: MicroBatch) -> Tasks:
        return [[self.rows]]

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        return False


class Select(MemoryFrame):
    """Other columns. The rows of a task are one batch, so that expressions may number them."""

    def __init__(self, input_: MemoryFrame, columns: list[Named]) -> None:
        self.input = input_
        self.named = columns
        self.columns = [each.name for each in columns]

    def run(self, batch: MicroBatch) -> Tasks:
        results: Tasks = []
        for number, task in enumerate(self.input.run(batch)):
            with batch.task(number):
                rows = joined(task)
                results.append([] if rows is None else [selected(rows, self.named)])
        return results


class Where(MemoryFrame):
    def __init__(self, input_: MemoryFrame, text: str) -> None:
        self.input = input_
        self.columns = input_.columns
        self.test = condition(text)

    def run(self, batch: MicroBatch) -> Tasks:
        return [[rows.filter(self.test(rows)) for rows in task] for task in self.input.run(batch)]


class InWorker(MemoryFrame):
    """A function over Arrow batches, in the process of a worker."""

    def __init__(self, input_: MemoryFrame, function: Callable[[Any], Any], schema: str) -> None:
        self.input = input_
        self.function = Pickled(function)
        self.columns = fields_of(schema)

    def run(self, batch: MicroBatch) -> Tasks:
        results: Tasks = []
        for number, task in enumerate(self.input.run(batch)):
            given = [part for rows in task if rows.num_rows for part in recut(rows, batch.chance)]
            with batch.task(number):
                found = self.function.copy()(iter(given))
                results.append([rows.rename_columns(self.columns) for rows in found if rows.num_rows])
        return results


class Union(MemoryFrame):
    def __init__(self, first: MemoryFrame, second: MemoryFrame) -> None:
        assert len(first.columns) == len(second.columns), f"{first.columns} and {second.columns}"
        self.parts = (first, second)
        self.columns = first.columns

    def run(self, batch: MicroBatch) -> Tasks:
        tasks = [task for part in self.parts for task in part.run(batch)]
        renamed = [[rows.rename_columns(self.columns) for rows in task if rows.num_rows] for task in tasks]
        types = [self._type(index, renamed) for index in range(len(self.columns))]
        schema = pa.schema(list(zip(self.columns, types, strict=True)))
        return [[rows.cast(schema) for rows in task] for task in renamed]

    @staticmethod
    def _type(index: int, tasks: Tasks) -> pa.DataType:
        """The type of a column, which has none in a part where it is NULL."""
        types = {rows.schema.field(index).type for task in tasks for rows in task} - {pa.null()}
        assert len(types) <= 1, f"a union of {types}"
        return types.pop() if types else pa.null()


class Exchange(MemoryFrame):
    def __init__(self, input_: MemoryFrame) -> None:
        self.input = input_
        self.columns = input_.columns

    def run(self, batch: MicroBatch) -> Tasks:
        return batch.shuffled([rows for task in self.input.run(batch) for rows in task])


class Watermark(MemoryFrame):
    """Notes the largest time in a column."""

    def __init__(self, input_: MemoryFrame, column: str) -> None:
        self.input = input_
        self.columns = input_.columns
        self.column = column

    def run(self, batch: MicroBatch) -> Tasks:
        number = batch.next_operator()
        tasks = self.input.run(batch)
        seen: list[int | None] = [
            pc.max(rows.column(self.column).cast(pa.int64())).as_py() for task in tasks for rows in task
        ]
        known = [micros // 1000 for micros in seen if micros is not None]
        batch.marks[number] = max(known, default=None)
        return tasks


class TableJoin(MemoryFrame):
    """Each row with those of another frame for which a condition holds."""

    def __init__(self, left: MemoryFrame, right: MemoryFrame, on: str, how: str) -> None:
        self.left = left
        self.right = right
        self.on = condition(on)
        self.how = how
        self.columns = [*left.columns, *right.columns]

    def run(self, batch: MicroBatch) -> Tasks:
        left, right = (joined([rows for task in side.run(batch) for rows in task]) for side in (self.left, self.right))
        if left is None or (right is None and self.how == "inner"):
            return batch.tasks()
        assert right is not None, "a join with an empty table has no types to find here"
        pairs = list(itertools.product(range(left.num_rows), range(right.num_rows)))
        rows = self._beside(left, right, pairs)
        matched: list[tuple[int, int | None]] = [
            pair for pair, holds in zip(pairs, self.on(rows).to_pylist(), strict=True) if holds
        ]
        if self.how == "left":
            lefts = {one for one, _ in matched}
            matched += [(one, None) for one in range(left.num_rows) if one not in lefts]
        else:
            assert self.how == "inner", f"a {self.how} join with a table"
        return batch.shuffled([self._beside(left, right, matched)])

    def _beside(
        self, left: pa.RecordBatch, right: pa.RecordBatch, pairs: Sequence[tuple[int, int | None]]
    ) -> pa.RecordBatch:
        ours = left.take(pa.array([one for one, _ in pairs], pa.int64()))
        theirs = right.take(pa.array([other for _, other in pairs], pa.int64()))
        return pa.RecordBatch.from_arrays([*ours.columns, *theirs.columns], names=self.columns)


@dataclass(frozen=True)
class Groups:
    """Rows that are grouped by some columns."""

    input: MemoryFrame
    columns: list[str]

    def transformWithStateInPandas(  # noqa: N802 - Spark's name
        self, processor: Any, schema: str, mode: str, time_mode: str
    ) -> MemoryFrame:
        assert mode in ("append", "update")
        assert time_mode in ("None", "EventTime", "ProcessingTime")
        (column,) = self.columns
        return Stateful(self.input, column, processor, schema, time_mode)

    def agg(self, *aggregates: str) -> MemoryFrame:
        return Counts(self.input, self.columns, aggregates)


class Counts(MemoryFrame):
    """Spark's own running counts: those that a micro-batch changes, with other columns of the first row."""

    def __init__(self, input_: MemoryFrame, by: list[str], aggregates: Sequence[str]) -> None:
        self.input = input_
        self.by = by
        parsed = [_AGGREGATE.fullmatch(each) for each in aggregates]
        found = [(match["function"], unquoted(match["of"]), unquoted(match["name"])) for match in parsed if match]
        assert len(found) == len(aggregates), f"no aggregates of running counts: {aggregates}"
        self.aggregates = found
        self.columns = [*by, *(name for _, _, name in found)]

    def run(self, batch: MicroBatch) -> Tasks:
        store = batch.working.operators.setdefault(batch.next_operator(), OperatorStore())
        held: Any = store.states.setdefault("counts", {})
        changed = set()
        for row in [
            rows.slice(index, 1) for task in self.input.run(batch) for rows in task for index in range(len(rows))
        ]:
            group = canonical(tuple(row.column(name)[0].as_py() for name in self.by))
            first, count = held.get(group, (pack_batch(row), 0))
            held[group] = (first, count + 1)
            changed.add(group)
        return batch.spread([self._row(*held[group]) for group in sorted(changed)])

    def _row(self, first: bytes, count: int) -> pa.RecordBatch:
        row = unpack_batch(first)
        arrays = [row.column(name) for name in self.by]
        for function, of, _ in self.aggregates:
            arrays.append(row.column(of) if function == "first" else pa.array([count], pa.int64()))
        return pa.RecordBatch.from_arrays(arrays, names=self.columns)


class Stateful(MemoryFrame):
    """A processor that is called for each bucket with rows, and for each whose timer is over."""

    def __init__(self, input_: MemoryFrame, column: str, processor: Any, schema: str, time_mode: str) -> None:
        self.input = input_
        self.column = column
        self.processor = Pickled(processor)
        self.columns = fields_of(schema)
        self.time_mode = time_mode

    def run(self, batch: MicroBatch) -> Tasks:
        store = batch.working.operators.setdefault(batch.next_operator(), OperatorStore())
        grouped: dict[int, list[dict[str, Any]]] = {}
        for row in [row for task in self.input.run(batch) for rows in task for row in rows.to_pylist()]:
            grouped.setdefault(row[self.column], []).append(row)
        held = {bucket for values in store.states.values() for bucket in values}
        tasks: dict[int, list[int]] = {}
        for bucket in batch.chance.sample(sorted({*grouped, *held}), len({*grouped, *held})):
            tasks.setdefault(bucket % batch.parallelism, []).append(bucket)
        results: Tasks = []
        for number, buckets in tasks.items():
            with batch.task(number):
                results.append([*self._task(batch, store, {each: grouped.get(each, []) for each in buckets})])
        return results

    def _task(
        self, batch: MicroBatch, store: OperatorStore, rows: dict[int, list[dict[str, Any]]]
    ) -> Iterator[pa.RecordBatch]:
        """What one task does: first the buckets with rows, then those whose timers are over."""
        processor, handle = self.processor.copy(), Handle(store)
        values: Any = TimerValues(batch.now, batch.working.watermark)
        processor.init(handle)
        for bucket, given in rows.items():
            if given:
                handle.bucket = bucket
                yield from map(self._arrow, processor.handleInputRows((bucket,), self._frames(batch, given), values))
        for expiry, bucket in [timer for timer in self._expired(batch, store) if timer[1] in rows]:
            handle.bucket = bucket
            expired: Any = ExpiredTimerInfo(expiry)
            yield from map(self._arrow, processor.handleExpiredTimer((bucket,), values, expired))
            store.timers.discard((expiry, bucket))
        processor.close()
        batch.used |= classes_in(processor.task)

    def _expired(self, batch: MicroBatch, store: OperatorStore) -> list[tuple[int, int]]:
        match self.time_mode:
            case "EventTime":
                return store.expired(batch.working.watermark) if batch.working.watermark > 0 else []
            case "ProcessingTime":
                return store.expired(batch.now)
        assert not store.timers, "an operator without time has no timers"
        return []

    def _frames(self, batch: MicroBatch, given: list[dict[str, Any]]) -> Iterator[Any]:
        import pandas as pd

        rows = batch.chance.sample(given, len(given))
        cut = batch.chance.randint(0, len(rows))
        return (pd.DataFrame(part) for part in (rows[:cut], rows[cut:]) if part)

    def _arrow(self, frame: Any) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(
            [pa.array(list(frame[name]), pa.binary()) for name in self.columns], names=self.columns
        )


def classes_in(value: Any) -> set[str]:
    """The names of Morisot's classes in what a processor runs."""
    found, waiting = set[str](), [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, tuple | list):
            waiting += each
        elif type(each).__module__.startswith("morisot.worker."):
            found.add(type(each).__name__)
            waiting += getattr(each, "__dict__", {}).values()
    return found
