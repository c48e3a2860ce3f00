"""Machines that wait for time on unbounded input: their results come when a watermark or a clock has passed.

Everything is in ticks. A mark says that all elements up to that timestamp have come: those yet to come are later.
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
from morisot.worker.stateful.machine import Emit, encode_results, keys_and_values

SIGN = 2**63


class Moment(NamedTuple):
    """What is known of time in a micro-batch."""

    mark: int | None
    """Up to which timestamp all elements have come; None if that is not known yet."""
    now: int | None = None
    """The timestamp of all its elements, where the clock of the run is what counts."""


class Late(NamedTuple):
    """How many elements came too late, and some of them (all, if somebody wants them) with their timestamps."""

    number: int
    elements: list[tuple[Any, Any]]
    mark: int


class Outcome(NamedTuple):
    """What a bucket has to say after a micro-batch."""

    results: bytes | None
    late: Late | None
    state: bytes
    deadline: int | None
    """The smallest mark at which there will be something to say."""


class WaitingBucket(Protocol):
    """What a bucket does with rows, its saved state, and time."""

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> Outcome: ...


@dataclass
class Rows:
    """The elements of a bucket in a micro-batch, in the stream's order."""

    keys: Sequence[Any]
    """None for each, if all elements are one group."""
    identities: Sequence[Any]
    """What is equal exactly where the keys are."""
    values: Sequence[Any]
    times: Sequence[Any]
    places: Sequence[Any]


class TimeMachine(Protocol):
    """Windows of time of the keys of a bucket, whose state is one value for all of them."""

    @property
    def layout(self) -> Layout:
        """How its state is stored."""

    def start(self) -> Any:
        """The state before the first element."""

    def take(self, state: Any, rows: Rows, closed: int | None, emit: Emit) -> list[int]:
        """Take some more elements; which of them are late, because all windows they are in end by `closed`."""

    def close(self, state: Any, mark: int, emit: Emit) -> None:
        """Give the windows that are complete at a mark, and forget them."""

    def deadline(self, state: Any) -> int | None:
        """The smallest mark at which a window is complete."""


@dataclass(frozen=True)
class WindowBucket:
    """Runs a machine that waits for time."""

    machine: TimeMachine
    origin: Origin
    input: Type
    output: Type
    dumps: Dumps
    stamps: bool
    direct: bool
    """Whether elements have the timestamps they were given: then what is below the mark is late. Results of other
    windows come just when the mark has passed them, so there only what was below the last mark would be."""
    keep_late: bool
    """Whether late elements are wanted, or one as an example."""

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> Outcome:
        layout = self.machine.layout
        seen, state = layout.unpacked(saved) if saved is not None else (None, self.machine.start())
        late: Late | None = None
        emit = Emit(isinstance(self.input, Keyed), ordered=True)
        with no_garbage_collection():
            if packed:
                closed = moment.mark if self.direct else seen
                late = self._take(packed, state, closed, moment.now, emit)
            if moment.mark is not None and (seen is None or moment.mark > seen):
                seen = moment.mark
            if seen is not None:
                self.machine.close(state, seen, emit)
        results = self._packed(emit) if emit.values else None
        return Outcome(results, late, layout.packed(seen, state, self.dumps), self.machine.deadline(state))

    def _take(
        self, packed: Sequence[bytes], state: Any, closed: int | None, now: int | None, emit: Emit
    ) -> Late | None:
        batch = in_order(packed)
        keyed = isinstance(self.input, Keyed)
        keys, values = keys_and_values(batch.columns, self.input, keyed)
        times: list[Any] = batch.column("time").to_pylist() if now is None else [now] * len(values)
        all_keys = [None] * len(values) if keys is None else keys
        places = batch.column("at").to_pylist()
        given = self.given(all_keys, values, places)
        rows = Rows(all_keys, self._identities(all_keys), given, times, places)
        found = self.machine.take(state, rows, closed, emit)
        if not found or closed is None:
            return None
        kept = found if self.keep_late else found[:1]
        elements = [(self.element(all_keys[place], values[place]), times[place]) for place in kept]
        return Late(len(found), elements, closed)

    def given(self, keys: Sequence[Any], values: Sequence[Any], places: Sequence[Any]) -> Sequence[Any]:
        """The values as the machine wants them."""
        return values

    def element(self, key: Any, value: Any) -> Any:
        """The element as the user knows it."""
        return (key, value) if isinstance(self.input, Keyed) else value

    def _identities(self, keys: list[Any]) -> list[Any]:
        if not isinstance(self.input, Keyed) or is_its_own_identity(self.input.key):
            return keys
        return list(map(canonical, keys))

    def _packed(self, emit: Emit) -> bytes:
        """The results in one value, with the places the machine gave them."""
        batch = encode_results(emit, self.output, self.stamps, self.origin, self.dumps)
        places = pa.array(emit.places, pa.binary())
        return pack_batch(pa.RecordBatch.from_arrays([*batch.columns, places], names=[*batch.schema.names, "at"]))


