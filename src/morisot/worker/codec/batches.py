"""Exact conversion between Arrow columns and Python elements: no value is changed, truncated or dropped."""

from __future__ import annotations

import datetime
import itertools
import pickle
from collections.abc import Callable, Iterator, Sequence
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
    NONE,
    STR,
    Decimal,
    Dict,
    Keyed,
    List,
    Optional,
    Record,
    Tuple,
    Type,
    leaves,
)
from morisot.types.records import attributes_without_field, first_not_intact, make_all
from morisot.worker.codec.numpy_scalars import without_numpy

Dumps = Callable[[Any], bytes]

_ARROW: dict[Type, pa.DataType] = {
    INT: pa.int64(),
    FLOAT: pa.float64(),
    BOOL: pa.bool_(),
    STR: pa.string(),
    BYTES: pa.binary(),
    DATE: pa.date32(),
    DATETIME: pa.timestamp("us"),
    NONE: pa.null(),
    ANY: pa.binary(),
}
_CLASS: dict[Type, type] = {
    INT: int,
    FLOAT: float,
    BOOL: bool,
    STR: str,
    BYTES: bytes,
    DATE: datetime.date,
    DATETIME: datetime.datetime,
    NONE: type(None),
}


class Misfit(Exception):  # noqa: N818 - the operator catches it and raises an error with its name
    """A value is not of its declared type."""

    def __init__(self, value: Any, type_: Type, reason: str = "") -> None:
        super().__init__(reason or f"{value!r} ({type(value).__name__}) is not of the type {type_}")
        self.value = value
        self.type = type_


def class_of(type_: Type) -> type:
    """The class of the values of a scalar type."""
    return _CLASS[type_]


def arrow_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column that holds values of the type."""
    match type_:
        case Optional(inner):
            return arrow_type(inner)
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case List(item):
            return pa.list_(arrow_type(item))
        case Dict(value):
            return pa.map_(pa.string(), arrow_type(value))
        case _ if type_.children:
            return pa.struct([(field_name(type_, name), arrow_type(child)) for name, child in type_.children])
        case _:
            return _ARROW[type_]


def struct_type(type_: Type) -> Any:
    """The fields of a product inside one column."""
    return arrow_type(type_)


def field_name(type_: Type, name: str) -> str:
    """The name of a part inside a struct: the field name of a record, or `_0`, `_1` and so on for tuples."""
    return name if isinstance(type_, Record) else f"_{name}"


def schema_of(type_: Type) -> pa.Schema:
    """The columns that represent an element."""
    return pa.schema([(leaf.column, arrow_type(leaf.type)) for leaf in leaves(type_)])


def decode(columns: Sequence[Any], type_: Type) -> list[Any]:
    """The Python elements of a batch, from one array for each leaf."""
    return _assemble(iter(columns), type_)


def _assemble(columns: Iterator[Any], type_: Type) -> list[Any]:
    if not type_.children:
        return decode_leaf(next(columns), type_)
    parts = [_assemble(columns, child) for _, child in type_.children]
    if isinstance(type_, Record):
        return make_all(type_.cls, parts)
    return list(zip(*parts, strict=True))


def decode_leaf(array: Any, type_: Type) -> list[Any]:
    """The Python values of one column. Structs are decoded by columns, because a dict for each struct is expensive."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in decode_leaf(chunk, type_)]
    if not len(array):
        return []
    match type_:
        case Optional(inner):
            return _decode_optional(array, inner)
        case List(item):
            return [*_sliced(decode_leaf(array.flatten(), item), array.offsets)]
        case Dict(value):
            inside = array.offsets[0].as_py(), array.offsets[-1].as_py() - array.offsets[0].as_py()
            keys = _sliced(array.keys.slice(*inside).to_pylist(), array.offsets)
            values = _sliced(decode_leaf(array.items.slice(*inside), value), array.offsets)
            return [dict(zip(*pair, strict=True)) for pair in zip(keys, values, strict=True)]
        case Record(cls):
            return make_all(cls, _decode_parts(array, type_))
        case Tuple() | Keyed():
            return list(zip(*_decode_parts(array, type_), strict=True))
        case _ if type_ == ANY:
            return [*map(pickle.loads, array.to_pylist())]
        case _ if type_ in (INT, FLOAT) and array.null_count == 0:
            numbers: list[Any] = array.to_numpy().tolist()  # several times faster than to_pylist
            return numbers
    found: list[Any] = array.to_pylist()
    return found


def _decode_parts(array: Any, type_: Type) -> list[list[Any]]:
    return [decode_leaf(part, child) for part, (_, child) in zip(array.flatten(), type_.children, strict=True)]


def _decode_optional(array: Any, inner: Type) -> list[Any]:
    if array.null_count == 0:
        return decode_leaf(array, inner)
    if inner in _CLASS or isinstance(inner, Decimal):
        found: list[Any] = array.to_pylist()
        return found
    present = iter(decode_leaf(array.drop_null(), inner))
    return [next(present) if there else None for there in array.is_valid().to_pylist()]


