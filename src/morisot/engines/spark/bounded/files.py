"""Directories of results, wherever Spark keeps files: a result is there whole, or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.internals import file_sink, hadoop, plans
from morisot.engines.spark.internals.sessions import is_connect
from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteCsv, WriteSink

_COUNTED = "morisot"
"""The name under which rows are counted on their way into files."""
FORMATS: dict[str, file_sink.Format] = {
    "write_text": "text",
    "write_csv": "csv",
    "write_json": "json",
    "write_parquet": "parquet",
}


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
        hadoop.rename(df.sparkSession, aside, path)
    except BaseException:
        delete(df, aside)
        raise


def append(sink: WriteSink, df: DataFrame, batch: int) -> int:
    """Add the files of a micro-batch to a directory; how many rows they hold.

    Spark's own sink does it, which lists them in the directory's log: a micro-batch that is in it is not written again.
    """
    counted = df.observe(_COUNTED, F.expr("count(1) AS elements"))
    file_sink.add_batch(counted, sink.path, FORMATS[sink.operator], write_options(sink), batch)
    row = plans.observed(counted, _COUNTED)
    return 0 if row is None else int(row.getLong(0))


def refuse_existing(sink: WriteSink, df: DataFrame) -> None:
    """Refuse to write where something is, unless the mode says otherwise."""
    if sink.mode == "error" and hadoop.exists(df.sparkSession, sink.path):
        raise already_there(sink)


def already_there(sink: WriteSink) -> SinkError:
    return SinkError(
        f"{sink.operator} ({sink.location}): {sink.path!r} exists already; "
        'pass mode="overwrite" or mode="append", or choose another path'
    )


def delete(df: DataFrame, path: str) -> None:
    hadoop.delete(df.sparkSession, path)
