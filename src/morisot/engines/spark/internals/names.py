"""Spark's names for classes and artifacts that settings refer to."""

from __future__ import annotations

_STREAMING = "org.apache.spark.sql.execution.streaming"
ROCKS_DB = f"{_STREAMING}.state.RocksDBStateStoreProvider"
"""The state store that transformWithState needs."""
FILE_MANAGER = f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
"""What writes the logs of streaming queries by renaming files, without Hadoop's newer interface."""
MICRO_BATCH = "streaming.sql.batchId"
"""The local property by which a job of a streaming query says for which micro-batch it runs."""
_CONNECTORS = {"kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"}


def coordinates(connector: str, version: str) -> str:
    """Where Maven's repositories have a part of Spark that PySpark comes without.

    >>> coordinates("kafka", "4.3.0").partition(":")[2]
    'spark-sql-kafka-0-10_2.13:4.3.0'
    """
    return _CONNECTORS[connector].format(version=version)
