"""Machines on unbounded input: the states of a bucket's keys are stored as one value.

A call of Python for each key and micro-batch would cost milliseconds. So keys are hashed to a few buckets, and the
rows of a bucket are packed as one value for each batch.
"""

from __future__ import annotations

import pickle
import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from morisot.types.element import Keyed, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.keys import canonical, is_its_own_identity
from morisot.worker.garbage import no_garbage_collection
from morisot.worker.report.left_out import Account, LeftOut, Notes, Policy
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.machine import NOT_STARTED, Emitter, Machine, encode_results, keys_and_values
from morisot.worker.stateful.state_table import StateTable, stored_states
from morisot.worker.stateful.windows import KeyWindows

_AFTER_ALL = b"\xff" * 8
"""The row orders of the results of the end begin with it: they are after those of all micro-batches."""


class StreamEnd(NamedTuple):
    """The end of a stream, which is reported to all buckets in one micro-batch, by a value without rows."""

    micro_batch: int
    buckets: int


@dataclass(frozen=True)
class PackBuckets:
    """Given to mapInArrow: packs the rows of each batch to one binary row for each bucket.

    The last two columns are the row order of the row's file, and the bucket. The numbers of the micro-batch, the task
    and the row in the task complete the row order.
    """

    task: Callable[[], tuple[int, int]]
    """Returns the micro-batch and the partition of this task."""
    end: StreamEnd | None = None
    """The end of the stream, if it is known."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        micro_batch, partition = self.task()
        before = pa.scalar(struct.pack(">q", micro_batch), pa.binary())
        counted = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            *columns, files, buckets = batch.columns
            own = own_row_orders(files, partition, counted)
            row_orders = pc.binary_join_element_wise(before, own, pa.scalar(b"", pa.binary()))
            counted += batch.num_rows
            content = pa.RecordBatch.from_arrays([*columns, row_orders], names=batch.schema.names[:-1])
            order = buckets.to_numpy().argsort(kind="stable")
            found, starts = _runs(buckets.to_numpy()[order])
            packed = [
                pack_batch(content.take(pa.array(order[start:end])))
                for start, end in zip(starts, [*starts[1:], len(order)], strict=True)
            ]
            yield pa.RecordBatch.from_arrays(
                [pa.array(found, pa.int32()), pa.array(packed, pa.binary())], names=["bucket", "rows"]
            )
        if self.end is not None and self.end.micro_batch == micro_batch:
            numbers = range(self.end.buckets)
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers, pa.int32()), pa.array([b""] * len(numbers), pa.binary())], names=["bucket", "rows"]
            )


@dataclass(frozen=True)
class NumberRows:
    """Given to mapInArrow: replaces the last column, the row order of the row's file, by that of the row."""

    partition: Callable[[], int]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        counted = 0
        for batch in batches:
            *columns, files = batch.columns
            row_orders = own_row_orders(files, self.partition(), counted)
            counted += batch.num_rows
            yield pa.RecordBatch.from_arrays([*columns, row_orders], names=batch.schema.names)


def packed_together(batches: Sequence[pa.RecordBatch]) -> bytes | None:
    """Some batches with the same columns as one value; None if there is none."""
    if not batches:
        return None
    return pack_batch(pa.Table.from_batches(list(batches)).combine_chunks().to_batches()[0])


def own_row_orders(files: Any, partition: int, counted: int) -> Any:
    """The row order of each row: that of its file, then the numbers of the task, and of the row in the task."""
    task = pa.scalar(struct.pack(">q", partition), pa.binary())
    rows = as_bytes(range(counted, counted + len(files)))
    return pc.binary_join_element_wise(files, task, rows, pa.scalar(b"", pa.binary()))


def as_bytes(numbers: range) -> Any:
    """Non-negative numbers as bytes that sort as the numbers do."""
    import numpy as np

    buffer = pa.py_buffer(np.arange(numbers.start, numbers.stop, dtype=">i8").tobytes())
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(numbers), [None, buffer]).cast(pa.binary())


def _runs(values: Any) -> tuple[list[int], list[int]]:
    """The distinct values of a sorted array, and the first index of each."""
    starts = [0, *((values[1:] != values[:-1]).nonzero()[0] + 1).tolist()]
    return [int(values[start]) for start in starts], starts


@dataclass(frozen=True)
class UnpackBuckets:
    """Given to mapInArrow: unpacks the results of buckets to rows, and reports skipped elements."""

    policy: Policy | None = None
    account: Account | None = None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        left_out = LeftOut()
        for batch in batches:
            for packed, more in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                if more is not None:
                    left_out += pickle.loads(more)
                if packed is not None:
                    yield unpack_batch(packed)
        if self.account is not None and self.policy is not None:
            self.account.report({self.policy.number: left_out})


