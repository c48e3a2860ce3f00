"""The Spark settings that a streaming query needs, whoever made the session.

A query copies the settings of its session when it starts. So they are set for the start, and then the session is as it
was. Nothing here relies on a setting of the sessions that Morisot makes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from morisot.engines.spark.internals.names import ROCKS_DB
from morisot.engines.spark.internals.streaming import has_sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEPT = "spark.sql.streaming.minBatchesToRetain"
"""Of how many micro-batches a query keeps its logs and states."""
PARTITIONS = "spark.sql.shuffle.partitions"
STATES = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_BATCH_BYTES, _ANY_NUMBER = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
"""To keep a batch below some bytes, Spark adds them up anew for each row: a fifth of what a task costs."""
_ALWAYS = {
    # Windows close, and joins drop what is too old, in a micro-batch that has no rows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # A watermark is how far all inputs are: see engines/spark/streaming/idle_inputs.py.
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
}
_POLL_SECONDS, _MOST_SECONDS = 0.01, 60.0
_starting = threading.Lock()


def query_settings(spark: SparkSession, *, parallelism: int, keep: int | None, narrow_rows: bool) -> dict[str, str]:
    """The settings of a query that keeps `keep` snapshots, or none; `narrow_rows`: Arrow batches need no limit."""
    wanted = {**_ALWAYS, PARTITIONS: str(parallelism)}
    if "RocksDB" not in (spark.conf.get(STATES) or ""):
        wanted |= {STATES: ROCKS_DB, CHANGELOG: "true"}  # operators with a state in Python need it
    if keep is not None:
        wanted[KEPT] = str(keep)
    if narrow_rows:
        wanted[_BATCH_BYTES] = _ANY_NUMBER
    return wanted


@contextlib.contextmanager
def starting(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Queries that start now are set that way; the session is as it was afterwards."""
    with _starting:
        before = {name: spark.conf.get(name, None) for name in wanted}
        try:
            for name, value in wanted.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, earlier in before.items():
                if earlier is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, earlier)


def keeps_fewer(spark: SparkSession, keep: int | None) -> bool:
    """Whether a session keeps the logs of fewer micro-batches than a query needs."""
    return keep is not None and int(spark.conf.get(KEPT) or 0) < keep


def await_sources(query: StreamingQuery) -> None:
    """Wait until a query has made its sources, whose logs are set as the session is at that moment."""
    deadline = time.monotonic() + _MOST_SECONDS
    while not has_sources(query) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
