"""Inference of element types from Python values and annotations."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import functools
import inspect
import keyword
import re
import types as python_types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from morisot.types.annotations import annotations_of
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
    Dict,
    List,
    Optional,
    Record,
    Scalar,
    Tuple,
    Type,
)
from morisot.types.records import COLUMNS, field_names, is_intact, is_record_class

_OF_CLASS: dict[Any, Type] = {
    int: INT,
    float: FLOAT,
    bool: BOOL,
    str: STR,
    bytes: BYTES,
    datetime.date: DATE,
    datetime.datetime: DATETIME,
    type(None): NONE,
    None: NONE,
}
_NOTHING = Scalar("nothing")
"""The type of the items of an empty list, during the inference."""
_INT64 = range(-(2**63), 2**63)


def of_annotation(annotation: Any) -> Type:
    """The type of an annotation; `object` if there is no better one.

    >>> str(of_annotation(tuple[int, str | None]))
    'tuple[int, str | None]'
    """
    if isinstance(annotation, Type):
        return annotation
    if _is_class_or_none(annotation) and annotation in _OF_CLASS:
        return _OF_CLASS[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, python_types.UnionType):
        return functools.reduce(unify, map(of_annotation, arguments))
    if origin is tuple and arguments and Ellipsis not in arguments:
        return Tuple(tuple(map(of_annotation, arguments)))
    if origin is list and arguments:
        return List(of_annotation(arguments[0]))
    if origin is dict and arguments and arguments[0] is str:
        return Dict(of_annotation(arguments[1]))
    if isinstance(annotation, type) and is_record_class(annotation):
        return of_record_class(annotation)
    return ANY


def _is_class_or_none(annotation: Any) -> bool:
    return annotation is None or isinstance(annotation, type)


@functools.lru_cache(maxsize=1024)
def of_record_class(cls: type) -> Record:
    """The record type of a NamedTuple or dataclass."""
    names, hints = field_names(cls), _hints(cls)
    return Record(cls, names, tuple(of_annotation(hints.get(name, object)) for name in names))


def of_arguments(cls: type) -> Record:
    """The type of rows with a column for each argument of a record class's constructor."""
    names, hints = tuple(inspect.signature(cls).parameters), _hints(cls)
    given = (hints.get(name, object) for name in names)
    items = (each.type if isinstance(each, dataclasses.InitVar) else each for each in given)
    return Record(row_class(names), names, tuple(map(of_annotation, items)))


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except Exception:  # an annotation with an unknown name: no field has a type
        return {}


@functools.lru_cache(maxsize=256)
def row_class(names: tuple[str, ...]) -> type:
    """The class of the rows of a table with these columns, one class for each list of names.

    Characters that an identifier cannot have become `_`. A column without such a name has the name of its position.

    >>> row_class(("id", "unit price", "class", "id.x", "", "1a"))._fields
    ('id', 'unit_price', 'class_', 'id_x', '_4', '_5')
    """
    fields = tuple(_field_name(name, names) for name in names)
    cls = collections.namedtuple("Row", fields, rename=True)  # type: ignore[misc]  # noqa: PYI024 - names are data
    setattr(cls, COLUMNS, names)
    return cls


def _field_name(column: str, columns: Sequence[str]) -> str:
    """The name of the field for a column, or a name that namedtuple replaces."""
    name = re.sub(r"\W+", "_", column).strip("_") if not column.isidentifier() else column
    name = f"{name}_" if keyword.iskeyword(name) else name
    return name if name == column or name not in columns else ""


def row_type(columns: Sequence[tuple[str, Type]]) -> Record:
    """The type of a table's rows."""
    cls = row_class(tuple(name for name, _ in columns))
    return Record(cls, tuple(cls._fields), tuple(type_ for _, type_ in columns))  # type: ignore[attr-defined]


def of_value(value: Any) -> Type:
    """The type of one value.

    >>> str(of_value([("a", 1), ("b", None)]))
    'list[tuple[str, int | None]]'
    """
    return _settled(_shape(value))


def _shape(value: Any) -> Type:
    """The type of one value, in which the items of an empty list or dict have the type NOTHING."""
    cls: Any = type(value)
    if cls is int:
        return INT if value in _INT64 else ANY
    if cls is datetime.datetime:
        return DATETIME if value.tzinfo is None and not value.fold else ANY
    if cls is str:
        return STR if _is_text(value) else ANY
    if cls in _OF_CLASS:
        return _OF_CLASS[cls]
    if cls is tuple and value:
        return Tuple(tuple(map(_shape, value)))
    if cls is list:
        item = _shape_of_all(value)
        return ANY if item == ANY else List(item)
    if cls is dict and all(type(key) is str for key in value):
        item = _shape_of_all(list(value.values()))
        return ANY if item == ANY else Dict(item)
    if is_record_class(cls) and is_intact(cls)(value):
        return _of_record(value)
    return ANY


def _of_record(value: Any) -> Type:
    """The type that the class declares, if the values fit it; otherwise the type of the values."""
    names = field_names(type(value))
    declared = of_record_class(type(value)).items  # type: ignore[arg-type]
    actual = tuple(_shape(getattr(value, name)) for name in names)
    items = tuple(d if d != ANY and unify(d, a) == d else a for d, a in zip(declared, actual, strict=True))
    return Record(type(value), names, items)


