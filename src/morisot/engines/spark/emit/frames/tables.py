"""Rows of tables as records: columns are matched with fields by name, widened, and checked for NULL."""

from __future__ import annotations

import csv as python_csv
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted, sql_text, sql_type
from morisot.plan.files import columns_of_fields, is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamArrow, StreamCsv, StreamDataframe, StreamJson, StreamParquet
from morisot.runtime.local_files import local_files, open_text
from morisot.types.element import STR, Optional, Record, Type

Load = Callable[[Any, str], DataFrame]
"""(a Spark reader, a path) -> rows"""
Reading = Callable[[Load], DataFrame]
BAD_ROW = "morisot-source: "
_CORRUPT = "row/corrupt"
_MOST_FOOTERS_READ = 64
_READ_ALIKE: dict[str, spark.DataType] = {
    "bool": spark.BooleanType(),
    "int32": spark.IntegerType(),
    "int64": spark.LongType(),
    "float": spark.FloatType(),
    "double": spark.DoubleType(),
    "string": spark.StringType(),
    "date32[day]": spark.DateType(),
    "timestamp[us]": spark.TimestampNTZType(),
}
"""The names of Arrow types, by the Spark types of the same Parquet columns."""


def as_records(df: DataFrame, node: Node) -> Frame:
    """The rows of a table as records of the node's type."""
    assert isinstance(node.type, Record)
    columns = df.columns  # read once, because each access costs a round trip for each column
    indexes = columns_of_fields(node, columns, by_position=isinstance(node, StreamDataframe | StreamArrow))
    complete = complete_columns(node)
    flat = [
        leaf
        for index, (_, field) in zip(indexes, node.type.children, strict=True)
        for leaf in leaf_expressions(field_sql(field, columns[index], node, complete), field)
    ]
    return Frame(df, node.type).select(node.type, flat)


def leaf_expressions(expression: str, type_: Type) -> list[str]:
    """The leaf columns of a value in one Spark column."""
    if not type_.children:
        return [expression]
    names = [name for name, _ in type_.children]
    parts = zip(names, (child for _, child in type_.children), strict=True)
    return [leaf for name, child in parts for leaf in leaf_expressions(f"{expression}.{quoted(name)}", child)]


def plain_parquet_schema(node: StreamParquet) -> spark.StructType | None:
    """The columns of one local Parquet file, if they are of types that Arrow and Spark read alike."""
    files = local_files(node.path) if is_local(node.path) else []
    if len(files) != 1:
        return None
    columns = [(field.name, _READ_ALIKE.get(str(field.type))) for field in pq.read_schema(files[0])]
    if any(type_ is None for _, type_ in columns):
        return None
    return spark.StructType([spark.StructField(name, type_, True) for name, type_ in columns if type_ is not None])


def complete_columns(node: Node) -> frozenset[str]:
    """The columns of Parquet files without NULL, by the statistics of the files: they need no check.

    They are read when the job is about to run. A plain column lets Spark push filters down to the files.
    """
    if not isinstance(node, StreamParquet) or node.unbounded or not is_local(node.path):
        return frozenset()
    files = local_files(node.path)
    if not 0 < len(files) <= _MOST_FOOTERS_READ:
        return frozenset()
    return frozenset.intersection(*(complete_in_file(file) for file in files))


def complete_in_file(file: str) -> frozenset[str]:
    """The plain columns of one Parquet file without a NULL."""
    footer = pq.read_metadata(file)
    chunks = [footer.row_group(g).column(c) for g in range(footer.num_row_groups) for c in range(footer.num_columns)]
    names = {chunk.path_in_schema for chunk in chunks}
    holed = {chunk.path_in_schema for chunk in chunks if not is_complete(chunk.statistics)}
    return frozenset(names - holed)


def is_complete(statistics: Any) -> bool:
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0


def field_sql(type_: Type, name: str, node: Node, complete: frozenset[str]) -> str:
    """A column as a value of the field's type. NULL stops the job if the type has no None."""
    column = quoted(name)
    if isinstance(type_, Optional):
        return f"CAST({column} AS {sql_type(type_.inner)})"
    if name in complete:
        return f"CAST({column} AS {sql_type(type_)})"
    message = sql_text(f"{BAD_ROW}{node.operator} ({node.location}): a row has no value for {column}, a {type_}")
    return f"coalesce(CAST({column} AS {sql_type(type_)}), raise_error({message}))"


