"""The contents of stored states, for users who look at them: keys with their values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from morisot.types.element import ANY, Keyed, Type
from morisot.types.moments import from_ticks
from morisot.types.windows import Windowed
from morisot.worker.codec.ipc import unpack_batch
from morisot.worker.codec.keys import original
from morisot.worker.codec.stored import NOTHING, loaded
from morisot.worker.stateful.buckets import Bucket
from morisot.worker.stateful.count_windows import TumblingCount
from morisot.worker.stateful.machine import NOT_STARTED, Machine, keys_and_values
from morisot.worker.stateful.state_table import IDENTITIES, stored_states
from morisot.worker.stateful.time_windows import Measuring, Sessions, Sliding
from morisot.worker.stateful.timers import ReorderBucket, WindowBucket
from morisot.worker.stateful.windows import KeyWindows, Windows, results_of

_TABLE = b"\xff\xff\xff\xff"
"""The first bytes of a table of states: a stream of Arrow."""


def contents_of(bucket: Any, saved: bytes) -> Iterator[tuple[Any, Any]]:
    """The keys and values in the stored state of a bucket. The key is None if there are no keys.

    The value is the user's state, the accumulator of an aggregate, the key store of a replica, or the open windows,
    each with its bounds and its result so far.
    """
    match bucket:
        case Bucket():
            yield from _in_table(bucket, saved)
        case WindowBucket():
            _, state = bucket.machine.layout.unpacked(saved)
            yield from _with_timers(bucket, state)
        case ReorderBucket():
            _, held = bucket.layout.unpacked(saved)
            if held is not None:
                _, values = keys_and_values(unpack_batch(held).columns, bucket.input, by_key=False)
                yield None, values


def _in_table(bucket: Bucket, saved: bytes) -> Iterator[tuple[Any, Any]]:
    key_type = bucket.input.key if bucket.by_key and isinstance(bucket.input, Keyed) else None
    for identity, state in stored_states(saved, bucket.machine.layout):
        if isinstance(state, KeyWindows) and state.key is not NOT_STARTED:
            key = state.key
        else:
            key = None if key_type is None else _key(identity, key_type)
        if state is not NOTHING:
            yield key, _value(bucket.machine, state)


def _key(identity: Any, type_: Type) -> Any:
    return identity if type_ in IDENTITIES else original(identity, type_)


def _value(machine: Machine, state: Any) -> Any:
    match machine:
        case Windows():
            found = [(held.start, held.end, held.parts) for held in state.open.values()]
        case TumblingCount(size=size):
            count, parts, _ = state
            found = [(count - count % size, count, parts)] if parts else []
        case _:
            return state
    return [
        Windowed(start, end, results_of(machine.measures, parts, machine.row, machine.origin))
        for start, end, parts in found
    ]


def _with_timers(bucket: WindowBucket, state: Any) -> Iterator[tuple[Any, Any]]:
    machine = bucket.machine
    keyed = isinstance(bucket.input, Keyed)
    found: defaultdict[Any, list[Any]] = defaultdict(list)
    keys: dict[Any, Any] = {}
    match machine:
        case Sliding(size=size, measuring=measuring):
            for start, windows in sorted(state.items()):
                for same, (key, _, held) in windows.items():
                    keys[same] = key
                    found[same].append(_window(measuring, start, start + size, held))
        case Sessions(gap=gap, measuring=measuring):
            for same, sessions in state[1].items():
                for session in sessions:
                    keys[same] = session.key
                    values = [value for _, value in session.items]
                    held = measuring.first(values[0])
                    for value in values[1:]:
                        held = measuring.add(held, value)
                    found[same].append(_window(measuring, session.first, session.last + gap, held))
        case _:
            yield None, state
    for same, windows in found.items():
        yield (keys[same] if keyed else None), windows


def _window(measuring: Any, start: int, end: int, held: Any) -> Windowed[Any, Any]:
    if isinstance(measuring, Measuring):
        value = results_of(measuring.measures, held, measuring.row, measuring.origin)
        return Windowed(from_ticks(start, measuring.clock), from_ticks(end, measuring.clock), value)
    return Windowed(start, end, held)


def raw_contents(saved: bytes) -> Iterator[tuple[Any, Any]]:
    """The same without the program that stored them: states as they are stored, and keys as Python writes them."""
    if saved.startswith(_TABLE):
        table = unpack_batch(saved)
        keys = table.column("key").to_pylist()
        states = loaded(table.column("state").to_pylist())
        for identity, state in zip(keys, states, strict=True):
            yield (original(identity, ANY) if isinstance(identity, bytes) else identity), state
        return
    ((_, state),) = loaded([memoryview(saved)[saved.index(b"\n") + 1 :]])
    yield None, state
