"""Spark's file sink of streaming queries, called for one micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pyspark.sql import DataFrame

Format = Literal["text", "csv", "json", "parquet"]
_CLASSES: dict[Format, str] = {
    "text": "TextFileFormat",
    "csv": "CSVFileFormat",
    "json": "JsonFileFormat",
    "parquet": "ParquetFileFormat",
}
"""Each is in a package called like the format."""


def add_batch(df: DataFrame, path: str, format_: Format, options: Mapping[str, Any], batch: int) -> None:
    """Add the rows of a micro-batch to a directory; one that the directory's log has already is not written again."""
    jvm: Any = df.sparkSession._jvm
    execution = jvm.org.apache.spark.sql.execution
    writer = getattr(getattr(execution.datasources, format_), _CLASSES[format_])()
    settings = jvm.PythonUtils.toScalaMap({name: _as_option(value) for name, value in options.items()})
    no_partitioning = jvm.PythonUtils.toSeq([])
    sink = execution.streaming.sinks.FileStreamSink(df._jdf.sparkSession(), path, writer, no_partitioning, settings)
    sink.addBatch(batch, df._jdf)


def _as_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
