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
"""Arrow's types, by their names, that stand for the same Parquet columns as Spark's."""


def as_records(df: DataFrame, node: Node) -> Frame:
    """A table's rows as the records of the node's type."""
    assert isinstance(node.type, Record)
    columns = df.columns  # asked once: each time costs a round trip a column
    places = columns_of_fields(node, columns, by_place=isinstance(node, StreamDataframe | StreamArrow))
    complete = complete_columns(node)
    flat = [
        leaf
        for place, (_, field) in zip(places, node.type.children, strict=True)
        for leaf in leaf_expressions(field_sql(field, columns[place], node, complete), field)
    ]
    return Frame(df, node.type).select(node.type, flat)


def leaf_expressions(expression: str, type_: Type) -> list[str]:
    """The leaf columns of a value that Spark holds in one column."""
    if not type_.children:
        return [expression]
    names = [name for name, _ in type_.children]
    parts = zip(names, (child for _, child in type_.children), strict=True)
    return [leaf for name, child in parts for leaf in leaf_expressions(f"{expression}.{quoted(name)}", child)]


def plain_parquet_schema(node: StreamParquet) -> spark.StructType | None:
    """The columns of one local Parquet file, where they are of types that Arrow and Spark read alike."""
    files = local_files(node.path) if is_local(node.path) else []
    if len(files) != 1:
        return None
    columns = [(field.name, _READ_ALIKE.get(str(field.type))) for field in pq.read_schema(files[0])]
    if any(type_ is None for _, type_ in columns):
        return None
    return spark.StructType([spark.StructField(name, type_, True) for name, type_ in columns if type_ is not None])


def complete_columns(node: Node) -> frozenset[str]:
    """The columns of Parquet files that hold no NULL, as the files' own statistics say: they need no check.

    Read when the job is about to run; a plain column lets Spark push filters into the files.
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
    """A column as a value of the field's type; NULL where the type has no None stops the job."""
    column = quoted(name)
    if isinstance(type_, Optional):
        return f"CAST({column} AS {sql_type(type_.inner)})"
    if name in complete:
        return f"CAST({column} AS {sql_type(type_)})"
    message = sql_text(f"{BAD_ROW}{node.operator} ({node.location}): a row has no value for {column}, a {type_}")
    return f"coalesce(CAST({column} AS {sql_type(type_)}), raise_error({message}))"


def parquet_schema(session: SparkSession, path: str, type_: Record) -> spark.StructType:
    """The schema of files that are there, or what the record declares when none is there yet."""
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
    """CSV rows as records. A row that does not fit is an error that shows it, or is left out and counted."""
    return checked(node, reading(_csv_load(node)))


def json(node: StreamJson, reading: Reading) -> Frame:
    """JSON objects as records, with the same care for rows that do not fit."""
    return checked(node, reading(_json_load(node)))


def _csv_load(node: StreamCsv) -> Load:
    header = csv_header(node) if node.header else None
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in csv_columns(node, header))

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("header", node.header).option("sep", node.delimiter).option("quote", node.quote)
        reader = reader.option("escape", node.quote).option("multiLine", node.multiline).option("enforceSchema", True)
        reader, corrupt = careful(node, reader)
        df: DataFrame = reader.schema(table + corrupt).csv(path)
        return df

    return load


def _json_load(node: StreamJson) -> Load:
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in node.type.children)

    def load(reader: Any, path: str) -> DataFrame:
        reader, corrupt = careful(node, reader)
        df: DataFrame = reader.schema(table + corrupt).json(path)
        return df

    return load


def careful(node: StreamCsv | StreamJson, reader: Any) -> tuple[Any, str]:
    """A reader that stops at a row it cannot read, or one that keeps its text in one more column to leave it out."""
    if node.on_error == "raise":
        return reader.option("mode", "FAILFAST"), ""
    keeping = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
    return keeping, f", {quoted(_CORRUPT)} STRING"


def checked(node: StreamCsv | StreamJson, df: DataFrame) -> Frame:
    """The rows as records, once the bad ones stopped the job or were left out."""
    assert isinstance(node.type, Record)
    values = [
        leaf for name, type_ in node.type.children for leaf in leaf_expressions(value_sql(node, name, type_), type_)
    ]
    if node.on_error == "skip":
        return Frame(df, node.type).where(fits(node)).select(node.type, values)
    return Frame(df, node.type).select(node.type, values)


def value_sql(node: StreamCsv | StreamJson, name: str, type_: Type) -> str:
    """A field's value; a missing one stops the job where somebody reads it, so that unread columns are not parsed."""
    column = quoted(name)
    if type_ == STR and isinstance(node, StreamCsv):
        return f"coalesce({column}, '')"
    if isinstance(type_, Optional) or node.on_error == "skip":
        return column
    message = f"{BAD_ROW}{node.operator} ({node.location}): a row does not fit {node.type}: no value for {name}"
    return f"coalesce({column}, raise_error({sql_text(f'{message} in {node.path}')}))"


def misfit_count(node: StreamCsv | StreamJson, reading: Reading) -> int:
    """How many rows do not fit."""
    load = _csv_load(node) if isinstance(node, StreamCsv) else _json_load(node)
    return reading(load).where(f"NOT ({fits(node)})").count()


def fits(node: StreamCsv | StreamJson) -> str:
    """The condition that a row fits its record: it was read whole, and has a value wherever the type has no None."""
    required = [
        quoted(name)
        for name, type_ in node.type.children
        if not isinstance(type_, Optional) and not (type_ == STR and isinstance(node, StreamCsv))
    ]
    return " AND ".join([f"{quoted(_CORRUPT)} IS NULL", *(f"{column} IS NOT NULL" for column in required)])


def csv_columns(node: StreamCsv, header: Sequence[str] | None) -> list[tuple[str, Type]]:
    """The file's columns with the types of the fields they become; a column that no field wants stays text."""
    assert isinstance(node.type, Record)
    if header is None:
        return list(node.type.children)
    places = columns_of_fields(node, header, by_place=True)
    fields = dict(zip(places, node.type.children, strict=True))
    return [fields.get(index, (f"column/{index}", STR)) for index in range(len(header))]


def csv_header(node: StreamCsv) -> list[str] | None:
    """The first line of the first file, where it lies on this machine."""
    if not is_local(node.path):
        return None
    for file in local_files(node.path):
        with open_text(file) as lines:
            return next(python_csv.reader(lines, delimiter=node.delimiter, quotechar=node.quote), None)
    return None
