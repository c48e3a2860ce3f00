"""Machines with timers on unbounded input: a watermark, or processing time, completes their results.

Times are in ticks.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from morisot.types.element import Keyed, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.keys import canonical, is_its_own_identity
from morisot.worker.codec.stored import Layout
from morisot.worker.garbage import no_garbage_collection
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.buckets import as_bytes
from morisot.worker.stateful.machine import LAST, Emitter, encode_results, keys_and_values

SIGN = 2**63


class Moment(NamedTuple):
    """The time of a micro-batch."""

    watermark: int | None
    """The watermark; None before there is one."""
    now: int | None = None
    """The timestamp of all elements, if the operator uses processing time."""
    ends: bool = False
    """Whether the stream has ended, so that everything is complete."""

    def closed(self, seen: int | None, *, direct: bool) -> int | None:
        """The time up to which elements are late. `seen` is the time up to which results were emitted."""
        return self.watermark if direct and not self.ends and seen != LAST else seen

    def reached(self, seen: int | None) -> int | None:
        """The time up to which results are complete."""
        mark = LAST if self.ends else self.watermark
        return mark if seen is None or (mark is not None and mark > seen) else seen

    def stored(self, seen: int | None, reached: int | None) -> int | None:
        """The time that is stored with the state. Windows of processing time may begin after the end."""
        return seen if self.ends and self.now is not None else reached


class LateElements(NamedTuple):
    """The number of late elements, and one of them or, for a handler, all of them, with their timestamps."""

    number: int
    elements: list[tuple[Any, Any]]
    watermark: int


class BucketOutcome(NamedTuple):
    """The results of a bucket after a micro-batch, and its new state."""

    results: bytes | None
    late: LateElements | None
    state: bytes
    deadline: int | None
    """The smallest watermark at which there will be results."""


class TimerBucket(Protocol):
    """Processes the rows of a bucket with its stored state and the time of a micro-batch."""

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> BucketOutcome: ...


@dataclass
class TimedRows:
    """The elements of a bucket in a micro-batch, in row order."""

    keys: Sequence[Any]
    """The key of each element; None for each if all elements are one group."""
    identities: Sequence[Any]
    """Values that are equal exactly if the keys are."""
    values: Sequence[Any]
    times: Sequence[Any]
    row_orders: Sequence[Any]


class TimeMachine(Protocol):
    """An operator with timers over the keys of a bucket. There is one state for all keys."""

    @property
    def layout(self) -> Layout:
        """The layout of its stored state."""

    def start(self) -> Any:
        """The state before the first element."""

    def take(self, state: Any, rows: TimedRows, closed: int | None, emit: Emitter) -> list[int]:
        """Processes some more elements. Returns the indices of late ones, whose windows all end by `closed`."""

    def close(self, state: Any, watermark: int, emit: Emitter) -> None:
        """Emits the windows that are complete at a watermark, and removes them."""

    def deadline(self, state: Any) -> int | None:
        """The smallest watermark at which a window is complete."""


@dataclass(frozen=True)
class WindowBucket:
    """Runs a machine with timers."""

    machine: TimeMachine
    origin: Origin
    input: Type
    output: Type
    dumps: Dumps
    stamps: bool
    direct: bool
    """Whether elements have the timestamps of the source: then those below the watermark are late. Results of upstream
    windows are emitted when the watermark passes them, so of these only those below the previous watermark are late."""
    keep_late: bool
    """Whether all late elements are reported, or one as an example."""

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> BucketOutcome:
        layout = self.machine.layout
        seen, state = layout.unpacked(saved) if saved is not None else (None, self.machine.start())
        late: LateElements | None = None
        emit = Emitter(isinstance(self.input, Keyed), ordered=True)
        with no_garbage_collection():
            if packed:
                late = self._take(packed, state, moment.closed(seen, direct=self.direct), moment.now, emit)
            reached = moment.reached(seen)
            if reached is not None:
                self.machine.close(state, reached, emit)
        seen = moment.stored(seen, reached)
        results = self._packed(emit) if emit.values else None
        return BucketOutcome(results, late, layout.packed(seen, state, self.dumps), self.machine.deadline(state))

    def _take(
        self, packed: Sequence[bytes], state: Any, closed: int | None, now: int | None, emit: Emitter
    ) -> LateElements | None:
        batch = in_order(packed)
        keyed = isinstance(self.input, Keyed)
        keys, values = keys_and_values(batch.columns, self.input, keyed)
        times: list[Any] = batch.column("time").to_pylist() if now is None else [now] * len(values)
        all_keys = [None] * len(values) if keys is None else keys
        row_orders = batch.column("at").to_pylist()
        given = self.given(all_keys, values, row_orders)
        rows = TimedRows(all_keys, self._identities(all_keys), given, times, row_orders)
        found = self.machine.take(state, rows, closed, emit)
        if not found or closed is None:
            return None
        retained = found if self.keep_late else found[:1]
        elements = [(self.element(all_keys[index], values[index]), times[index]) for index in retained]
        return LateElements(len(found), elements, closed)

    def given(self, keys: Sequence[Any], values: Sequence[Any], row_orders: Sequence[Any]) -> Sequence[Any]:
        """The values as the machine takes them."""
        return values

    def element(self, key: Any, value: Any) -> Any:
        """The element as in the user's stream."""
        return (key, value) if isinstance(self.input, Keyed) else value

    def _identities(self, keys: list[Any]) -> list[Any]:
        if not isinstance(self.input, Keyed) or is_its_own_identity(self.input.key):
            return keys
        return list(map(canonical, keys))

    def _packed(self, emit: Emitter) -> bytes:
        """The results as one value, with the row orders that the machine set."""
        batch = encode_results(emit, self.output, self.stamps, self.origin, self.dumps)
        row_orders = pa.array(emit.row_orders, pa.binary())
        return pack_batch(pa.RecordBatch.from_arrays([*batch.columns, row_orders], names=[*batch.schema.names, "at"]))


