"""Stateful operators, element by element: what one does with a key is a machine, and here are its wheels.

A machine holds no state of its own. The state of a key is a value that the machine is given and gives back, so it can
be kept, saved and restored by whoever runs the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from morisot.errors import ElementError, Location
from morisot.types.element import BOOL, DATE, DATETIME, INT, STR, Keyed, Type, leaves
from morisot.worker import failure
from morisot.worker.batches import Dumps, decode
from morisot.worker.keys import canonical
from morisot.worker.stage import encode_batch, with_column

Emit = Callable[[int, Any, Any], None]
"""(place of the element that caused it, result, its timestamp or None); the place is AT_END after the last element."""

AT_END = -1
LAST = 2**63 - 1
"""Where in the stream's order results stand that come when the stream has ended."""
ORDER_COLUMNS = ("order", "first", "nth")
"""Where a result stands: the number of the element that caused it; of those at the end, the number of the group's
first element; and how many results the task gave before."""

_OUTPUT_ROWS = 10_000
_COMPARED_BY_ARROW = frozenset({INT, STR, BOOL, DATE, DATETIME})


class Machine(Protocol):
    """What a stateful operator does with the elements of one key (or all, if there are no keys), in stream order."""

    def start(self) -> Any:
        """The state before the first element."""

    def take(self, state: Any, key: Any, values: Sequence[Any], times: Sequence[int] | None, emit: Emit) -> Any:
        """The state after some more elements; results go to `emit`."""

    def end(self, state: Any, key: Any, emit: Emit) -> None:
        """What there is to say after the last element."""


@dataclass(frozen=True)
class Origin:
    """The operator that a machine works for, for errors."""

    operator: str
    location: Location | None

    def failed(self, element: Any, error: BaseException) -> ElementError:
        """The failure of a user's function, called by a method of a machine, on an element."""
        return failure.element_error(self.operator, self.location, element, error, 1)


class Results:
    """The results of a task on their way out."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.times: list[int] = []
        self.orders: list[int] = []
        self.firsts: list[int] = []

    def clear(self) -> None:
        for column in (self.values, self.times, self.orders, self.firsts):
            column.clear()


@dataclass
class Group:
    """The key whose elements are coming, and what is known of it."""

    key: Any
    state: Any
    first: int
    """The number of its first element in the stream."""


@dataclass(frozen=True)
class InOrder:
    """Given to mapInArrow: rows sorted by group and place, run group by group through a machine.

    Only one group's state is held at a time, and never its elements, however many they are.
    """

    machine: Machine
    origin: Origin
    input: Type
    output: Type
    dumps: Dumps
    timed: bool
    """Whether the rows have timestamps, in a column `time`."""
    stamps: bool
    """Whether the results have."""
    ordered: bool
    """Whether the rows are numbered, in a column `order`, and the results are to say where they stand."""
    by_key: bool
    """Whether the elements have keys and each key is a group; otherwise all elements are one."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        results = Results()
        group: Group | None = None
        given = 0
        for batch in batches:
            try:
                group = self.take(batch, group, results)
            except ElementError as error:
                raise failure.pack(error, self.dumps) from None
            if len(results.values) >= _OUTPUT_ROWS:
                yield self.encoded(results, given)
                given += len(results.values)
                results.clear()
        if group is not None:
            try:
                self.finish(group, results)
            except ElementError as error:
                raise failure.pack(error, self.dumps) from None
        if results.values:
            yield self.encoded(results, given)

    def take(self, batch: Any, group: Group | None, results: Results) -> Group | None:
        """Run the rows of one batch through the machine."""
        keys, values = self._parts(batch)
        times = batch.column("time").to_pylist() if self.timed else None
        orders = batch.column("order").to_pylist() if self.ordered else None
        for begin, end in runs(batch, self.input, keys):  # neighbours with one key go to the machine together
            key = keys[begin] if keys is not None else None
            if group is None or not same(group.key, key):
                if group is not None:
                    self.finish(group, results)
                group = Group(key, self.machine.start(), orders[begin] if orders else 0)
            emit = self._emitter(group, results, orders, begin)
            group.state = self.machine.take(
                group.state, group.key, values[begin:end], times[begin:end] if times else None, emit
            )
        return group

    def finish(self, group: Group, results: Results) -> None:
        self.machine.end(group.state, group.key, self._emitter(group, results, None, 0))

    def _parts(self, batch: Any) -> tuple[list[Any] | None, list[Any]]:
        if not self.by_key:
            return None, decode(batch.columns, self.input)
        assert isinstance(self.input, Keyed)
        width = len(leaves(self.input.key))
        return decode(batch.columns[:width], self.input.key), decode(batch.columns[width:], self.input.value)

    def _emitter(self, group: Group, results: Results, orders: list[int] | None, begin: int) -> Emit:
        keyed, key = self.by_key, group.key
        append, stamp = results.values.append, results.times.append

        def emit(place: int, value: Any, time: int | None) -> None:
            append((key, value) if keyed else value)
            if time is not None:
                stamp(time)

        def emit_in_order(place: int, value: Any, time: int | None) -> None:
            emit(place, value, time)
            at_end = place == AT_END or orders is None
            results.orders.append(LAST if at_end or orders is None else orders[begin + place])
            results.firsts.append(group.first if at_end else 0)

        return emit_in_order if self.ordered else emit

    def encoded(self, results: Results, given: int) -> pa.RecordBatch:
        """The results as a batch; `given` is how many the task gave before."""
        batch = encode_batch(results.values, self.output, self.dumps, self.origin.operator, self.origin.location)
        if self.stamps:
            batch = with_column(batch, "time", results.times)
        if self.ordered:
            numbers = range(given, given + len(results.values))
            for name, column in zip(ORDER_COLUMNS, (results.orders, results.firsts, numbers), strict=True):
                batch = with_column(batch, name, column)
        return batch


def runs(batch: Any, type_: Type, keys: list[Any] | None) -> Iterator[tuple[int, int]]:
    """Where the neighbouring rows with one key begin and end; all rows, if there are no keys."""
    if batch.num_rows == 0:
        return
    begin = 0
    if keys is not None:
        for end in _changes(batch, type_, keys):
            yield begin, end
            begin = end
    yield begin, batch.num_rows


def _changes(batch: Any, type_: Type, keys: list[Any]) -> Iterator[int]:
    """The places where another key begins; for plain keys found without looking at Python's values."""
    assert isinstance(type_, Keyed)
    column = batch.column(0)
    if type_.key in _COMPARED_BY_ARROW and column.null_count == 0:
        differs = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        yield from (place + 1 for place in pc.indices_nonzero(differs).to_pylist())
        return
    previous = keys[0]
    for place, key in enumerate(keys):
        if not same(previous, key):
            yield place
            previous = key


def same(left: Any, right: Any) -> bool:
    """Whether two keys are one: equal in Python, or both NaN."""
    return left is right or left == right or canonical(left) == canonical(right)
