"""Delta iterations in Python: deltas are applied to the entry of their key, which records whether it changed.

Between rounds an entry is the canonical bytes of its key and a pickle of (key, value) in stored form. It is unpickled
only to apply a delta, or to compute its update.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from morisot.errors import Location
from morisot.types.element import ANY, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.keys import canonical
from morisot.worker.codec.stored import PLAIN, Form, loose_form_of, of_parts, pickled
from morisot.worker.report import failure
from morisot.worker.rowwise.stage import decode_columns, encode_batch

ENTRY = "same BINARY, entry BINARY, changed BOOLEAN"
"""The schema of an entry between rounds."""
DELTA = "same BINARY, is_delta BOOLEAN, entry BINARY"
"""The schema of a delta before it is applied."""


@dataclass(frozen=True)
class Deltas:
    """The functions of a delta iteration."""

    process_delta: Callable[[Any, Any, Any], Any]
    make_update: Callable[[Any, Any], Any]
    make_output: Callable[[Any, Any], Any]
    condition: Callable[[Any], Any]
    operator: str
    location: Location | None
    dumps: Dumps
    entry: Type = ANY
    """The types of key and value."""

    @functools.cached_property
    def _form(self) -> Form:
        return of_parts([loose_form_of(child) for _, child in self.entry.children]) or PLAIN

    def packed(self, key: Any, value: Any) -> bytes:
        """An entry in its stored form."""
        return pickled(self._form.store((key, value)), self.dumps)

    def opened(self, entry: bytes) -> tuple[Any, Any]:
        """The key and the value of an entry."""
        pair: tuple[Any, Any] = self._form.load(pickle.loads(entry))
        return pair

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            element = arguments[0] if len(arguments) == 1 else arguments
            raise failure.element_error(self.operator, self.location, element, error, 1) from error


@dataclass(frozen=True)
class PackEntries:
    """Given to mapInArrow: packs (key, value) elements to entries, or to deltas for which the condition holds."""

    input: Type
    deltas: Deltas
    are_deltas: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            pairs = decode_columns(batch, self.input)
            if self.are_deltas:
                pairs = [pair for pair in pairs if self.deltas.call(self.deltas.condition, pair[1])]
            same = pa.array([self.deltas.call(canonical, key) for key, _ in pairs], pa.binary())
            pack = self.deltas.dumps if self.are_deltas else lambda pair: self.deltas.packed(*pair)
            entries = pa.array([*map(pack, pairs)], pa.binary())
            true = pa.array([True] * len(pairs), pa.bool_())
            if self.are_deltas:
                yield pa.RecordBatch.from_arrays([same, true, entries], ["same", "is_delta", "entry"])
            else:
                yield pa.RecordBatch.from_arrays([same, entries, true], ["same", "entry", "changed"])


@dataclass(frozen=True)
class ApplyDeltas:
    """Given to mapInArrow: applies deltas to entries. Rows are sorted by key, entries before deltas."""

    deltas: Deltas

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        held: list[Any] | None = None  # same, entry as bytes or None, key, value, first value
        for batch in batches:
            done: list[tuple[bytes, bytes, bool]] = []
            columns = [batch.column(index).to_pylist() for index in range(3)]
            for same, is_delta, entry in zip(*columns, strict=True):
                if held is None or held[0] != same:
                    if held is not None:
                        done.append(self._closed(held))
                    held = [same, None if is_delta else entry, None, _ABSENT, _ABSENT]
                if is_delta:
                    self._apply(held, *pickle.loads(entry))
                elif held[1] is not entry:  # the input has the key twice: the last value is used
                    held[1] = entry
            yield _rows(done)
        if held is not None:
            yield _rows([self._closed(held)])

    def _apply(self, held: list[Any], key: Any, delta: Any) -> None:
        if held[1] is not None:  # the first delta unpickles the entry
            held[2], held[3] = self.deltas.opened(held[1])
            held[1], held[4] = None, held[3]
        elif held[2] is None:
            held[2] = key
        value = None if held[3] is _ABSENT else held[3]
        held[3] = self.deltas.call(self.deltas.process_delta, held[2], value, delta)

    def _closed(self, held: list[Any]) -> tuple[bytes, bytes, bool]:
        same, entry, key, value, first = held
        if entry is not None:
            return same, entry, False
        changed = not (type(first) is type(value) and bool(first == value))
        return same, self.deltas.packed(key, value), changed


_ABSENT = object()


def _rows(done: Sequence[tuple[bytes, bytes, bool]]) -> pa.RecordBatch:
    same, entries, changed = zip(*done, strict=True) if done else ((), (), ())
    columns: list[Any] = [pa.array(same, pa.binary()), pa.array(entries, pa.binary()), pa.array(changed, pa.bool_())]
    return pa.RecordBatch.from_arrays(columns, ["same", "entry", "changed"])


@dataclass(frozen=True)
class OpenEntries:
    """Given to mapInArrow: entries to (key, result of a function of key and value)."""

    output: Type
    deltas: Deltas
    function: Callable[[Any, Any], Any]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            pairs = [*map(self.deltas.opened, batch.column(0).to_pylist())]
            made = [(key, self.deltas.call(self.function, key, value)) for key, value in pairs]
            yield encode_batch(made, self.output, self.deltas.dumps, self.deltas.operator, self.deltas.location)
