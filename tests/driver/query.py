"""A query without Spark: it is planned and emitted as for Spark, and run one micro-batch after the other."""

from __future__ import annotations

import contextlib
import itertools
import random
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pyarrow as pa

import morisot.engines.reference.engine  # noqa: F401 - it registers the evaluation of each operator
from morisot.engines.reference.interpreter import evaluate
from morisot.engines.reference.registry import Timed, noting
from morisot.engines.spark.emit.core import families
from morisot.engines.spark.emit.core.emission import Emission, QueryInputs, Resources
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.streaming.sinks import Share
from morisot.engines.spark.terminal.left_out import by_operator
from morisot.errors import MorisotError, SnapshotError
from morisot.physical.job import Query, plan_query
from morisot.plan.analysis.graph import is_bounded_input, walk
from morisot.plan.analysis.query_groups import groups
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Cache
from morisot.plan.nodes.sink import SinkNode
from morisot.runtime.tally import Tally, divert
from morisot.types.element import leaves
from morisot.worker.codec.batches import encode, schema_of
from morisot.worker.report.failure import ELEMENT, STATE, WorkerFailure, reported
from morisot.worker.report.left_out import LatestReports, Reports
from tests.driver.frames import BoundedInput, MemoryFrame, MicroBatch, Source, Table, Tasks, joined, quoted
from tests.driver.store import Checkpoint

assert families.FAMILIES, "importing them registers what emits operators"

_LEDGERS: weakref.WeakValueDictionary[int, Collector] = weakref.WeakValueDictionary()


class Collector:
    """Takes the reports of tasks, as Spark's accumulator does: a task has a reference to it, and no copy."""

    def __init__(self) -> None:
        self.rule = LatestReports()
        self.held: Reports = {}
        _LEDGERS[id(self)] = self

    def add(self, term: Reports) -> None:
        self.rule.addInPlace(self.held, term)

    def __reduce__(self) -> Any:
        return collector, (id(self),)


def collector(number: int) -> Collector:
    return _LEDGERS[number]


@dataclass(frozen=True)
class MemoryLedger:
    """Where tasks report what they leave out."""

    accumulator: Any = field(default_factory=Collector)

    def take(self, run: str, up_to: int) -> Reports:
        return self.accumulator.rule.take(self.accumulator.held, run, up_to)  # type: ignore[no-any-return]


class MemoryEmission(Emission):
    """Emits the plan of a query over frames in memory."""

    def __init__(self, resources: Resources, query: Query, sources: Sequence[Node], end: int | None) -> None:
        super().__init__(resources, query.stream.plan, query=QueryInputs(end=end))
        for number, node in enumerate(sources):
            if node in self.nodes:
                self.bind(node, self._source(node, number))
        for node in self.nodes:
            for value in node.inputs:
                if value.bounded and not node.bounded:
                    self._bind_bounded(value, node)

    def _source(self, node: Node, number: int) -> Frame:
        has_row_order = self.provides_row_order(node)
        columns = [leaf.column for leaf in leaves(node.type)] + (["at"] if has_row_order else [])
        return frame(Source(number, columns, has_row_order=has_row_order), node, has_row_order=has_row_order)

    def _bind_bounded(self, value: Node, reader: Node) -> None:
        """A bounded stream is computed by the reference engine."""
        if value in (self._bounded_inputs if is_bounded_input(value, reader) else self._frames):
            return
        timed, elements = elements_of(value)
        columns = encode(elements, value.type, dumps)
        names = schema_of(value.type).names
        if timed is not None:
            columns, names = [*columns, pa.array(timed, pa.int64())], [*names, "time"]
        if not is_bounded_input(value, reader):
            self.bind(value, Frame(Table(rows_of(columns, names)), value.type, timed is not None))  # type: ignore[arg-type]
            return
        has_row_order = self.needs_order(value)
        if has_row_order:
            columns, names = [*columns, pa.array([b""] * len(elements), pa.binary())], [*names, "at"]
        df: Any = BoundedInput(rows_of(columns, names), has_row_order=has_row_order)
        found = frame(df, value, has_row_order=has_row_order)
        self._bounded_inputs[value] = found

    def beside_stream(self, node: Node, df: Any, *, broadcast: bool) -> Any:
        return df


def rows_of(columns: Sequence[Any], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), names=list(names))


def frame(df: Any, node: Node, *, has_row_order: bool) -> Frame:
    return Frame(df, node.type, node.time is not None, has_row_order)


def elements_of(node: Node) -> tuple[list[int] | None, list[Any]]:
    """The timestamps, if there are any, and the elements of a bounded stream, by the reference engine."""
    retained: dict[Node, list[Any]] = {}
    cache = Cache(node, type=node.type, location=node.location)
    with noting() as noted:
        noted.update({each: [] for each in walk(node) if each.leaves_out})
        evaluate(cache, cached=retained)
    found = retained[cache]
    if node.time is None:
        return None, found
    assert all(type(each) is Timed for each in found)
    return [each.time for each in found], [each.element for each in found]


