"""Directories on all file systems of Spark, written atomically."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from pyspark.sql import DataFrameWriter, SparkSession

from morisot.engines.spark.internals import hadoop


def replace(
    spark: SparkSession,
    path: str,
    writer: DataFrameWriter,
    aside: str | None = None,
    complete: Callable[[str], None] = lambda _: None,
) -> None:
    """Writes a directory under a temporary name, completes it, and replaces the old one by renaming."""
    aside = aside or f"{path.rstrip('/')}.{uuid.uuid4().hex}.partial"
    try:
        hadoop.delete(spark, aside)  # left by a killed program
        writer.save(aside)
        complete(aside)
        hadoop.delete(spark, path)
        hadoop.rename(spark, aside, path)
    except BaseException:
        hadoop.delete(spark, aside)
        raise
