"""Element types of Arrow types. A column may always hold NULL."""

from __future__ import annotations

from typing import Any

from morisot.types import infer
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
    Type,
)


def row_type_of(schema: Any) -> Record:
    """The record type of the rows of a table with this schema."""
    return infer.row_type([(field.name, Optional(type_of(field.type))) for field in schema])


def type_of(arrow: Any) -> Type:
    """The element type of an Arrow type."""
    import pyarrow.types as is_

    plain = (
        (is_.is_boolean, BOOL),
        (is_.is_integer, INT),
        (is_.is_floating, FLOAT),
        (is_.is_string, STR),
        (is_.is_large_string, STR),
        (is_.is_binary, BYTES),
        (is_.is_large_binary, BYTES),
        (is_.is_fixed_size_binary, BYTES),
        (is_.is_null, INT),
        (is_.is_date, DATE),
        (is_.is_timestamp, DATETIME),
    )
    for test, type_ in plain:
        if test(arrow):
            return type_
    if is_.is_dictionary(arrow):
        return type_of(arrow.value_type)
    if is_.is_decimal(arrow):
        return Decimal(arrow.precision, arrow.scale)
    if is_.is_list(arrow) or is_.is_large_list(arrow) or is_.is_fixed_size_list(arrow):
        return List(Optional(type_of(arrow.value_type)))
    if is_.is_map(arrow) and type_of(arrow.key_type) == STR:
        return Dict(Optional(type_of(arrow.item_type)))
    if is_.is_struct(arrow):
        return row_type_of(arrow)
    return ANY