class Text(str):
    """An expression in Spark's own words."""

    __slots__ = ()

    def alias(self, name: str) -> Text:
        return Text(f"{self} AS {quoted(name)}")


@contextlib.contextmanager
def texts_stay_texts() -> Iterator[None]:
    """Expressions in Spark's own words are not handed to a JVM that reads them."""
    with (
        mock.patch("pyspark.sql.functions.expr", Text),
        mock.patch("pyspark.sql.functions.broadcast", lambda df: df),
    ):
        yield


class MemoryQuery:
    """One start of a job: a query that resumes from a checkpoint."""

    def __init__(
        self,
        sink: SinkNode,
        sources: Sequence[Node],
        saved: bytes | None,
        chance: random.Random,
        parallelism: int,
        end: int | None = None,
    ) -> None:
        self._chance = chance
        self._parallelism = parallelism
        self._committed = Checkpoint() if saved is None else Checkpoint.from_bytes(saved)
        self._marks: dict[int, int] = {}
        """The watermark of each operator that has one; as in Spark, they start again with the query."""
        (group,) = groups([sink])
        self.query = plan_query(group, Trigger(), demoted=frozenset(walk(sink)))
        self._ledger = MemoryLedger()
        resources = Resources(None, parallelism, self._ledger)  # type: ignore[arg-type]
        with texts_stay_texts():
            self.emission = MemoryEmission(resources, self.query, sources, end)
            self._frame = self.emission.frame(sink)
        self._sink = sink
        self.has_row_order = [self.emission.provides_row_order(each) for each in sources]
        """Whether the rows of each source have a row order."""
        self.tally = Tally()
        self.machines: set[str] = set()
        """The classes of the machines that ran."""

    @property
    def saved(self) -> bytes:
        """What the next query resumes from."""
        return self._committed.to_bytes()

    @property
    def next_batch(self) -> int:
        """The number of the next micro-batch."""
        return self._committed.batch

    @property
    def watermark(self) -> int:
        return self._committed.watermark

    @property
    def kinds(self) -> set[str]:
        """The kinds of physical operators that the query has on Spark, where no form is on its last rung."""
        (group,) = groups([self._sink])
        plan = plan_query(group, Trigger()).stream.plan
        return {type(each).__name__ for each in plan.operators.values()}

    def advance(self, watermark: int) -> None:
        """All elements up to a timestamp have come."""
        self._committed.watermark = max(self._committed.watermark, watermark)

    def process(self, inputs: Sequence[Sequence[pa.RecordBatch]], now: int, *, dies: bool = False) -> list[Any]:
        """The elements that a micro-batch gives; if the job dies before it is committed, it has had no effect."""
        batch = MicroBatch(
            self._committed.batch,
            inputs,
            self._committed.batch == 0,
            now,
            self._committed.copied(),
            self._chance,
            self._parallelism,
        )
        share = Share(Collected(self._frame.df, batch), batch.number, self.emission)  # type: ignore[arg-type]
        try:
            elements = share.elements(self._sink.type)
        except WorkerFailure as failure:
            error = self._users_error(failure)
            raise error from error.__cause__
        if not dies:
            self._commit(batch)
        return elements

    def _commit(self, batch: MicroBatch) -> None:
        self._committed = batch.working
        self._committed.batch += 1
        self._advance_watermark(batch)
        self.machines |= batch.used
        nodes = {number: node for number, node in enumerate(self.emission.nodes) if node.leaves_out}
        if nodes:
            failures = by_operator(self._ledger.take(self.emission.run, batch.number), nodes)
            self.tally.add(failures)
            divert(failures)

    def _advance_watermark(self, batch: MicroBatch) -> None:
        """As Spark does it: each operator's only grows, that of the query is the smallest, and grows as well."""
        for number, mark in batch.marks.items():
            before = self._marks.get(number, 0)
            self._marks[number] = before if mark is None else max(before, mark)
        if self._marks:
            self.advance(min(self._marks.values()))

    def _users_error(self, failure: WorkerFailure) -> MorisotError:
        """The error that the user gets for a signed report."""
        for message in self.emission.resources.seal.messages(str(failure)):
            if message["kind"] == ELEMENT:
                return reported(message)  # type: ignore[arg-type]
            if message["kind"] == STATE:
                return SnapshotError(message["said"], advice=message["advice"])
        raise AssertionError(f"a failure without a signed report: {failure}")


@dataclass(frozen=True)
class Collected:
    """A frame in a micro-batch, whose rows are asked for."""

    df: MemoryFrame
    batch: MicroBatch

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        tasks: Tasks = self.df.run(self.batch)
        rows = joined(list(itertools.chain.from_iterable(tasks)))
        if rows is None:
            return pa.table({name: pa.nulls(0) for name in self.df.columns})
        return pa.Table.from_batches([rows])