@dataclass(frozen=True)
class ReorderBucket:
    """Holds rows until the mark has passed them; they come in the order of their timestamps, then of their places."""

    input: Type
    direct: bool
    keep_late: bool
    layout = Layout("reorder", 1)

    def __call__(self, packed: Sequence[bytes], saved: bytes | None, moment: Moment) -> Outcome:
        seen, held = self.layout.unpacked(saved) if saved is not None else (None, None)
        late = None
        if packed:
            batch = in_order(packed)
            closed = moment.mark if self.direct else seen
            if closed is not None:
                late, batch = self._apart(batch, closed)
            held = batch if held is None else joined(unpack_batch(held), batch)
        elif held is not None:
            held = unpack_batch(held)
        if moment.mark is not None and (seen is None or moment.mark > seen):
            seen = moment.mark
        results = None
        if held is not None and seen is not None:
            ready = pc.less_equal(held.column("time"), pa.scalar(seen))
            given, held = held.filter(ready), held.filter(pc.invert(ready))
            results = pack_batch(placed_by_time(given)) if given.num_rows else None
        deadline = pc.min(held.column("time")).as_py() if held is not None and held.num_rows else None
        kept = pack_batch(held) if held is not None and held.num_rows else None
        return Outcome(results, late, self.layout.packed(seen, kept, pickle.dumps), deadline)

    def _apart(self, batch: pa.RecordBatch, closed: int) -> tuple[Late | None, pa.RecordBatch]:
        below = pc.less_equal(batch.column("time"), pa.scalar(closed))
        late = batch.filter(below)
        if not late.num_rows:
            return None, batch
        kept = late if self.keep_late else late.slice(0, 1)
        _, values = keys_and_values(kept.columns, self.input, by_key=False)
        elements = list(zip(values, kept.column("time").to_pylist(), strict=True))
        return Late(late.num_rows, elements, closed), batch.filter(pc.invert(below))


def in_order(packed: Sequence[bytes]) -> pa.RecordBatch:
    """The rows of some packed batches, in the stream's order."""
    table = pa.Table.from_batches([unpack_batch(each) for each in packed])
    return table.take(pc.sort_indices(table, [("at", "ascending")])).combine_chunks().to_batches()[0]


def joined(first: pa.RecordBatch, second: pa.RecordBatch) -> pa.RecordBatch:
    if not second.num_rows:
        return first
    return pa.Table.from_batches([first, second]).combine_chunks().to_batches()[0]


def placed_by_time(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with places in the order of time; those with the same one in the order they came."""
    import numpy as np

    times = batch.column("time").to_numpy().view(np.uint64) ^ np.uint64(SIGN)
    buffer = pa.py_buffer(times.astype(">u8").tobytes())
    moments = pa.FixedSizeBinaryArray.from_buffers(pa.binary(8), len(times), [None, buffer]).cast(pa.binary())
    numbers = as_bytes(range(batch.num_rows))  # held rows are in the order they came
    places = pc.binary_join_element_wise(moments, numbers, pa.scalar(b"", pa.binary()))
    columns = [places if name == "at" else batch.column(name) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def moment_bytes(ticks: int) -> bytes:
    """A timestamp as bytes that sort as timestamps do, also those before the epoch."""
    return (ticks + SIGN).to_bytes(8, "big")
