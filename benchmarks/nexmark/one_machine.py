"""Polars and DuckDB, in this process: the limit of what one machine does."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa

from benchmarks.nexmark import with_duckdb, with_polars
from benchmarks.nexmark.data import Paths
from benchmarks.nexmark.systems import WRITTEN, System
from benchmarks.session import CORES


class Polars(System):
    """Lazy frames on the streaming engine."""

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table | None:
        frame = with_polars.QUERIES[query](with_polars.LazyTables(paths))
        if query not in WRITTEN:
            return frame.collect(engine="streaming").to_arrow()
        written.mkdir(parents=True)
        frame.sink_parquet(written / "all.parquet", compression="snappy", maintain_order=False)
        return None


class DuckDB(System):
    """SQL on views of the files, in a new connection for each run."""

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table | None:
        with duckdb.connect(config={"threads": CORES, "preserve_insertion_order": False}) as connection:
            for name, path in paths._asdict().items():
                connection.execute(f"CREATE VIEW {name} AS FROM read_parquet('{path}/*.parquet')")
            connection.execute("CREATE VIEW labels AS SELECT range AS id, 'label ' || range AS label FROM range(100)")
            text = with_duckdb.QUERIES[query]
            if query not in WRITTEN:
                table: pa.Table = connection.sql(text).to_arrow_table()
                return table
            written.mkdir(parents=True)
            connection.execute(f"COPY ({text}) TO '{written}' (FORMAT parquet, PER_THREAD_OUTPUT, OVERWRITE_OR_IGNORE)")
            return None


SYSTEMS: dict[str, type[System]] = {"polars": Polars, "duckdb": DuckDB}
VERSIONS = {"polars": pl.__version__, "duckdb": duckdb.__version__}
