"""Answers compared as multisets of rows: no query of Nexmark has an order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from benchmarks.nexmark.data import Paths

Hashes = npt.NDArray[np.uint64]
CHOSEN = {"q9": 2}
"""By query, the column that differs if two bids of an auction have the highest price: in SQL either wins."""
LARGE = 1_000_000
"""Answers with more rows are compared by the sum of the hashes of their rows."""


def difference(query: str, answer: pa.Table, expected: pa.Table, paths: Paths) -> str | None:
    """What differs between two answers, or None."""
    found, wanted = flat(answer), flat(expected)
    if found.shape != wanted.shape:
        return f"{found.shape} rows and columns instead of {wanted.shape}"
    if found.num_rows > LARGE and query not in CHOSEN:
        return None if fingerprint(found) == fingerprint(wanted) else "other rows, by their hashes"
    if query in CHOSEN:
        return _column_difference(without(found, CHOSEN[query]), without(wanted, CHOSEN[query])) or _unknown_bids(
            found, paths
        )
    return _column_difference(found, wanted)


def without(table: pa.Table, column: int) -> pa.Table:
    return table.select([name for index, name in enumerate(table.column_names) if index != column])


def flat(table: pa.Table) -> pa.Table:
    """The table with numbered columns, a column for each field of a struct, lists as text, integers of 64 bits."""
    while any(pa.types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return pa.table({str(index): _plain(column) for index, column in enumerate(table.columns)})


def _plain(column: Any) -> Any:
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return pa.chunked_array([[str([tuple(each.values()) for each in row]) for row in column.to_pylist()]])
    return column if pa.types.is_floating(column.type) else column.cast(pa.string())


def _column_difference(found: pa.Table, wanted: pa.Table) -> str | None:
    """The first column that differs after both tables were sorted; floats may differ in the last digits."""
    keys: Any = [(name, "ascending") for name in found.column_names]
    found, wanted = found.sort_by(keys), wanted.sort_by(keys)
    for name in found.column_names:
        left, right = found[name], wanted[name]
        if pa.types.is_floating(left.type):
            same = np.isclose(left.to_numpy(), right.to_numpy(), rtol=1e-9, atol=0)
        else:
            same = pc.equal(left, right).to_numpy()
        if not same.all():
            place = int(np.argmin(same))
            return f"{found.slice(place, 1).to_pylist()[0]} instead of {wanted.slice(place, 1).to_pylist()[0]}"
    return None


def _unknown_bids(winners: pa.Table, paths: Paths) -> str | None:
    """Whether each winner offered the price: auction, seller, bidder and price are its columns."""
    bids = ds.dataset(paths.bids).to_table(columns=["auction", "bidder", "price"])
    unknown = winners.join(bids, ["0", "2", "3"], ["auction", "bidder", "price"], join_type="left anti")
    return f"{unknown.num_rows} winners who did not offer the price" if unknown.num_rows else None


def fingerprint(table: pa.Table) -> int:
    """The sum of the hashes of the rows, which does not depend on their order."""
    total = 0
    for batch in table.to_batches(max_chunksize=1_000_000):
        rows: Hashes = np.zeros(batch.num_rows, np.uint64)
        for column in batch.columns:
            rows = rows * np.uint64(0x9E3779B97F4A7C15) + hashes(column)
        total += int(rows.sum(dtype=np.uint64))
    return total % 2**64


def hashes(column: Any) -> Hashes:
    """A hash of each value."""
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_numpy(zero_copy_only=False)
    hashed: Hashes = pd.util.hash_array(values, categorize=False)[encoded.indices.to_numpy()]
    return hashed
