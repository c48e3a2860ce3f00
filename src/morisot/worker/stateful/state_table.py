"""The stored states of a bucket's keys: a table, of which a micro-batch reads the rows that it needs.

A micro-batch changes some of many keys. The states of the others are copied by columns, without decoding. So the cost
of a bucket depends on the keys that change, and not on the keys that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from morisot.types.element import BYTES, INT, STR, Type
from morisot.worker.codec.batches import Dumps
from morisot.worker.codec.ipc import pack_batch, unpack_batch
from morisot.worker.codec.keys import canonical
from morisot.worker.codec.stored import Layout, all_pickled, loaded

IDENTITIES: dict[Type | None, pa.DataType] = {INT: pa.int64(), STR: pa.string(), BYTES: pa.binary()}
"""Types of keys that are stored as they are. For others the canonical bytes are stored."""
_NAMES = ["key", "state"]


class StateTable:
    """Reads the states of some keys from a stored table, and writes them."""

    def __init__(
        self, saved: bytes | None, keys: Sequence[Any], type_: Type | None, layout: Layout, dumps: Dumps
    ) -> None:
        kind = IDENTITIES.get(type_)
        identities = keys if kind is not None else list(map(canonical, keys))
        self._keys = pa.array(identities, kind or pa.binary())
        self._layout = layout
        self._dumps = dumps
        self._table = None if saved is None else unpack_batch(saved)
        if self._table is not None:
            layout.check_metadata(self._table.schema.metadata)
        self._found = None if self._table is None else pc.index_in(self._keys, self._table.column("key"))

    def read(self, start: Callable[[], Any]) -> list[Any]:
        """The states of the keys. A key without a state gets the result of `start`."""
        if self._table is None or self._found is None:
            return [start() for _ in range(len(self._keys))]
        packed = self._table.column("state").take(self._found.drop_null()).to_pylist()
        states = loaded(packed)
        if self._layout.form is not None:
            states = [*map(self._layout.form.load, states)]
        if not self._found.null_count:
            return states
        found = iter(states)
        return [next(found) if there else start() for there in self._found.is_valid().to_pylist()]

    def written(self, states: Sequence[Any]) -> bytes:
        """The table with new states for the keys."""
        if self._layout.form is not None:
            states = [*map(self._layout.form.store, states)]
        columns: list[Any] = [self._keys, pa.array(all_pickled(states, self._dumps), pa.binary())]
        if self._table is not None and self._found is not None:
            columns = [
                pa.concat_arrays([old, new])
                for old, new in zip(self._untouched(self._table, self._found), columns, strict=True)
            ]
        schema = pa.schema([*zip(_NAMES, (column.type for column in columns), strict=True)], self._layout.metadata)
        return pack_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

    @staticmethod
    def _untouched(table: pa.RecordBatch, found: Any) -> list[Any]:
        import numpy as np

        stay = np.ones(table.num_rows, dtype=bool)
        stay[found.drop_null().to_numpy()] = False
        return [table.column(name).filter(pa.array(stay)) for name in _NAMES]


def stored_states(saved: bytes, layout: Layout) -> list[tuple[Any, Any]]:
    """The stored identity of each key, which is the key itself for some types, and its state."""
    table = unpack_batch(saved)
    layout.check_metadata(table.schema.metadata)
    states = loaded(table.column("state").to_pylist())
    if layout.form is not None:
        states = [*map(layout.form.load, states)]
    return list(zip(table.column("key").to_pylist(), states, strict=True))