def _sliced(flat: list[Any], offsets: Any) -> Iterator[list[Any]]:
    """The items of each list, from the items of all lists."""
    bounds = (offsets.to_numpy() - offsets[0].as_py()).tolist()
    return (flat[first:last] for first, last in itertools.pairwise(bounds))


def encode(values: Sequence[Any], type_: Type, dumps: Dumps) -> list[Any]:
    """One array for each leaf of Python elements. Raises `Misfit` for a value of another type."""
    if not type_.children:
        return [encode_leaf(values, type_, dumps)]
    return [
        array
        for part, (_, child) in zip(split_parts(values, type_), type_.children, strict=True)
        for array in encode(part, child, dumps)
    ]


def split_parts(values: Sequence[Any], type_: Type) -> list[Sequence[Any]]:
    """The parts of products, position by position, after a check that each value is such a product."""
    width = len(type_.children)
    cls: Any = type_.cls if isinstance(type_, Record) else tuple
    for value in values:
        if type(value) is not cls or (cls is tuple and len(value) != width):
            raise Misfit(value, type_)
    if isinstance(type_, Record):
        _check_intact(values, type_)
    if isinstance(type_, Record) and not type_.is_tuple:
        return [[getattr(value, name) for value in values] for name in type_.names]
    return list(zip(*values, strict=True)) if values else [()] * width


def _check_intact(values: Sequence[Any], type_: Record) -> None:
    """Raises `Misfit` for a record whose columns do not hold all that it stores."""
    odd = first_not_intact(type_.cls)(values)
    if odd is None:
        return
    others = attributes_without_field(odd)
    if others:
        raise Misfit(odd, type_, f"a {type_} stores the attribute {others[0]!r}, which is not a field of {type_}")
    missing = next(name for name in type_.names if not hasattr(odd, name))
    raise Misfit(odd, type_, f"a {type_} has no value in its field {missing!r}")


def encode_leaf(values: Sequence[Any], type_: Type, dumps: Dumps) -> Any:
    """The Arrow array of one column."""
    if type_ == ANY:
        return pa.array([dumps(value) for value in values], pa.binary())
    if isinstance(type_, Optional):
        return _encode_optional(values, type_, dumps)
    if isinstance(type_, Decimal):
        return pa.array(values, arrow_type(type_))
    if type_.children:
        arrays = [
            encode_leaf(p, c, dumps) for p, (_, c) in zip(split_parts(values, type_), type_.children, strict=True)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(struct_type(type_)))
    if isinstance(type_, List | Dict):
        return _encode_nested(values, type_, dumps)
    return _encode_scalar(values, type_)


def _encode_scalar(values: Sequence[Any], type_: Type) -> Any:
    expected = _CLASS[type_]
    if set(map(type, values)) - {expected}:
        values = [without_numpy(value) for value in values]
    if set(map(type, values)) - {expected}:
        raise Misfit(next(value for value in values if type(value) is not expected), type_)
    if type_ == DATETIME:
        _check_naive(values)
    try:
        return pa.array(values, _ARROW[type_])
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        for value in values:
            _encode_one(value, type_)
        raise


def _check_naive(values: Sequence[datetime.datetime]) -> None:
    """Raises `Misfit` for a datetime with a time zone: Arrow would convert it to UTC and drop the zone."""
    for value in values:
        if value.tzinfo is not None:
            raise Misfit(
                value,
                DATETIME,
                f"{value!r} has a time zone, and a datetime element has none: remove it with .replace(tzinfo=None), "
                "or keep it in an element of any type, with returns=object",
            )


def _encode_one(value: Any, type_: Type) -> None:
    if type_ == INT and not -(2**63) <= value < 2**63:
        raise OverflowError(f"{value} is beyond 64 bits, the range of an int element")
    try:
        pa.array([value], _ARROW[type_])
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError) as error:
        raise Misfit(value, type_) from error


def _encode_optional(values: Sequence[Any], type_: Optional, dumps: Dumps) -> Any:
    present = [value for value in values if value is not None]
    dense = encode_leaf(present, type_.inner, dumps)
    if len(present) == len(values):
        return dense
    indexes: list[int | None] = []
    next_index = 0
    for value in values:
        indexes.append(None if value is None else next_index)
        next_index += value is not None
    return dense.take(pa.array(indexes, pa.int64()))


def _encode_nested(values: Sequence[Any], type_: List | Dict, dumps: Dumps) -> Any:
    expected: Any = list if isinstance(type_, List) else dict
    offsets = [0]
    flat: list[Any] = []
    keys: list[str] = []
    for value in values:
        if type(value) is not expected:
            raise Misfit(value, type_)
        if isinstance(type_, List):
            flat.extend(value)
        else:
            keys.extend(value)
            flat.extend(value.values())
        offsets.append(len(flat))
    starts: Any = pa.array(offsets, pa.int32())
    if isinstance(type_, List):
        return pa.ListArray.from_arrays(starts, encode_leaf(flat, type_.item, dumps))
    return pa.MapArray.from_arrays(starts, _encode_scalar(keys, STR), encode_leaf(flat, type_.value, dumps))
