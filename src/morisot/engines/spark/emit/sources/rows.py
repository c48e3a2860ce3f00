"""Rows of files as Spark reads them, with guards for those that it would read in another way than Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames import tables
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import guard, quoted
from morisot.engines.spark.emit.sources import values
from morisot.engines.spark.emit.sources.paths import read
from morisot.plan.files import is_local
from morisot.plan.nodes.source import StreamCsv, StreamFile, StreamJson, StreamParquet
from morisot.runtime.local_files import is_partitioned, local_files
from morisot.types.element import Record
from morisot.types.records import column_names
from morisot.worker.files.columns import ColumnsMisfit, match_columns
from morisot.worker.files.csv_rows import split_line
from morisot.worker.files.format import FileFormat, FileProblem, RowMisfit
from morisot.worker.files.lines import BLANK, lines_of, opened
from morisot.worker.files.parquet_rows import fits

NOT_UTF_8 = "a line is not UTF-8"
_NO_FIELD = "\n"
"""What Spark replaces an empty field without quotes by, and then by NULL. No field of one line has this text."""
_MOST_SCHEMAS_READ = 64
_PLAIN = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "float", "double", "string", "large_string", "binary"),
        *("date32[day]", "timestamp[us]"),
    }
)
"""The names of the Arrow types whose values are the same when read by Spark."""


def text(node: StreamFile, emission: Emission) -> Frame:
    """The lines of text files."""
    df = read(node, emission, lambda reader, path: reader.text(path))
    valid = f"CASE WHEN is_valid_utf8(value) THEN value ELSE {guard(NOT_UTF_8)} END"
    return Frame(df, node.type).select(node.type, [valid])


def csv(node: StreamCsv, emission: Emission) -> Frame | None:
    """CSV rows. Spark separates the fields, and compares the header of each file with that of the first file.

    Fields are converted from text, because Spark's own conversions accept more, and some values in another way.
    """
    record = node.type
    assert isinstance(record, Record)
    header = csv_header(node) if node.header else list(record.names)
    if header is None or len({name.lower() for name in header}) < len(header) or not all(header):
        return None
    indexes = match_columns(record, header, by_position=True)
    table = ", ".join(f"{quoted(name)} STRING" for name in header)

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("header", node.header).option("sep", node.delimiter).option("quote", node.quote)
        reader = reader.option("escape", node.quote).option("enforceSchema", not node.header).option("mode", "FAILFAST")
        # a row with too many or too few fields is found only if all columns are read
        reader = reader.option("columnPruning", False).option("unescapedQuoteHandling", "RAISE_ERROR")
        reader = reader.option("nullValue", _NO_FIELD)
        df: DataFrame = reader.schema(table).csv(path)
        return df

    df = read(node, emission, load)
    columns = [quoted(header[index]) for index in indexes]
    fields = [values.from_text(column, type_) for column, type_ in zip(columns, record.items, strict=True)]
    frame = Frame(df, node.type)
    if node.on_error == "skip":  # whether a row is skipped must not depend on the fields that are read
        frame = frame.where(all_evaluated(fields))
    return frame.select(node.type, fields)


def all_evaluated(fields: Sequence[str]) -> str:
    """A condition that is true, and evaluates the guards of all fields, also of those that the program does not read.

    Spark replaces `x OR true` by `true`. It knows no bounds of a sum.
    """
    return " + ".join(f"CASE WHEN {field} IS NULL THEN 1 ELSE 2 END" for field in fields) + " > 0"


def csv_header(node: StreamCsv) -> list[str] | None:
    """The header of the first file that has one, or the fields if there is none; None if only Python can read it."""
    record = node.type
    assert isinstance(record, Record)
    format_ = FileFormat("csv", record, node.operator, node.location, delimiter=node.delimiter, quote=node.quote)
    for file in local_files(node.path) if is_local(node.path) else []:
        try:
            with opened(file) as stream:
                first = next((line for line in lines_of(stream) if line.text.strip(BLANK)), None)
            if first is not None:
                header = split_line(first.text, format_)
                match_columns(record, header, by_position=True)
                return None if first.problem is not None else header
        except (FileProblem, RowMisfit, ColumnsMisfit):
            return None
    return list(record.names)


def json(node: StreamJson, emission: Emission) -> Frame | None:
    """JSON objects."""
    record = node.type
    assert isinstance(record, Record)
    columns = [quoted(name) for name in column_names(record.cls)]
    types = [values.json_type(type_) for type_ in record.items]
    table = ", ".join(f"{column} {type_}" for column, type_ in zip(columns, types, strict=True))
    if "${" in table:  # Spark would replace a variable
        return None

    def load(reader: Any, path: str) -> DataFrame:
        reader = reader.option("mode", "FAILFAST").option("allowSingleQuotes", False)
        df: DataFrame = reader.schema(table).json(path)
        return df

    df = read(node, emission, load)
    fields = [values.from_json(column, type_) for column, type_ in zip(columns, record.items, strict=True)]
    frame = Frame(df, node.type)
    if node.on_error == "skip":
        frame = frame.where(all_evaluated(fields))
    leaves = [
        leaf
        for field, (_, type_) in zip(fields, record.children, strict=True)
        for leaf in tables.leaf_expressions(f"({field})" if type_.children else field, type_)
    ]
    return frame.select(node.type, leaves)


def parquet(node: StreamParquet, emission: Emission) -> Frame | None:
    """Rows of Parquet files, if the columns have types that Spark reads as Python does."""
    record = node.type
    assert isinstance(record, Record)
    partitioned = is_partitioned(node.path)
    if is_local(node.path) and not partitioned and not all_alike(record, local_files(node.path)):
        return None
    whole: list[Any] = []

    def load(reader: Any, path: str) -> DataFrame:
        if partitioned and not node.unbounded:  # files that are read one by one have the columns of the directory
            reader = reader.option("basePath", node.path)
            found: DataFrame = (reader.schema(whole[0]) if whole else reader).parquet(path)
            whole.append(found.schema)
            return found
        if node.unbounded:  # a streaming reader needs the schema
            reader = reader.schema(tables.parquet_schema(emission.spark, node.path, record))
        elif (plain := tables.plain_parquet_schema(node)) is not None:  # otherwise Spark would run a job to infer it
            reader = reader.schema(plain)
        df: DataFrame = reader.parquet(path)
        return df

    return tables.as_records(read(node, emission, load), node)


def all_alike(record: Record, files: Sequence[str]) -> bool:
    """Whether Spark reads the columns of Parquet files as Python does. Of many files, the first ones are tested."""
    return all(alike(record, file) for file in files[:_MOST_SCHEMAS_READ])


def alike(record: Record, file: str) -> bool:
    try:
        schema = pq.read_schema(file)
        indexes = match_columns(record, schema.names)
    except (ColumnsMisfit, pa.ArrowException, OSError):
        return False
    if len({name.lower() for name in schema.names}) < len(schema.names) or "${" in "".join(schema.names):
        return False
    fields = zip(indexes, record.items, strict=True)
    return all(fits(schema.field(index).type, type_) and is_plain(schema.field(index).type) for index, type_ in fields)


def is_plain(arrow: Any) -> bool:
    """Whether Spark reads the values of an Arrow type as Arrow does."""
    is_ = pa.types
    if is_.is_dictionary(arrow):
        return is_plain(arrow.value_type)
    if is_.is_list(arrow):
        return is_plain(arrow.value_type)
    if is_.is_map(arrow):
        return is_plain(arrow.key_type) and is_plain(arrow.item_type)
    if is_.is_struct(arrow):
        return all("${" not in field.name and is_plain(field.type) for field in arrow)
    return str(arrow) in _PLAIN or bool(is_.is_decimal(arrow))
