"""Directories of Parquet files whose rows are numbered in the order of the files."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ["bid", "auction", "person", "view"]


def directory(rows: int, files: int) -> Path:
    """A directory of files of nearly the same size: id, kind, price, seller."""

    def write(path: Path, rows: int, random: Randomness) -> None:
        path.mkdir()
        bounds = np.linspace(0, rows, files + 1).astype(int)
        for number, (first, end) in enumerate(itertools.pairwise(bounds)):
            here = end - first
            table = pa.table(
                {
                    "id": pa.array(np.arange(first, end)),
                    "kind": pa.array(KINDS).take(random.integers(0, len(KINDS), here)),
                    "price": pa.array(random.integers(1, 100_000, here)),
                    "seller": pa.array(random.integers(0, 40_000, here)),
                }
            )
            pq.write_table(table, path / f"{number:05d}.parquet")

    return cached(f"directory-{files}", rows, "", write)
