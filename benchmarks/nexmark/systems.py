"""The systems that run the queries: each reads the same files, and has the same sinks.

An answer that is as large as its input is written to Parquet files. Every other answer becomes an Arrow table in this
process, which is the cheapest way out of each system and runs no Python code for single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import morisot as mo
from benchmarks.nexmark import by_hand
from benchmarks.nexmark.data import Paths
from benchmarks.session import collect_garbage, machine
from nexmark.events import LABELS, Auction, Bid, Person, Streams
from nexmark.queries import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITTEN = ("q0", "q1", "q13")
MORISOT, BY_HAND, POLARS, DUCKDB = "morisot", "dataframe", "polars", "duckdb"
SYSTEMS = (MORISOT, BY_HAND, POLARS, DUCKDB)
SETTINGS = {
    "spark.log.level": "ERROR",
    "spark.python.daemon.module": "benchmarks.daemon",  # its workers' CPU time is counted when they have ended
}


class System:
    """Runs a query."""

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table | None:
        """The answer, or None if it is written to that directory."""
        raise NotImplementedError

    def settle(self) -> None:
        """Does before a run what no run is to pay for."""

    def notes(self) -> list[str]:
        """Remarks on the last run."""
        return []


def answer(system: System, query: str, paths: Paths, written: Path) -> Callable[[], pa.Table]:
    """Runs the query; the answer is read when the result is called, which no measurement includes."""
    table = system.run(query, paths, written)
    return lambda: pq.read_table(written) if table is None else table


class Morisot(System):
    """The queries of examples/nexmark, each run in a new context."""

    def __init__(self, config: mo.Config, session: SparkSession) -> None:
        self._config, self._session = config, session
        self._demoted: list[str] = []

    def settle(self) -> None:
        collect_garbage(self._session)

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table | None:
        with mo.StreamContext(config=self._config) as ctx:
            engine: Any = ctx.engine
            try:
                return self._answer(ctx, query, paths, written)
            finally:
                self._demoted = sorted(node.title for node in engine.demoted)

    @staticmethod
    def _answer(ctx: mo.StreamContext, query: str, paths: Paths, written: Path) -> pa.Table | None:
        streams = Streams(
            ctx.stream_parquet(paths.persons, Person),
            ctx.stream_parquet(paths.auctions, Auction),
            ctx.stream_parquet(paths.bids, Bid),
            ctx.stream_iter(LABELS),
        )
        results = QUERIES[query](streams)
        if query not in WRITTEN:
            return results.to_arrow()
        results.write_parquet(written, mode="overwrite")
        ctx.execute()
        return None

    def notes(self) -> list[str]:
        """The operators that were demoted."""
        return [f"demoted: {title}" for title in self._demoted]


class ByHand(System):
    """DataFrames by hand, in a session of their own with the same settings."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def settle(self) -> None:
        collect_garbage(self._spark)

    def run(self, query: str, paths: Paths, written: Path) -> pa.Table | None:
        frame = by_hand.QUERIES[query](by_hand.Frames(self._spark, paths))
        if query not in WRITTEN:
            return frame.toArrow()
        frame.write.mode("overwrite").parquet(str(written))
        return None


@contextmanager
def opened(names: Sequence[str], memory: str) -> Iterator[tuple[dict[str, System], dict[str, Any]]]:
    """The systems with these names, and the facts of the machine.

    There is one JVM, with a session for each of the two systems on Spark. Both have the settings of Morisot's sessions.
    """
    config = mo.Config(memory=memory, progress=False, spark=SETTINGS)
    with mo.StreamContext(config=config) as owner:
        session = owner.spark
        known: dict[str, Callable[[], System]] = {
            MORISOT: lambda: Morisot(config, session),
            BY_HAND: lambda: ByHand(session.newSession()),
        }
        facts = {**machine(session), "settings": SETTINGS, "memory": memory}
        if not known.keys() >= set(names):
            from benchmarks.nexmark.one_machine import SYSTEMS as OTHERS
            from benchmarks.nexmark.one_machine import VERSIONS

            known |= OTHERS
            facts |= VERSIONS
        yield {name: known[name]() for name in names}, facts
