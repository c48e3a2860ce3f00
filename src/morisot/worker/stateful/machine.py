"""Machines of stateful operators, and their run over rows in order.

A machine holds no state. The state of a key is passed to the machine and returned by it, so that the caller can
store and restore it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from morisot.types.element import BOOL, DATE, DATETIME, INT, STR, Keyed, Type, leaves
from morisot.worker.codec.batches import Dumps, decode, schema_of
from morisot.worker.codec.keys import canonical
from morisot.worker.codec.stored import Layout
from morisot.worker.report.left_out import Account, Notes
from morisot.worker.report.origin import Origin
from morisot.worker.rowwise.stage import encode_batch, with_column

NOT_STARTED = object()
AT_END = -1
LAST = 2**63 - 1
"""The row order of results that the end of the stream causes."""
ORDER_COLUMNS = ("order", "first", "nth")
"""The row order of a result: the number of the element that caused it; of those at the end, the number of the group's
first element; and the number of results that the task emitted before."""

_OUTPUT_ROWS = 10_000
_COMPARED_BY_ARROW = frozenset({INT, STR, BOOL, DATE, DATETIME})
_EQUAL_OR_NOT = (int, str, bool, bytes)
"""Classes whose values are the same key exactly if they are equal."""


class Machine(Protocol):
    """Processes the elements of one key, or of all elements if there are no keys, in stream order."""

    @property
    def layout(self) -> Layout:
        """The layout of its stored state."""

    def start(self) -> Any:
        """The state before the first element."""

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emitter) -> Any:
        """The state after some more elements. Results are passed to `emit`."""

    def end(self, state: Any, key: Any, emit: Emitter) -> None:
        """Emits the results after the last element."""


@dataclass
class Emitter:
    """Collects the results of a machine, with their row order if it is needed."""

    keyed: bool
    ordered: bool
    key: Any = None
    """The key of the current elements."""
    first: int = 0
    """The number of its first element in the stream."""
    orders: Sequence[Any] = ()
    """The row orders of the current elements."""
    at_end: Any = LAST
    """The row order of a result that no element caused."""
    notes: Notes | None = None
    """The skipped elements, if they are counted."""

    keys: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    row_orders: list[Any] = field(default_factory=list)
    firsts: list[int] = field(default_factory=list)

    def __call__(self, index: int, value: Any, time: int | None) -> None:
        """Adds a result, with the index of the element that caused it or AT_END, and the result's timestamp."""
        self.values.append(value)
        if self.keyed:
            self.keys.append(self.key)
        if time is not None:
            self.times.append(time)
        if self.ordered:
            at_end = index == AT_END
            self.row_orders.append(self.at_end if at_end else self.orders[index])
            self.firsts.append(self.first if at_end else 0)

    def each(self, values: Sequence[Any], times: Sequence[int] | None) -> None:
        """Adds one result for each current element."""
        self.values.extend(values)
        if self.keyed:
            self.keys.extend([self.key] * len(values))
        if times is not None:
            self.times.extend(times)
        if self.ordered:
            self.row_orders.extend(self.orders)
            self.firsts.extend([0] * len(values))

    def clear(self) -> None:
        for column in (self.keys, self.values, self.times, self.row_orders, self.firsts):
            column.clear()