@dataclass(frozen=True)
class Bucket:
    """Runs a machine over the rows of a micro-batch and the states of a bucket's keys."""

    machine: Machine
    origin: Origin
    input: Type
    output: Type
    dumps: Dumps
    timed: bool
    stamps: bool
    by_key: bool
    running: bool
    """Whether each key whose state changed emits its current result, as if the stream ended now."""
    ordered: bool
    """Whether results have a row order."""

    def __call__(
        self, packed: Sequence[bytes], saved: bytes | None, *, ends: bool = False
    ) -> tuple[bytes | None, LeftOut | None, bytes | None]:
        """The results of some rows, the skipped elements, and the new states.

        If the stream ends, each key then emits the results of its end, and its state is removed.
        """
        notes = Notes(self.dumps)
        found: list[pa.RecordBatch] = []
        with no_garbage_collection():
            if packed:
                emit = Emitter(self.by_key, ordered=self.ordered, notes=notes)
                table = pa.Table.from_batches([unpack_batch(each) for each in packed])
                rows = table.take(pc.sort_indices(table, [("at", "ascending")])).combine_chunks().to_batches()[0]
                saved = self._take(rows, saved, emit)
                found += self._results(emit, rows.column("at"))
            if ends and saved is not None:
                emit = Emitter(self.by_key, ordered=self.ordered, notes=notes)
                firsts = self._end(saved, emit)
                found += self._results(emit, pa.array([_AFTER_ALL + first for first in firsts], pa.binary()))
                saved = self._without_keys()
            left_out = None if self.origin.policy is None else notes.by_operator.get(self.origin.policy.number)
            return packed_together(found), left_out, saved

    def _end(self, saved: bytes, emit: Emitter) -> list[bytes]:
        """Ends the stream of each key. Returns the row order of the first element of each."""
        firsts: list[bytes] = []
        for identity, state in stored_states(saved, self.machine.layout):
            assert isinstance(state, KeyWindows), "only windows emit results at the end"
            emit.key, emit.at_end = identity if state.key is NOT_STARTED else state.key, len(firsts)
            firsts.append(state.first)
            self.machine.end(state, emit.key, emit)
        return firsts

    def _without_keys(self) -> bytes:
        """The states of no keys."""
        by = self.input.key if self.by_key and isinstance(self.input, Keyed) else None
        return StateTable(None, [], by, self.machine.layout, self.dumps).written([])

    def _take(self, rows: pa.RecordBatch, saved: bytes | None, emit: Emitter) -> bytes:
        """Runs the machine over the rows of each key. Returns the new states."""
        keys, values = keys_and_values(rows.columns, self.input, self.by_key)
        times = rows.column("time").to_pylist() if self.timed else None
        groups = self._groups(keys, len(values))
        firsts = [None if keys is None else keys[members[0]] for members in groups]
        by = self.input.key if self.by_key and isinstance(self.input, Keyed) else None
        table = StateTable(saved, firsts, by, self.machine.layout, self.dumps)
        states, take = [], self.machine.take
        for key, members, before in zip(firsts, groups, table.read(self.machine.start), strict=True):
            emit.key, emit.orders, emit.at_end = key, members, members[-1]
            given = [values[member] for member in members]
            when: list[Any] | None = None if times is None else [times[member] for member in members]
            state = take(before, key, given, when, emit)
            if isinstance(state, KeyWindows) and not state.first:
                state.first = rows.column("at")[members[0]].as_py()
            states.append(state)
            if self.running:
                self.machine.end(state, key, emit)
        return table.written(states)

    def _groups(self, keys: list[Any] | None, count: int) -> Collection[list[int]]:
        """The indices of the elements of each key."""
        if keys is None:
            return [list(range(count))]
        assert isinstance(self.input, Keyed)
        identities = keys if is_its_own_identity(self.input.key) else map(canonical, keys)
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        for index, same in enumerate(identities):
            groups[same].append(index)
        return groups.values()

    def _results(self, emit: Emitter, row_orders: Any) -> list[pa.RecordBatch]:
        """The results, if there are any. The row order of each begins with that of the element that caused it."""
        if not emit.values:
            return []
        batch = encode_results(emit, self.output, self.stamps, self.origin, self.dumps)
        if not self.ordered:
            return [batch]
        causes = row_orders.take(pa.array(emit.row_orders, pa.int64()))
        row_orders = pc.binary_join_element_wise(causes, as_bytes(range(len(causes))), pa.scalar(b"", pa.binary()))
        return [pa.RecordBatch.from_arrays([*batch.columns, row_orders], names=[*batch.schema.names, "at"])]
