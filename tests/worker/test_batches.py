"""Elements go into Arrow's columns and come back as they were, also from the middle of a batch."""

from __future__ import annotations

import datetime
import decimal
import pickle
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

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
    Tuple,
    Type,
)
from morisot.types.infer import of_record_class
from morisot.worker.codec.batches import decode, encode


class Point(NamedTuple):
    """A record of two."""

    x: int
    name: str


POINT = of_record_class(Point)
SCALARS: dict[Type, st.SearchStrategy[Any]] = {
    INT: st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.floats(allow_nan=False),
    STR: st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    BOOL: st.booleans(),
    BYTES: st.binary(max_size=5),
    DATE: st.dates(),
    DATETIME: st.datetimes(),
    ANY: st.sampled_from([None, 1, "a", {2}]),
    POINT: st.builds(Point, st.integers(0, 9), st.sampled_from("abc")),
}


def _wider(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        inner.map(List),
        inner.map(Dict),
        inner.filter(lambda type_: not isinstance(type_, Optional) and type_ != ANY).map(Optional),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: Tuple(tuple(items))),
    )


TYPES = st.recursive(st.sampled_from(list(SCALARS)), _wider, max_leaves=4)


def values(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case List(item):
            return st.lists(values(item), max_size=3)
        case Dict(item):
            return st.dictionaries(st.sampled_from("abc"), values(item), max_size=3)
        case Optional(inner):
            return st.none() | values(inner)
        case Tuple(items):
            return st.tuples(*map(values, items))
    return SCALARS[type_]


@given(st.data())
def test_what_goes_into_a_batch_comes_out_of_it(data: st.DataObject) -> None:
    type_ = data.draw(TYPES)
    elements = data.draw(st.lists(values(type_), max_size=6))
    columns = encode(elements, type_, pickle.dumps)
    assert decode(columns, type_) == elements
    assert decode([pa.chunked_array([column, column]) for column in columns], type_) == elements * 2
    first = data.draw(st.integers(0, len(elements)))
    assert decode([column.slice(first, 2) for column in columns], type_) == elements[first : first + 2]


def test_decimals_and_columns_without_rows() -> None:
    assert decode([pa.array([], pa.list_(pa.int64()))], List(INT)) == []
    some = pa.array([decimal.Decimal("1.50"), None], pa.decimal128(5, 2))
    assert decode([some], Optional(Decimal(5, 2))) == [decimal.Decimal("1.50"), None]
    assert decode([pa.array([datetime.date(2024, 1, 2)])], DATE) == [datetime.date(2024, 1, 2)]