@dataclass(frozen=True)
class InOrder:
    """Given to mapInArrow: runs a machine over rows that are sorted by group and row order, group by group.

    Only the state of one group is in memory at a time, and never all its elements.
    """

    machine: Machine
    origin: Origin
    input: Type
    output: Type
    dumps: Dumps
    timed: bool
    """Whether the rows have timestamps, in a column `time`."""
    stamps: bool
    """Whether the results have timestamps."""
    ordered: bool
    """Whether the rows are numbered, in a column `order`, and the results need a row order."""
    by_key: bool
    """Whether each key is a group; otherwise all elements are one group."""
    account: Account | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        emit = Emitter(self.by_key, self.ordered, notes=Notes(self.dumps))
        state: Any = NOT_STARTED
        given = 0
        for batch in batches:
            state = self.take(batch, state, emit)
            if len(emit.values) >= _OUTPUT_ROWS:
                yield self.encoded(emit, given)
                given += len(emit.values)
                emit.clear()
        if state is not NOT_STARTED:
            self.machine.end(state, emit.key, emit)
        if emit.values:
            yield self.encoded(emit, given)
        if self.account is not None and self.origin.policy is not None and emit.notes is not None:
            self.account.settle([self.origin.policy], emit.notes)

    def take(self, batch: Any, state: Any, emit: Emitter) -> Any:
        """Runs the machine over the rows of one batch. The state is that of `emit.key`."""
        keys, values = keys_and_values(batch.columns, self.input, self.by_key)
        times = batch.column("time").to_pylist() if self.timed else None
        orders = batch.column("order").to_pylist() if self.ordered else ()
        for begin, end in runs(batch, self.input, keys):  # consecutive rows with one key are processed by one call
            key = keys[begin] if keys is not None else None
            if state is NOT_STARTED or not same(emit.key, key):
                if state is not NOT_STARTED:
                    self.machine.end(state, emit.key, emit)
                state = self.machine.start()
                emit.key, emit.first = key, orders[begin] if orders else 0
            emit.orders = orders[begin:end]
            state = self.machine.take(state, emit.key, values[begin:end], times[begin:end] if times else None, emit)
        return state

    def encoded(self, emit: Emitter, given: int) -> pa.RecordBatch:
        """The results as a batch. `given` is the number of results that the task emitted before."""
        batch = encode_results(emit, self.output, self.stamps, self.origin, self.dumps)
        if self.ordered:
            numbers = range(given, given + len(emit.values))
            for name, column in zip(ORDER_COLUMNS, (emit.row_orders, emit.firsts, numbers), strict=True):
                batch = with_column(batch, name, column)
        return batch


def keys_and_values(columns: Sequence[Any], type_: Type, by_key: bool) -> tuple[list[Any] | None, list[Any]]:
    """The keys and the values of some columns; no keys if all elements are one group."""
    if not by_key:
        return None, decode(columns, type_)
    assert isinstance(type_, Keyed)
    width = len(leaves(type_.key))
    return decode(columns[:width], type_.key), decode(columns[width:], type_.value)


def encode_results(emit: Emitter, type_: Type, stamps: bool, origin: Origin, dumps: Dumps) -> pa.RecordBatch:
    """The results as a batch, with their timestamps if they have any."""
    if emit.keyed:
        assert isinstance(type_, Keyed)
        key = encode_batch(emit.keys, type_.key, dumps, origin.operator, origin.location)
        value = encode_batch(emit.values, type_.value, dumps, origin.operator, origin.location)
        batch = pa.RecordBatch.from_arrays([*key.columns, *value.columns], schema=schema_of(type_))
    else:
        batch = encode_batch(emit.values, type_, dumps, origin.operator, origin.location)
    return with_column(batch, "time", emit.times) if stamps else batch


def runs(batch: Any, type_: Type, keys: list[Any] | None) -> Iterator[tuple[int, int]]:
    """The first index, and the index after the last, of consecutive rows with one key; of all rows without keys."""
    if batch.num_rows == 0:
        return
    begin = 0
    if keys is not None:
        for end in _changes(batch, type_, keys):
            yield begin, end
            begin = end
    yield begin, batch.num_rows


def _changes(batch: Any, type_: Type, keys: list[Any]) -> Iterator[int]:
    """The indices at which another key begins. For plain keys Arrow compares the columns."""
    assert isinstance(type_, Keyed)
    column = batch.column(0)
    if type_.key in _COMPARED_BY_ARROW and column.null_count == 0:
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        yield from (index + 1 for index in pc.indices_nonzero(differs).to_pylist())
        return
    previous = keys[0]
    for index, key in enumerate(keys):
        if not same(previous, key):
            yield index
            previous = key


def same(left: Any, right: Any) -> bool:
    """Whether two keys are the same: equal in Python, or both NaN."""
    if left is right or left == right:
        return True
    return type(left) not in _EQUAL_OR_NOT and canonical(left) == canonical(right)