def parquet_schema(session: SparkSession, path: str, type_: Record) -> spark.StructType:
    """The schema of existing files, or that of the record if there are none yet."""
    try:
        return session.read.parquet(path).schema
    except Exception:  # an empty directory has no schema
        return declared_schema(type_)


def declared_schema(type_: Record) -> spark.StructType:
    ddl = ", ".join(f"{quoted(name)} {sql_type(field)}" for name, field in type_.children)
    schema = spark.StructType.fromDDL(ddl)
    assert isinstance(schema, spark.StructType)
    return schema


def csv(node: StreamCsv, reading: Reading) -> Frame:
    """CSV rows as records. A row that does not fit is an error that shows it, or is skipped and counted."""
    return checked(node, reading(_csv_load(node)))


def json(node: StreamJson, reading: Reading) -> Frame:
    """JSON objects as records, with the same treatment of rows that do not fit."""
    return checked(node, reading(_json_load(node)))


def _csv_load(node: StreamCsv) -> Load:
    header = csv_header(node) if node.header else None
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in csv_columns(node, header))

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("header", node.header).option("sep", node.delimiter).option("quote", node.quote)
        reader = reader.option("escape", node.quote).option("multiLine", node.multiline).option("enforceSchema", True)
        reader, corrupt = checked_reader(node, reader)
        df: DataFrame = reader.schema(table + corrupt).csv(path)
        return df

    return load


def _json_load(node: StreamJson) -> Load:
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in node.type.children)

    def load(reader: Any, path: str) -> DataFrame:
        reader, corrupt = checked_reader(node, reader)
        df: DataFrame = reader.schema(table + corrupt).json(path)
        return df

    return load


def checked_reader(node: StreamCsv | StreamJson, reader: Any) -> tuple[Any, str]:
    """A reader that fails on an unreadable row, or one that stores its text in another column, to skip it."""
    if node.on_error == "raise":
        return reader.option("mode", "FAILFAST"), ""
    keeping = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
    return keeping, f", {quoted(_CORRUPT)} STRING"


def checked(node: StreamCsv | StreamJson, df: DataFrame) -> Frame:
    """The rows as records. Rows that do not fit stop the job or are skipped."""
    assert isinstance(node.type, Record)
    values = [
        leaf for name, type_ in node.type.children for leaf in leaf_expressions(value_sql(node, name, type_), type_)
    ]
    if node.on_error == "skip":
        return Frame(df, node.type).where(fits(node)).select(node.type, values)
    return Frame(df, node.type).select(node.type, values)


def value_sql(node: StreamCsv | StreamJson, name: str, type_: Type) -> str:
    """The value of a field. A missing one stops the job if it is read, so that unused columns are not parsed."""
    column = quoted(name)
    if type_ == STR and isinstance(node, StreamCsv):
        return f"coalesce({column}, '')"
    if isinstance(type_, Optional) or node.on_error == "skip":
        return column
    message = f"{BAD_ROW}{node.operator} ({node.location}): a row does not fit {node.type}: no value for {name}"
    return f"coalesce({column}, raise_error({sql_text(f'{message} in {node.path}')}))"


def misfit_count(node: StreamCsv | StreamJson, reading: Reading) -> int:
    """The number of rows that do not fit."""
    load = _csv_load(node) if isinstance(node, StreamCsv) else _json_load(node)
    return reading(load).where(f"NOT ({fits(node)})").count()


def fits(node: StreamCsv | StreamJson) -> str:
    """The condition that a row fits its record: it was parsed, and has a value for each field without None."""
    required = [
        quoted(name)
        for name, type_ in node.type.children
        if not isinstance(type_, Optional) and not (type_ == STR and isinstance(node, StreamCsv))
    ]
    return " AND ".join([f"{quoted(_CORRUPT)} IS NULL", *(f"{column} IS NOT NULL" for column in required)])


def csv_columns(node: StreamCsv, header: Sequence[str] | None) -> list[tuple[str, Type]]:
    """The columns of the file with the types of their fields; columns without a field are text."""
    assert isinstance(node.type, Record)
    if header is None:
        return list(node.type.children)
    indexes = columns_of_fields(node, header, by_position=True)
    fields = dict(zip(indexes, node.type.children, strict=True))
    return [fields.get(index, (f"column/{index}", STR)) for index in range(len(header))]


def csv_header(node: StreamCsv) -> list[str] | None:
    """The first line of the first file, if it is on this machine."""
    if not is_local(node.path):
        return None
    for file in local_files(node.path):
        with open_text(file) as lines:
            return next(python_csv.reader(lines, delimiter=node.delimiter, quotechar=node.quote), None)
    return None
