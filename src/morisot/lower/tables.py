"""Rows of tables as records: columns are matched with fields by name, widened, and checked for NULL where none may be."""

from __future__ import annotations

import csv as python_csv
import gzip
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark

from morisot.errors import SourceError
from morisot.lower.columns import quoted, sql_text, sql_type
from morisot.lower.frame import Frame
from morisot.plan.files import is_local, local_files, normal
from morisot.plan.node import Node
from morisot.plan.source import StreamCsv, StreamJson
from morisot.types.element import STR, Optional, Record, Type

Reading = Callable[[Callable[[Any, str], DataFrame]], DataFrame]
BAD_ROW = "morisot-source: "
_CORRUPT = "row/corrupt"
_FILE = "row/file"


def as_records(df: DataFrame, node: Node) -> Frame:
    """A table's rows as the records of the node's type."""
    assert isinstance(node.type, Record)
    columns = match_columns(df.schema, node)
    expressions = [
        field_sql(field, quoted(column.name), node)
        for column, (_, field) in zip(columns, node.type.children, strict=True)
    ]
    flat = [
        leaf for expression, (_, field) in zip(expressions, node.type.children, strict=True)
        for leaf in leaf_expressions(expression, field)
    ]
    return Frame(df, node.type).select(node.type, flat)


def leaf_expressions(expression: str, type_: Type) -> list[str]:
    """The leaf columns of a value that Spark holds in one column."""
    if not type_.children:
        return [expression]
    names = [name for name, _ in type_.children]
    parts = zip(names, (child for _, child in type_.children), strict=True)
    return [leaf for name, child in parts for leaf in leaf_expressions(f"{expression}.{quoted(name)}", child)]


def match_columns(table: spark.StructType, node: Node) -> list[spark.StructField]:
    """The table's column for each field of the record, by name; by place for rows whose names are no identifiers."""
    assert isinstance(node.type, Record)
    by_name = {normal(field.name): field for field in table.fields}
    names = [normal(name) for name in node.type.names]
    if all(name in by_name for name in names):
        return [by_name[name] for name in names]
    if len(table.fields) == len(names) and getattr(node.type.cls, "__name__", "") == "Row":
        return list(table.fields)
    missing = [name for name in node.type.names if normal(name) not in by_name]
    raise SourceError(
        f"{node.operator} ({node.location}): {node.type} has the field{'s' if len(missing) > 1 else ''} "
        f"{', '.join(missing)}, which the table has not; its columns are {', '.join(f.name for f in table.fields)}"
    )


def field_sql(type_: Type, column: str, node: Node) -> str:
    """A column as a value of the field's type; NULL where the type has no None stops the job."""
    if isinstance(type_, Optional):
        return f"CAST({column} AS {sql_type(type_.inner)})"
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
    return spark.StructType.fromDDL(ddl)


def csv(node: StreamCsv, reading: Reading) -> Frame:
    """CSV rows as records. A row that does not fit is an error that shows it, or is left out and counted."""
    assert isinstance(node.type, Record)
    header = csv_header(node) if node.header else None
    fields = csv_columns(node, header)
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in fields)

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("header", node.header).option("sep", node.delimiter).option("quote", node.quote)
        reader = reader.option("escape", node.quote).option("multiLine", node.multiline).option("enforceSchema", True)
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
        df: DataFrame = reader.schema(f"{table}, {quoted(_CORRUPT)} STRING").csv(path)
        return df.selectExpr("*", f"_metadata.file_path AS {quoted(_FILE)}")

    return checked(node, reading(load), {name: type_ for name, type_ in fields})


def json(node: StreamJson, reading: Reading) -> Frame:
    """JSON objects as records, with the same care for rows that do not fit."""
    assert isinstance(node.type, Record)
    table = ", ".join(f"{quoted(name)} {sql_type(type_)}" for name, type_ in node.type.children)

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _CORRUPT)
        df: DataFrame = reader.schema(f"{table}, {quoted(_CORRUPT)} STRING").json(path)
        return df.selectExpr("*", f"_metadata.file_path AS {quoted(_FILE)}")

    return checked(node, reading(load), dict(node.type.children))


def checked(node: StreamCsv | StreamJson, df: DataFrame, columns: dict[str, Type]) -> Frame:
    """The rows as records, once the bad ones stopped the job or were left out."""
    assert isinstance(node.type, Record)
    by_name = {normal(name): name for name in columns}
    names = [by_name[normal(name)] if normal(name) in by_name else name for name in node.type.names]
    required = [
        quoted(name)
        for name, (_, type_) in zip(names, node.type.children, strict=True)
        if not isinstance(type_, Optional) and type_ != STR
    ]
    good = " AND ".join([f"{quoted(_CORRUPT)} IS NULL", *(f"{column} IS NOT NULL" for column in required)])
    if node.on_error == "raise":
        where = sql_text(f"{BAD_ROW}{node.operator} ({node.location}): a row does not fit {node.type}: ")
        row = f"coalesce({quoted(_CORRUPT)}, to_json(struct({', '.join(map(quoted, names))})))"
        good = f"CASE WHEN {good} THEN true ELSE raise_error(concat({where}, {row}, ' in ', {quoted(_FILE)})) END"
    values = [
        f"coalesce({quoted(name)}, '')" if type_ == STR else quoted(name)
        for name, (_, type_) in zip(names, node.type.children, strict=True)
    ]
    flat = [
        leaf
        for value, (_, field) in zip(values, node.type.children, strict=True)
        for leaf in leaf_expressions(value, field)
    ]
    return Frame(df, node.type).where(good).select(node.type, flat)


def csv_columns(node: StreamCsv, header: Sequence[str] | None) -> list[tuple[str, Type]]:
    """The file's columns with the types of the fields they become; a column that no field wants stays text."""
    assert isinstance(node.type, Record)
    fields = {normal(name): type_ for name, type_ in node.type.children}
    if header is None:
        return list(node.type.children)
    if all(name in map(normal, header) for name in fields):
        return [(name, fields.get(normal(name), STR)) for name in header]
    if len(header) == len(fields):
        return list(node.type.children)
    raise SourceError(
        f"{node.operator} ({node.location}): {node.type} has the fields {', '.join(node.type.names)}, "
        f"but the header of {node.path!r} says {', '.join(header)}"
    )


def csv_header(node: StreamCsv) -> list[str] | None:
    """The first line of the first file, where it lies on this machine."""
    if not is_local(node.path):
        return None
    for file in local_files(node.path):
        opened = gzip.open(file, "rt") if file.endswith(".gz") else open(file)
        with opened as lines:
            return next(python_csv.reader(lines, delimiter=node.delimiter, quotechar=node.quote), None)
    return None
