"""Rows of tables as records: columns are matched with fields by name, widened, and checked for NULL."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from morisot.compile.ir.values import field_names
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import guard, quoted, sql_text, sql_type
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamArrow, StreamDataframe, StreamParquet
from morisot.runtime.file_formats import columns_of_fields
from morisot.runtime.local_files import is_partitioned, local_files
from morisot.types.element import Dict, List, Optional, Record, Type

BAD_ROW = "morisot-source: "
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
    read_again = isinstance(node, StreamParquet) and is_local(node.path) and not is_partitioned(node.path)
    flat = [
        leaf
        for index, (_, field) in zip(indexes, node.type.children, strict=True)
        for leaf in leaf_expressions(field_sql(field, columns[index], node, complete, read_again=read_again), field)
    ]
    return Frame(df, node.type).select(node.type, flat)


def leaf_expressions(expression: str, type_: Type) -> list[str]:
    """The leaf columns of a value in one Spark column."""
    if not type_.children:
        return [expression]
    parts = zip(field_names(type_), (child for _, child in type_.children), strict=True)
    return [leaf for name, child in parts for leaf in leaf_expressions(f"{expression}.{quoted(name)}", child)]


def plain_parquet_schema(node: StreamParquet) -> spark.StructType | None:
    """The columns of local Parquet files, if all have the same, of types that Arrow and Spark read alike."""
    files = local_files(node.path) if is_local(node.path) else []
    if not 0 < len(files) <= _MOST_FOOTERS_READ:
        return None
    schema, *others = map(pq.read_schema, files)
    if not all(map(schema.equals, others)):
        return None
    columns = [(field.name, _READ_ALIKE.get(str(field.type))) for field in schema]
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
    """The columns of one Parquet file without a NULL, also in lists, dicts and records."""
    footer = pq.read_metadata(file)
    columns = footer.schema.to_arrow_schema().names
    chunks = [footer.row_group(g).column(c) for g in range(footer.num_row_groups) for c in range(footer.num_columns)]
    holed = {chunk.path_in_schema for chunk in chunks if not is_complete(chunk.statistics)}
    return frozenset(
        column for column in columns if not any(path == column or path.startswith(f"{column}.") for path in holed)
    )


def is_complete(statistics: Any) -> bool:
    return statistics is not None and statistics.has_null_count and statistics.null_count == 0


def field_sql(type_: Type, name: str, node: Node, complete: frozenset[str], *, read_again: bool) -> str:
    """A column as a value of the field's type. NULL stops the job if the type has no None.

    With `read_again`, Python then reads the files, to name the file and the row.
    """
    value = f"CAST({quoted(name)} AS {sql_type(type_)})"
    if name in complete:
        return value
    plain = type_.inner if isinstance(type_, Optional) else type_
    holes = " OR ".join(holes_in(value, plain))
    stop = guard(f"a row has no value in the column {name}") if read_again else _stop(type_, name, node)
    if not holes:
        return value if isinstance(type_, Optional) else f"coalesce({value}, {stop})"
    missing = holes if isinstance(type_, Optional) else f"{value} IS NULL OR {holes}"
    return f"CASE WHEN {missing} THEN {stop} ELSE {value} END"


def holes_in(value: str, type_: Type, depth: int = 0) -> list[str]:
    """Conditions for NULL in the parts of a value that have no None."""
    item = f"x{depth}"
    match type_:
        case Optional(inner):
            return holes_in(value, inner, depth)
        case List(of) | Dict(of):
            items = value if isinstance(type_, List) else f"map_values({value})"
            found = " OR ".join(missing_in(item, of, depth + 1))
            return [f"coalesce(exists({items}, {item} -> {found}), false)"] if found else []
    if not type_.children:
        return []
    parts = zip(field_names(type_), (child for _, child in type_.children), strict=True)
    found = " OR ".join(each for name, child in parts for each in missing_in(f"{value}.{quoted(name)}", child, depth))
    return [f"{value} IS NOT NULL AND ({found})"] if found else []


def missing_in(value: str, type_: Type, depth: int) -> list[str]:
    """Conditions for NULL in a part, or in its parts."""
    itself = [] if isinstance(type_, Optional) else [f"{value} IS NULL"]
    return [*itself, *holes_in(value, type_, depth)]


def _stop(type_: Type, name: str, node: Node) -> str:
    """The expression for NULL in a table that Python cannot read again to name the file and the row."""
    of = f" of {node.path}" if isinstance(node, StreamParquet) else ""
    said = (
        f"{node.operator} ({node.location}): a row has no value in the column {name}{of}, or in a part of it, and the "
        f"field is {type_}\n  What to do: declare the field as {type_} | None, or its part as one with None"
    )
    return f"raise_error({sql_text(BAD_ROW + said)})"


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
