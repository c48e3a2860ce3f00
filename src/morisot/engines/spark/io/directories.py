"""Directories wherever Spark keeps files: a directory is there whole, or not at all."""

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
    """Write a directory aside, let somebody complete it, then commit it: rename it to the path of what was there."""
    aside = aside or f"{path.rstrip('/')}.{uuid.uuid4().hex}.partial"
    try:
        hadoop.delete(spark, aside)  # what a killed program left
        writer.save(aside)
        complete(aside)
        hadoop.delete(spark, path)
        hadoop.rename(spark, aside, path)
    except BaseException:
        hadoop.delete(spark, aside)
        raise
