"""Directories of results, wherever Spark keeps files: a result is there whole, or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteCsv, WriteSink

_COUNTED = "morisot"
"""The name under which rows are counted on their way into files."""
_FILE_FORMATS = {
    "write_text": ("text", "TextFileFormat"),
    "write_csv": ("csv", "CSVFileFormat"),
    "write_json": ("json", "JsonFileFormat"),
    "write_parquet": ("parquet", "ParquetFileFormat"),
}
"""The package and the name of Spark's class for each format."""
FORMATS = {"write_text": "text", "write_csv": "csv", "write_json": "json", "write_parquet": "parquet"}


def write_options(sink: WriteSink) -> dict[str, Any]:
    """What Spark's writer must know apart from the format and the path."""
    if isinstance(sink, WriteCsv):
        return {"header": sink.header, "sep": sink.delimiter, "escape": '"', "emptyValue": ""}
    return {}


def write(sink: WriteSink, df: DataFrame) -> None:
    """Write the sink's directory: beside its place first, so that a failure leaves what was there as it was."""
    writer = df.write.format(FORMATS[sink.operator]).options(**write_options(sink))
    if sink.mode == "append":
        writer.mode("append").save(sink.path)
    elif is_connect(df):
        _write_in_place(sink, writer)
    else:
        refuse_existing(sink, df)
        replace(df, sink.path, writer)


def is_classic(spark: SparkSession) -> bool:
    """Whether this process has Spark's driver, and not a client of a Spark Connect server."""
    return hasattr(spark, "_jsparkSession")


def is_connect(df: DataFrame) -> bool:
    """Whether the session is a client of a Spark server, whose files only that server can move."""
    return not isinstance(df, ClassicDataFrame)


def _write_in_place(sink: WriteSink, writer: DataFrameWriter) -> None:
    try:
        writer.mode(sink.mode).save(sink.path)
    except AnalysisException as error:
        if error.getCondition() != "PATH_ALREADY_EXISTS":
            raise
        raise already_there(sink) from None


def replace(
    df: DataFrame,
    path: str,
    writer: DataFrameWriter,
    aside: str | None = None,
    complete: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a directory aside, let somebody complete it, then put it in the place of what is there."""
    aside = aside or f"{path.rstrip('/')}.{uuid.uuid4().hex}.partial"
    try:
        delete(df, aside)  # what a killed program left
        writer.save(aside)
        complete(aside)
        delete(df, path)
        _on_filesystem(df, path, lambda files, at: files.rename(at(aside), at(path)))
    except BaseException:
        delete(df, aside)
        raise


def append(sink: WriteSink, df: DataFrame, batch: int) -> int:
    """Add the files of a micro-batch to a directory; how many rows they hold.

    Spark's own sink does it, which lists them in the directory's log: a micro-batch that is in it is not written again.
    """
    jvm: Any = df.sparkSession._jvm
    counted = df.observe(_COUNTED, F.expr("count(1) AS elements"))
    execution = jvm.org.apache.spark.sql.execution
    kind = _FILE_FORMATS[sink.operator]
    format_ = getattr(getattr(execution.datasources, kind[0]), kind[1])()
    options = jvm.PythonUtils.toScalaMap({name: _as_option(value) for name, value in write_options(sink).items()})
    nothing = jvm.PythonUtils.toSeq([])
    session = counted._jdf.sparkSession()
    execution.streaming.sinks.FileStreamSink(session, sink.path, format_, nothing, options).addBatch(
        batch, counted._jdf
    )
    observed = counted._jdf.queryExecution().observedMetrics().get(_COUNTED)
    return int(observed.get().getLong(0)) if observed.isDefined() else 0


def _as_option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def refuse_existing(sink: WriteSink, df: DataFrame) -> None:
    """Refuse to write where something is, unless the mode says otherwise."""
    there = _on_filesystem(df, sink.path, lambda files, at: files.exists(at(sink.path)))
    if sink.mode == "error" and there:
        raise already_there(sink)


def already_there(sink: WriteSink) -> SinkError:
    return SinkError(
        f"{sink.operator} ({sink.location}): {sink.path!r} exists already; "
        'pass mode="overwrite" or mode="append", or choose another path'
    )


def delete(df: DataFrame, path: str) -> None:
    _on_filesystem(df, path, lambda files, at: files.delete(at(path), True))


def _on_filesystem(df: DataFrame, path: str, action: Callable[[Any, Callable[[str], Any]], Any]) -> Any:
    """Ask Hadoop's file system of the path, which knows local disks and remote stores alike."""
    jvm: Any = df.sparkSession._jvm
    hadoop = jvm.org.apache.hadoop.fs
    configuration = df.sparkSession._jsparkSession.sessionState().newHadoopConf()
    return action(hadoop.Path(path).getFileSystem(configuration), hadoop.Path)
