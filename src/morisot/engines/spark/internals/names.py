"""Names of Spark's classes and artifacts, for settings."""

from __future__ import annotations

_STREAMING = "org.apache.spark.sql.execution.streaming"
ROCKS_DB = f"{_STREAMING}.state.RocksDBStateStoreProvider"
"""The state store that transformWithState needs."""
FILE_MANAGER = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
"""A writer of query logs that renames files, without Hadoop's newer interface."""
MICRO_BATCH = "streaming.sql.batchId"
"""The local property of a job with the number of its micro-batch."""
_CONNECTORS = {"kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"}


def coordinates(connector: str, version: str) -> str:
    """The Maven coordinates of a part of Spark that PySpark does not contain.

    >>> coordinates("kafka", "4.3.0").partition(":")[2]
    'spark-sql-kafka-0-10_2.13:4.3.0'
    """
    return _CONNECTORS[connector].format(version=version)
