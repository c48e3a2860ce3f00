"""Rows of Parquet files."""

from __future__ import annotations

import datetime
import io
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Decimal,
    Dict,
    List,
    Optional,
    Record,
    Tuple,
    Type,
)
from morisot.types.records import column_names, maker
from morisot.worker.codec.batches import arrow_type
from morisot.worker.files.columns import ColumnsMisfit, match_columns
from morisot.worker.files.format import FileFormat, FileProblem, RowMisfit

_LEAVE_OUT = "pass a record class without this field, or convert the column"
_DECLARE = "declare the field with the type of the column, or leave the record class out"


def tables_of(file: str, content: bytes | None = None) -> Iterator[pa.Table]:
    """The row groups of a Parquet file."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file if content is None else io.BytesIO(content)) as parquet:
            for group in range(parquet.num_row_groups):
                yield parquet.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise FileProblem(f"it is not a Parquet file, or damaged: {said}", "write or download it again") from None


def parquet_elements(format_: FileFormat, file: str, content: bytes | None = None) -> Iterator[Any]:
    """The rows of a file as records."""
    row = 0
    for table in tables_of(file, content):
        yield from records_of(format_, table, file, row)
        row += table.num_rows


def records_of(format_: FileFormat, table: pa.Table, file: str, first: int = 0) -> Iterator[Any]:
    """The rows of a table, of which the first has a number, as records."""
    record = format_.type
    assert isinstance(record, Record)
    try:
        indexes = match_columns(record, table.column_names)
    except ColumnsMisfit as misfit:
        raise FileProblem(str(misfit), "correct the fields of the record") from None
    columns = [
        _converted(table.column(index), type_, name)
        for index, name, type_ in zip(indexes, record.names, record.items, strict=True)
    ]
    make = maker(record.cls)
    parts = [column.to_pylist() for column in columns]
    for number, values in enumerate(zip(*parts, strict=True) if parts else iter(()), first + 1):
        try:
            yield make(*map(field_of, values, record.items, record.names))
        except RowMisfit as misfit:
            raise format_.row_error(file, number, repr(values), misfit) from None


def field_of(value: Any, type_: Type, name: str) -> Any:
    """The Python value of a table's value in a field, or in a part of one. An error names it."""
    try:
        return of_table(value, type_)
    except RowMisfit as misfit:
        raise misfit.of_field(name) from None


def _converted(column: Any, type_: Type, name: str) -> Any:
    """The column with values of the element type. Fails if another type would lose a part of a value."""
    inner = type_.inner if isinstance(type_, Optional) else type_
    if inner == ANY:
        raise FileProblem(f"the column {name} is {column.type}, which no element type has", _LEAVE_OUT)
    if not fits(column.type, inner):
        raise FileProblem(f"the column {name} is {column.type}, and the field {name} is {inner}", _DECLARE)
    if inner.children or isinstance(inner, List | Dict | Decimal):
        return column
    try:
        zone = column.type.tz if pa.types.is_timestamp(column.type) else None
        return column.cast(pa.timestamp("us", zone) if zone else arrow_type(inner))
    except pa.ArrowInvalid as error:
        raise FileProblem(
            f"the column {name} is {column.type}, and a value is no {inner}: {str(error).splitlines()[0]}", _DECLARE
        ) from None


def fits(arrow: Any, type_: Type) -> bool:
    """Whether the values of an Arrow type are values of an element type."""
    is_ = pa.types
    if isinstance(type_, Optional):
        return fits(arrow, type_.inner)
    if is_.is_null(arrow):
        return True
    if is_.is_dictionary(arrow):
        return fits(arrow.value_type, type_)
    tests: dict[Type, Callable[[Any], bool]] = {
        BOOL: is_.is_boolean,
        INT: is_.is_integer,
        FLOAT: lambda each: is_.is_floating(each) or is_.is_integer(each),
        STR: lambda each: is_.is_string(each) or is_.is_large_string(each),
        BYTES: lambda each: is_.is_binary(each) or is_.is_large_binary(each) or is_.is_fixed_size_binary(each),
        DATE: is_.is_date,
        DATETIME: is_.is_timestamp,
    }
    if type_ in tests:
        return bool(tests[type_](arrow))
    match type_:
        case Decimal(precision, scale):
            return bool(is_.is_decimal(arrow)) and (arrow.precision, arrow.scale) == (precision, scale)
        case List(item):
            a_list = is_.is_list(arrow) or is_.is_large_list(arrow) or is_.is_fixed_size_list(arrow)
            return bool(a_list) and fits(arrow.value_type, item)
        case Dict(item):
            return bool(is_.is_map(arrow)) and fits(arrow.key_type, STR) and fits(arrow.item_type, item)
    return bool(is_.is_struct(arrow)) and bool(type_.children)


def of_table(value: Any, type_: Type) -> Any:
    """The Python value of a table's value: structs are records, maps are dicts, times with a zone are in UTC."""
    if value is None and not isinstance(type_, Optional):
        raise RowMisfit(f"there is no value, and the type is {type_}", remedy=f"declare the field as {type_} | None")
    match type_:
        case Optional(inner):
            return None if value is None else of_table(value, inner)
        case Record(cls, _, items):
            names = column_names(cls)
            return maker(cls)(*(field_of(value[name], item, name) for name, item in zip(names, items, strict=True)))
        case Tuple(items):
            return tuple(map(of_table, value.values(), items))
        case List(item):
            return [field_of(each, item, f"[{index}]") for index, each in enumerate(value)]
        case Dict(item):
            pairs = value.items() if isinstance(value, dict) else value
            return {key: field_of(each, item, f"[{key!r}]") for key, each in pairs}
        case _ if type_ == DATETIME and value.tzinfo is not None:
            return value.astimezone(datetime.UTC).replace(tzinfo=None)
        case _:
            return value
