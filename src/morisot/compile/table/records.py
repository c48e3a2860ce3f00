"""Tests whether the constructor, fields and comparison of a record class are the generated ones."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from morisot.types.element import Optional, Record, Type
from morisot.types.records import field_names, is_generated

_ORDERS = ("__lt__", "__le__", "__gt__", "__ge__")


def is_plain_field(cls: type, name: str) -> bool:
    """Whether reading the field gives the stored value: no property and no `__getattribute__` changes it."""
    if not _inherits(cls, "__getattribute__", object, tuple):
        return False
    stored = inspect.getattr_static(cls, name, None)
    if issubclass(cls, tuple):
        return type(stored).__name__ == "_tuplegetter"
    return inspect.ismemberdescriptor(stored) or not hasattr(stored, "__get__")


def is_plain_constructor(cls: type) -> bool:
    """Whether the constructor only stores its arguments."""
    if type(cls).__call__ is not type.__call__:
        return False
    if issubclass(cls, tuple):
        return cls.__init__ is object.__init__ and is_generated(cls.__new__)
    return (
        cls.__new__ is object.__new__
        and is_generated(cls.__init__)
        and not hasattr(cls, "__post_init__")
        and (_inherits(cls, "__setattr__", object) or is_generated(cls.__setattr__))
        and tuple(inspect.signature(cls.__init__).parameters)[1:] == _in_order_of_constructor(cls)
    )


def _in_order_of_constructor(cls: type) -> tuple[str, ...]:
    """The names of the fields of a dataclass, those that are given by position first."""
    fields: tuple[Any, ...] = dataclasses.fields(cls)
    return tuple(field.name for field in sorted(fields, key=lambda field: field.kw_only))


def positional(cls: type) -> tuple[str, ...]:
    """The names of the fields that a constructor takes by position."""
    if issubclass(cls, tuple):
        return field_names(cls)
    fields: tuple[Any, ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
    return tuple(field.name for field in fields if not field.kw_only)


def compares_as_tuple(cls: type) -> bool:
    """Whether == compares the fields in order."""
    return issubclass(cls, tuple) and _inherits(cls, "__eq__", tuple) and _inherits(cls, "__ne__", tuple, object)


def is_always_true(cls: type) -> bool:
    """Whether bool() of every record is True: the class has no `__bool__`, and no `__len__` but a tuple's."""
    return not hasattr(cls, "__bool__") and (not hasattr(cls, "__len__") or _inherits(cls, "__len__", tuple))


def class_attribute(cls: type, name: str) -> Any:
    """The attribute of the class under a name that is not a field: a property, a method, a constant; or None.

    A constructor that is not generated could hide it behind an attribute of the record.
    """
    plain = _inherits(cls, "__getattribute__", object, tuple) and is_plain_constructor(cls)
    return inspect.getattr_static(cls, name, None) if plain else None


def is_ordered_as_tuple(cls: type) -> bool:
    """Whether <, <=, > and >= compare the fields in order."""
    return issubclass(cls, tuple) and all(_inherits(cls, name, tuple) for name in _ORDERS)


def is_equal_by_fields(type_: Type) -> bool:
    """Whether all fields of the dataclasses in a type are compared. Then equal keys have equal columns."""
    if isinstance(type_, Optional):
        return is_equal_by_fields(type_.inner)
    if isinstance(type_, Record) and dataclasses.is_dataclass(type_.cls):
        has_equality = type_.cls.__hash__ not in (None, object.__hash__)
        if not (has_equality and all(field.compare for field in dataclasses.fields(type_.cls))):
            return False
    return all(is_equal_by_fields(child) for _, child in type_.children)


def compares_by_fields(cls: type) -> bool:
    """Whether all comparisons of two records of the class compare the fields in order."""
    if issubclass(cls, tuple):
        return compares_as_tuple(cls) and is_ordered_as_tuple(cls)
    return compares_as_dataclass(cls) and all(is_generated(getattr(cls, name)) for name in _ORDERS)


def compares_as_dataclass(cls: type) -> bool:
    """Whether == compares all fields in order, with records of the same class only."""
    if not dataclasses.is_dataclass(cls) or not is_generated(cls.__eq__) or not _inherits(cls, "__ne__", object):
        return False
    return all(field.compare for field in dataclasses.fields(cls))


def defaults(cls: type) -> dict[str, Any]:
    """The values of the fields that may be left out of the constructor."""
    if issubclass(cls, tuple):
        return dict(getattr(cls, "_field_defaults", {}))
    fields: tuple[Any, ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}


def empty_defaults(cls: type) -> dict[str, type]:
    """The fields whose default is a new empty list or dict, with its class.

    >>> @dataclasses.dataclass
    ... class Tags:
    ...     n: int = 0
    ...     tags: list[str] = dataclasses.field(default_factory=list)
    >>> empty_defaults(Tags)
    {'tags': <class 'list'>}
    """
    if issubclass(cls, tuple):
        return {}
    fields: tuple[Any, ...] = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {f.name: f.default_factory for f in fields if f.default_factory in (list, dict)}


def _inherits(cls: type, method: str, *owners: type) -> bool:
    """Whether a method is the one of a builtin class."""
    return any(getattr(cls, method) is getattr(owner, method) for owner in owners)
