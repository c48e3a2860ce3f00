"""Random graphs as Parquet: every pair of nodes is an edge with the same probability (Erdős–Rényi)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached

if TYPE_CHECKING:
    from pathlib import Path

DENSITY = 0.8
"""Edges of all pairs: 1,500 nodes have about 900,000."""
FILES = 4


def graph(nodes: int) -> Path:
    """Edges as Parquet files: low, high, each pair of nodes at most once and the smaller number first."""
    return cached("graph", nodes, "", _write_graph)


def _write_graph(path: Path, nodes: int, random: Randomness) -> None:
    low, high = np.triu_indices(nodes, k=1)
    chosen = random.permutation(len(low))[: round(DENSITY * len(low))]
    ends = {name: pa.array(each[chosen].astype(np.int64)) for name, each in (("low", low), ("high", high))}
    table = pa.table(ends)
    path.mkdir()
    for number in range(FILES):  # Spark reads one small file in one task, and the others would have nothing to join
        first, last = (len(table) * part // FILES for part in (number, number + 1))
        pq.write_table(table.slice(first, last - first), path / f"part-{number}.parquet")