@dataclass(frozen=True)
class ReorderBucket:
    """Buffers rows until the watermark has passed them, and emits them in the order of timestamps, then of rows."""

    input: Type
    direct: bool
    keep_late: bool
    layout = Layout("reorder", 1)

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> BucketOutcome:
        seen, held = self.layout.unpacked(saved) if saved is not None else (None, None)
        late = None
        if packed:
            batch = in_order(packed)
            closed = moment.closed(seen, direct=self.direct)
            if closed is not None:
                late, batch = self._split_late(batch, closed)
            held = batch if held is None else joined(unpack_batch(held), batch)
        elif held is not None:
            held = unpack_batch(held)
        seen = moment.reached(seen)
        results = None
        if held is not None and seen is not None:
            ready = pc.less_equal(held.column("time"), pa.scalar(seen))
            given, held = held.filter(ready), held.filter(pc.invert(ready))
            results = pack_batch(in_time_order(given)) if given.num_rows else None
        deadline = pc.min(held.column("time")).as_py() if held is not None and held.num_rows else None
        retained = pack_batch(held) if held is not None and held.num_rows else None
        return BucketOutcome(results, late, self.layout.packed(seen, retained, pickle.dumps), deadline)

    def _split_late(self, batch: pa.RecordBatch, closed: int) -> tuple[LateElements | None, pa.RecordBatch]:
        below = pc.less_equal(batch.column("time"), pa.scalar(closed))
        late = batch.filter(below)
        if not late.num_rows:
            return None, batch
        retained = late if self.keep_late else late.slice(0, 1)
        _, values = keys_and_values(retained.columns, self.input, by_key=False)
        elements = list(zip(values, retained.column("time").to_pylist(), strict=True))
        return LateElements(late.num_rows, elements, closed), batch.filter(pc.invert(below))


def in_order(packed: Sequence[bytes]) -> pa.RecordBatch:
    """The rows of some packed batches, in row order."""
    table = pa.Table.from_batches([unpack_batch(each) for each in packed])
    return table.take(pc.sort_indices(table, [("at", "ascending")])).combine_chunks().to_batches()[0]


def joined(first: pa.RecordBatch, second: pa.RecordBatch) -> pa.RecordBatch:
    if not second.num_rows:
        return first
    return pa.Table.from_batches([first, second]).combine_chunks().to_batches()[0]


def in_time_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with a row order by time. Rows with equal timestamps are in the order of arrival."""
    import numpy as np

    times = batch.column("time").to_numpy().view(np.uint64) ^ np.uint64(SIGN)
    buffer = pa.py_buffer(times.astype(">u8").tobytes())
    moments = pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(times), [None, buffer]).cast(pa.binary())
    numbers = as_bytes(range(batch.num_rows))  # buffered rows are in the order of arrival
    row_orders = pc.binary_join_element_wise(moments, numbers, pa.scalar(b"", pa.binary()))
    columns = [row_orders if name == "at" else batch.column(name) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def moment_bytes(ticks: int) -> bytes:
    """A timestamp as bytes that sort as timestamps do, also before the epoch."""
    return (ticks + SIGN).to_bytes(8, "big")
