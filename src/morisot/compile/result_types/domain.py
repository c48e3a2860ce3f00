"""The types of values inside a function that runs in Python: element types, and types that no column holds.

A type states what CPython guarantees about a value. `ANY` states nothing.
"""

from __future__ import annotations

import datetime as dt
import decimal
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from morisot.compile.ir.values import NEVER, Known
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
    Scalar,
    Tuple,
    Type,
    contains_any,
)
from morisot.types.infer import of_value, of_values, without_none

Found = Type | Known
"""The type of an expression, or the object that it is."""

WIDE = Scalar("int of any size")
"""An int that is often beyond 64 bits, such as a factorial. No column holds it."""

_LARGEST_CAPTURED = 1_000_000
"""The most items of a captured list, dict or set of which the type is computed."""


@dataclass(frozen=True)
class Instance(Type):
    """An object of exactly this class of the standard library."""

    cls: type

    def __str__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class Matched(Type):
    """A match of a regular expression in a text."""

    groups: int


@dataclass(frozen=True)
class Items(Type):
    """An iterable whose items have one type. `cls` is `object` for iterators and other classes."""

    cls: type
    item: Type


@dataclass(frozen=True)
class Mapping(Type):
    """A dict, or a Counter."""

    key: Type
    value: Type
    cls: type = dict


DELTA = Instance(dt.timedelta)
MOMENT = Instance(dt.datetime)
"""A datetime that may have a time zone or a fold, which no column holds."""
NUMBER = Instance(decimal.Decimal)

INTS = frozenset({BOOL, INT, WIDE})
NUMBERS = INTS | {FLOAT}
SCALARS = NUMBERS | {STR, BYTES, DATE, DATETIME, NONE}
_IMMUTABLE = frozenset({object, tuple, frozenset, range})


def join(left: Type, right: Type) -> Type:
    """The type of a value that has one of two types."""
    if right in (left, NEVER):
        return left
    if left == NEVER:
        return right
    if {left, right} == {INT, WIDE}:
        return WIDE
    if NONE in (left, right) or isinstance(left, Optional) or isinstance(right, Optional):
        inner = join(*(NEVER if each == NONE else without_none(each) for each in (left, right)))
        return ANY if inner == ANY else Optional(inner)
    match left, right:
        case Tuple(a), Tuple(b) if len(a) == len(b):
            return Tuple(tuple(map(join, a, b)))
        case Record(cls, names, a), Record(other, _, b) if cls is other:
            return Record(cls, names, tuple(map(join, a, b)))
        case List(a), List(b):
            return List(join(a, b))
        case Mapping(k, a, cls), Mapping(m, b, other) if cls is other:
            return Mapping(join(k, m), join(a, b), cls)
        case Items(cls, a), Items(other, b) if cls is other:
            return Items(cls, join(a, b))
    return ANY


def join_all(types: Iterable[Type]) -> Type:
    """The type of a value that has one of some types; NEVER if there are none."""
    start: Type = NEVER
    return functools.reduce(join, types, start)


def entering(type_: Type) -> Type:
    """The type of an argument inside the function."""
    match type_:
        case Keyed(key, value):
            return Tuple((entering(key), entering(value)))
        case Dict(value):
            return Mapping(STR, entering(value))
        case List(item):
            return List(entering(item))
        case Optional(inner):
            return Optional(entering(inner))
        case Tuple(items):
            return Tuple(tuple(map(entering, items)))
        case Record(cls, names, items):
            return Record(cls, names, tuple(map(entering, items)))
    return type_


def leaving(type_: Type) -> Type:
    """The element type of a result: `object` for what no column holds, except in the parts of a product."""
    match type_:
        case Tuple(items) if items:
            return _product(Tuple(tuple(map(leaving, items))))
        case Record(cls, names, items):
            return _product(Record(cls, names, tuple(map(leaving, items))))
        case Decimal():
            return type_
        case _ if type_ in SCALARS - {WIDE, NONE}:
            return type_
        case Optional(inner):
            return _whole(leaving(inner), Optional)
        case List(item):
            return _whole(leaving(item), List)
        case Mapping(key, value, cls) if key == STR and cls is dict:
            return _whole(leaving(value), Dict)
    return ANY


def _product(type_: Type) -> Type:
    return ANY if all(child == ANY for _, child in type_.children) else type_


def _whole(inner: Type, outer: Any) -> Type:
    return ANY if contains_any(inner) else outer(inner)


def type_of(found: Found) -> Type:
    """The type of an expression."""
    return of_object(found.object) if isinstance(found, Known) else found


def of_object(value: Any) -> Type:
    """The type of an object that was captured."""
    cls = type(value)
    if cls is int:
        return INT if -(2**63) <= value < 2**63 else WIDE
    if cls in (list, dict, set, frozenset):
        return _of_container(value)
    if cls is dt.timedelta or cls is decimal.Decimal:
        return Instance(cls)
    if cls is range:
        return Items(range, INT)
    if cls is tuple:
        return Tuple(tuple(map(of_object, value)))
    return entering(of_value(value))


def _of_container(value: Any) -> Type:
    """The type of a container. The items of an empty one are not known: the program may add them later."""
    key: Type = ANY
    item: Type = ANY
    if not 0 < len(value) <= _LARGEST_CAPTURED:
        pass
    elif type(value) is dict:
        key, item = entering(of_values(list(value))), entering(of_values(list(value.values())))
    else:
        item = entering(of_values(list(value)))
    if type(value) is dict:
        return Mapping(key, item)
    return List(item) if type(value) is list else Items(type(value), item)


def item_type(type_: Type) -> Type:
    """The type of the items of an iterable; ANY if they are not known."""
    match without_none(type_):
        case List(item) | Items(_, item):
            return item
        case Mapping(key, _):
            return key
        case Tuple(items):
            return join_all(items)
        case Record(cls, _, items) if issubclass(cls, tuple) and cls.__iter__ is tuple.__iter__:
            return join_all(items)
        case other if other == STR:
            return STR
        case other if other == BYTES:
            return INT
    return ANY


def is_plain(type_: Type) -> bool:
    """Whether the methods of the value and of its parts are those of Python: no method is the user's."""
    match type_:
        case Optional(inner) | List(inner) | Items(_, inner):
            return is_plain(inner)
        case Mapping(key, value):
            return is_plain(key) and is_plain(value)
        case Tuple(items):
            return all(map(is_plain, items))
        case Instance() | Decimal() | Matched():
            return True
    return type_ in SCALARS or type_ == NEVER


def hidden(type_: Type) -> Type:
    """The type without what holds only as long as nothing changes an object in place."""
    match type_:
        case List() | Mapping():
            return ANY
        case Optional(inner):
            inner = hidden(inner)
            return ANY if inner == ANY else Optional(inner)
        case Items(cls, item):
            return Items(cls, hidden(item)) if cls in _IMMUTABLE else ANY
        case Tuple(items):
            return Tuple(tuple(map(hidden, items)))
        case Record(cls, names, items):
            return Record(cls, names, tuple(map(hidden, items))) if _is_frozen(cls) else ANY
    return type_


def _is_frozen(cls: type) -> bool:
    parameters = getattr(cls, "__dataclass_params__", None)
    return issubclass(cls, tuple) or (parameters is not None and bool(parameters.frozen))
