"""Random graphs as Parquet files of edges, and their arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data.cache import Randomness, cached


class Edge(NamedTuple):
    """From one node to another."""

    source: int
    target: int


class Graph(NamedTuple):
    """A file of edges, and how many nodes there are."""

    path: str
    nodes: int

    def arrays(self) -> tuple[Any, Any]:
        """The sources and the targets."""
        table = pq.read_table(self.path)
        return np.asarray(table["source"]), np.asarray(table["target"])


def random_graph(name: str, nodes: int, edges: int) -> Graph:
    """Edges between nodes that are chosen at random."""

    def make(path: Path, size: int, random: Randomness) -> None:
        pairs = random.integers(0, nodes, (size, 2))
        table = pa.table({"source": pa.array(pairs[:, 0]), "target": pa.array(pairs[:, 1])})
        pq.write_table(table, path, row_group_size=1 << 18)

    return Graph(str(cached(f"{name}-{nodes}", edges, ".parquet", make)), nodes)