def is_instance(value: Any, type_: Type) -> bool:
    """Whether a value has the type. An empty list has every list type.

    >>> is_instance(([], None), of_annotation(tuple[list[str], int | None]))
    True
    """
    match type_:
        case Optional(inner):
            return value is None or is_instance(value, inner)
        case List(item):
            return type(value) is list and all(is_instance(each, item) for each in value)
        case Dict(item):
            return type(value) is dict and all(
                is_instance(key, STR) and is_instance(each, item) for key, each in value.items()
            )
        case Tuple(items):
            return type(value) is tuple and len(value) == len(items) and all(map(is_instance, value, items))
        case Record(cls, names, items):
            parts = (getattr(value, name) for name in names)
            return type(value) is cls and is_intact(cls)(value) and all(map(is_instance, parts, items))  # type: ignore[arg-type]
        case _:
            return type_ == ANY or _shape(value) == type_


def of_start(init: Any, declared: Type | None) -> Type:
    """The type of an accumulator or state: the declared one if the initial value has it, else that of the value."""
    if declared is None or declared in (ANY, NONE) or not is_instance(init, declared):
        return of_value(init)
    return declared


def of_state(init: Any, function: Callable[..., Any]) -> Type:
    """The type of the state of a function that returns (new state, output)."""
    answer = of_return(function)
    return of_start(init, answer.items[0] if isinstance(answer, Tuple) and len(answer.items) == 2 else None)


def _settled(type_: Type) -> Type:
    """The type without NOTHING. A list of which no item is known, or of which all are None, is an `object`."""
    match type_:
        case Optional(inner):
            return _optional(_settled(inner))
        case List(item) | Dict(item):
            inner = _settled(item)
            known = inner not in (ANY, NONE) or item == ANY
            return type(type_)(inner) if known else ANY
        case Tuple(items):
            return Tuple(tuple(map(_settled, items)))
        case Record(cls, names, items):
            return Record(cls, names, tuple(map(_settled, items)))
        case _:
            return ANY if type_ == _NOTHING else type_


def _is_text(value: str) -> bool:
    """Whether the text has no lone surrogates, which a Spark string cannot hold: such text is pickled."""
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def of_values(values: Sequence[Any]) -> Type:
    """The type that fits all values; `object` if they differ, so that no value is converted.

    >>> str(of_values([[], [1, 2]]))
    'list[int]'
    """
    return _settled(_shape_of_all(values)) if values else NONE


def _shape_of_all(values: Sequence[Any]) -> Type:
    if not values:
        return _NOTHING
    classes = set(map(type, values))
    if len(classes) == 1:
        (cls,) = classes
        if cls is int:
            return INT if min(values) in _INT64 and max(values) in _INT64 else ANY
        if cls in (float, bool, bytes):
            return _OF_CLASS[cls]
        if cls is tuple and len({len(value) for value in values}) == 1 and values[0]:
            return Tuple(tuple(_shape_of_all(items) for items in zip(*values, strict=True)))
    return functools.reduce(unify, map(_shape, values))


def unify(left: Type, right: Type) -> Type:
    """The type that holds the values of both without changing them. For int and float it is `object`."""
    if right in (left, _NOTHING):
        return left
    if left == _NOTHING:
        return right
    if left == NONE:
        return right if isinstance(right, Optional) else _optional(right)
    if right == NONE:
        return unify(right, left)
    if isinstance(left, Optional) or isinstance(right, Optional):
        return _optional(unify(without_none(left), without_none(right)))
    match left, right:
        case Tuple(a), Tuple(b) if len(a) == len(b):
            return Tuple(tuple(map(unify, a, b)))
        case Record(cls, names, a), Record(other, _, b) if cls is other:
            return Record(cls, names, tuple(map(unify, a, b)))
        case List(a), List(b):
            return List(unify(a, b))
        case Dict(a), Dict(b):
            return Dict(unify(a, b))
        case _:
            return ANY


def _optional(type_: Type) -> Type:
    return type_ if type_ in (ANY, NONE) else Optional(type_)


def reduced(element: Type, result: Type) -> Type:
    """The type of a reduce, by the type of its function's results: it may be an element, if there is only one."""
    return element if unify(element, result) == element else ANY


def without_none(type_: Type) -> Type:
    """The type without None."""
    return type_.inner if isinstance(type_, Optional) else type_


def of_return(function: Callable[..., Any]) -> Type | None:
    """The type of a function's return annotation, if it has one."""
    hint = return_hint(function)
    return of_annotation(hint["return"]) if hint else None


def return_hint(function: Callable[..., Any]) -> dict[str, Any]:
    """`{"return": …}` if it is annotated. Annotations of parameters are ignored: they may use unknown names."""
    annotations = annotations_of(function)
    if "return" not in annotations:
        return {}
    alone = python_types.SimpleNamespace(__annotations__={"return": annotations["return"]}, __wrapped__=function)
    try:
        return typing.get_type_hints(alone)
    except Exception:  # an annotation with an unknown name is ignored
        return {}


def item_of(annotation: Any) -> Type:
    """The type of the items of an annotated iterable: `Iterator[int]`, `list[int]`, `Iterable[int]`."""
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if arguments and isinstance(origin, type) and issubclass(origin, Iterable):
        return of_annotation(arguments[0])
    return ANY
