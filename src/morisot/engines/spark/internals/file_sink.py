"""Spark's file sink of streaming queries, called for one micro-batch, and the names of files that tasks write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame

Format = Literal["text", "csv", "json", "parquet"]
_CLASSES: dict[Format, str] = {
    "text": "TextFileFormat",
    "csv": "CSVFileFormat",
    "json": "JsonFileFormat",
    "parquet": "ParquetFileFormat",
}
"""The class of each format, in a package with the name of the format."""
_PART = re.compile(r"part-(\d+)-.*?(?:c(\d+))?\.\w+\.parquet")
"""A pattern for the number of the partition, and of the file in the partition."""


def add_batch(df: DataFrame, path: str, format_: Format, options: Mapping[str, Any], batch: int) -> None:
    """Adds the rows of a micro-batch to a directory. A micro-batch that is in its log already is not written again."""
    jvm: Any = df.sparkSession._jvm
    execution = jvm.org.apache.spark.sql.execution
    writer = getattr(getattr(execution.datasources, format_), _CLASSES[format_])()
    settings = jvm.PythonUtils.toScalaMap({name: _as_option(value) for name, value in options.items()})
    no_partitioning = jvm.PythonUtils.toSeq([])
    sink = execution.streaming.sinks.FileStreamSink(df._jdf.sparkSession(), path, writer, no_partitioning, settings)
    sink.addBatch(batch, df._jdf)


def _as_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def part_files(directory: Path) -> Iterable[Path]:
    """The data files of a directory."""
    return directory.glob("part-*")


def in_row_order(directory: Path) -> list[Path]:
    """The Parquet files of a directory in the order of their rows."""
    found = ((_PART.fullmatch(file.name), file) for file in part_files(directory))
    ordered = sorted((int(match[1]), int(match[2] or 0), file) for match, file in found if match)
    return [file for _, _, file in ordered]
