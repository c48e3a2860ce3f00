"""The type of the rows of files without a record class, which Spark infers if it is not in the file."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.failures import SPARK_ERRORS
from morisot.errors import Location, SourceError
from morisot.plan.files import is_local
from morisot.runtime.local_files import is_partitioned
from morisot.runtime.row_types import first_misfit, found_files, row_type_of_files
from morisot.types.element import Record
from morisot.worker.files.format import Kind

_MISFIT = "_corrupt_record"
"""The column that Spark infers if a line is no JSON object."""


def row_type(spark: SparkSession, kind: Kind, path: str, location: Location, *, skips: bool) -> Record:
    """The type of the rows. An error names the file and the line, which Spark does not."""
    files = found_files(path, kind, location) if is_local(path) and not is_partitioned(path) else []
    if kind == "parquet" and files:  # its schema is in the file: Spark would run a job, and read uint64 as decimals
        return row_type_of_files(kind, files, location, skips=skips)
    try:
        found = spark.read.format(kind).load(path).schema
    except SPARK_ERRORS as error:
        if files:
            return row_type_of_files(kind, files, location, skips=skips)
        raise SourceError(
            f"stream_{kind} ({location}) cannot read {path!r}: {str(error).splitlines()[0]}"
            "\n  What to do: check the files, or pass a record class"
        ) from None
    if kind == "json" and _MISFIT in found.names:
        misfit = None if skips else first_misfit(files, location)
        if misfit is not None:
            raise misfit
        found = spark_types.StructType([field for field in found.fields if field.name != _MISFIT])
    try:
        return schema.row_type_of(found)
    except schema.UnknownSparkType as unknown:
        raise SourceError(
            f"stream_{kind} ({location}) cannot read {path!r}: {unknown}"
            "\n  What to do: pass a record class without this field, or convert the column"
        ) from None
