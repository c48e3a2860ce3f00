"""The output of write_text, write_csv, write_json and write_parquet: one interface for every kind of job.

A bounded job writes a directory at once (`write`). A streaming query adds files for each micro-batch by Spark's file
sink: as a query of its own (`start`), or, if several sinks share a query, by passing the rows of a micro-batch
(`append`). Running values, which replace each other, are in a directory for each micro-batch (`write_changes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from morisot.engines.spark.internals import file_sink, hadoop, plans
from morisot.engines.spark.internals.sessions import is_connect
from morisot.engines.spark.io import directories
from morisot.engines.spark.io.output_directory import batch_in, unfinished_in
from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteCsv, WriteJson, WriteSink
from morisot.types.element import STR, table_columns

COUNTED = "morisot"
"""The name of the metric that counts written rows."""
_ELEMENTS = "elements"
_FORMATS: dict[str, file_sink.Format] = {
    "write_text": "text",
    "write_csv": "csv",
    "write_json": "json",
    "write_parquet": "parquet",
}
_TO_THE_MICROSECOND = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
"""By default Spark writes milliseconds."""


def csv_options(sink: WriteCsv) -> dict[str, Any]:
    """The options of Spark's CSV writer with which every value can be read back.

    By default Spark strips blanks. Readers skip an empty or blank line, so a line with one field is quoted if it may be
    blank.
    """
    columns = table_columns(sink.input.type)
    only = columns[0][2] if len(columns) == 1 else None
    return {
        "header": sink.header,
        "sep": sink.delimiter,
        "lineSep": "\n",
        "escape": '"',
        "emptyValue": '""',
        "nullValue": '""' if only is not None else "",
        "quoteAll": only == STR,
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
        "timestampNTZFormat": _TO_THE_MICROSECOND,
    }


@dataclass(frozen=True)
class FileOutput:
    """The directory of files that a sink writes."""

    sink: WriteSink

    @property
    def format(self) -> file_sink.Format:
        """Spark's name of the format."""
        return _FORMATS[self.sink.operator]

    @property
    def options(self) -> dict[str, Any]:
        """The options of Spark's writer besides the format and the path."""
        match self.sink:
            case WriteCsv():
                return csv_options(self.sink)
            case WriteJson():
                return {"timestampNTZFormat": _TO_THE_MICROSECOND}
            case _:
                return {}

    # -- before a job ---------------------------------------------------------------------------------------------

    def refuse_existing(self, spark: SparkSession) -> None:
        """Raises an error if the path exists, unless the mode allows it."""
        if self.sink.mode == "error" and hadoop.exists(spark, self.sink.path):
            raise already_there(self.sink)

    def delete(self, spark: SparkSession) -> None:
        """Removes an existing directory."""
        hadoop.delete(spark, self.sink.path)

    # -- a bounded job --------------------------------------------------------------------------------------------

    def write(self, df: DataFrame) -> None:
        """Writes the directory under a temporary name first, so that a failure does not change an existing one."""
        writer = self._batch_writer(df)
        if self.sink.mode == "append":
            writer.mode("append").save(self.sink.path)
        elif is_connect(df):  # only the server can rename its files
            self._write_directly(writer)
        else:
            self.refuse_existing(df.sparkSession)
            directories.replace(df.sparkSession, self.sink.path, writer)

    def _write_directly(self, writer: DataFrameWriter) -> None:
        try:
            writer.mode(self.sink.mode).save(self.sink.path)
        except AnalysisException as error:
            if error.getCondition() != "PATH_ALREADY_EXISTS":
                raise
            raise already_there(self.sink) from None

    # -- a streaming query ----------------------------------------------------------------------------------------

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts a query that writes the directory."""
        return writer.format(self.format).options(**self.options).start(self.sink.path)

    def append(self, df: DataFrame, batch: int) -> int:
        """Adds the files of a micro-batch. Returns the number of rows.

        Spark's file sink writes them, and lists them in the log of the directory. A micro-batch that is in the log is
        not written again.
        """
        rows = counted(df)
        file_sink.add_batch(rows, self.sink.path, self.format, self.options, batch)
        found = plans.observed(rows, COUNTED)
        return 0 if found is None else int(found.getLong(0))

    def write_changes(self, df: DataFrame, batch: int) -> int:
        """Writes running values. Files cannot be updated, so the changes of each micro-batch are new rows."""
        counting = Observation()
        writer = self._batch_writer(df.observe(counting, _count()))
        path = self.sink.path
        directories.replace(df.sparkSession, batch_in(path, batch), writer, aside=unfinished_in(path, batch))
        return int(counting.get[_ELEMENTS])

    def _batch_writer(self, df: DataFrame) -> DataFrameWriter:
        return df.write.format(self.format).options(**self.options)


def already_there(sink: WriteSink) -> SinkError:
    """The error for an existing directory that a sink must not replace."""
    return SinkError(
        f"{sink.operator} ({sink.location}): {sink.path!r} exists already; "
        'pass mode="overwrite" or mode="append", or choose another path'
    )


def counted(df: DataFrame) -> DataFrame:
    """The frame with a metric that counts its rows when a job reads it."""
    return df.observe(COUNTED, _count())


def _count() -> Any:
    return F.expr(f"count(1) AS {_ELEMENTS}")
