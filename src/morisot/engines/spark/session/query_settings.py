"""The Spark settings of a streaming query, for sessions of Morisot and of the user.

A query copies the settings of its session when it starts. So they are set for the start, and then restored. They do not
rely on the settings of sessions that Morisot creates.
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

RETAINED_BATCHES = "spark.sql.streaming.minBatchesToRetain"
"""The number of micro-batches of which a query retains logs and states."""
PARTITIONS = "spark.sql.shuffle.partitions"
STATES = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_BATCH_BYTES, _ANY_NUMBER = "spark.sql.execution.arrow.maxBytesPerBatch", str(2**31 - 1)
"""The limit of bytes of a batch. To check it Spark adds up all bytes for each row: a fifth of the cost of a task."""
_ALWAYS = {
    # Windows are completed, and joins remove old elements, in a micro-batch without rows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "true",
    # The watermark is the minimum of all inputs: see engines/spark/streaming/idle_inputs.py.
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
}
_POLL_SECONDS, _MOST_SECONDS = 0.01, 60.0
_starting = threading.Lock()


def query_settings(spark: SparkSession, *, parallelism: int, keep: int | None, narrow_rows: bool) -> dict[str, str]:
    """The settings of a query that retains `keep` snapshots, or none; `narrow_rows`: Arrow batches need no limit."""
    wanted = {**_ALWAYS, PARTITIONS: str(parallelism)}
    if "RocksDB" not in (spark.conf.get(STATES) or ""):
        wanted |= {STATES: ROCKS_DB, CHANGELOG: "true"}  # required by stateful operators in Python
    if keep is not None:
        wanted[RETAINED_BATCHES] = str(keep)
    if narrow_rows:
        wanted[_BATCH_BYTES] = _ANY_NUMBER
    return wanted


@contextlib.contextmanager
def starting(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Sets the settings for queries that start in the block, and restores the session afterwards."""
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
    """Whether a session retains the logs of fewer micro-batches than a query needs."""
    return keep is not None and int(spark.conf.get(RETAINED_BATCHES) or 0) < keep


def await_sources(query: StreamingQuery) -> None:
    """Waits until a query has created its sources, whose logs use the settings of the session at that moment."""
    deadline = time.monotonic() + _MOST_SECONDS
    while not has_sources(query) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
