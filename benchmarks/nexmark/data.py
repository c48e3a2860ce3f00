"""The events of Nexmark as Parquet files, a directory for each kind, with the rows of a file after those before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached
from nexmark.events import Columns, Numbers, auctions, bids, counts, persons

FILES = 8
SEED = 1
CHUNK = 250_000
"""The rows that are generated together, a row group of a file."""


class Paths(NamedTuple):
    """The directories of the events."""

    persons: Path
    auctions: Path
    bids: Path


def prepare(events: int, files: int = FILES) -> Paths:
    """The files of the first events, which are written if they do not exist."""
    tables = zip(Paths._fields, (persons, auctions, bids), counts(events), strict=True)
    return Paths(*(_directory(name, columns, rows, files) for name, columns, rows in tables))


def _directory(name: str, columns: Callable[[Numbers, int], Columns], rows: int, files: int) -> Path:
    def make(path: Path, size: int, _random: Randomness) -> None:
        path.mkdir()
        for file in range(files):
            _write(path / f"{file:03}.parquet", columns, size * file // files, size * (file + 1) // files)

    return cached(f"nexmark-{name}-{files}", rows, "", make)


def _write(path: Path, columns: Callable[[Numbers, int], Columns], start: int, stop: int) -> None:
    schema = pa.table(columns(np.arange(1), SEED)).schema
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(start, stop, CHUNK):
            numbers = np.arange(first, min(first + CHUNK, stop))
            writer.write_table(pa.table(columns(numbers, SEED), schema=schema))
