"""What may be assumed of a record class: that its constructor, fields and comparison are the generated ones."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any


def is_plain_field(cls: type, name: str) -> bool:
    """Whether reading the field gives what was stored: no property or `__getattribute__` in between."""
    if cls.__getattribute__ not in (object.__getattribute__, tuple.__getattribute__):
        return False
    stored = inspect.getattr_static(cls, name, None)
    if issubclass(cls, tuple):
        return type(stored).__name__ == "_tuplegetter"
    return inspect.ismemberdescriptor(stored) or not hasattr(stored, "__get__")


def is_plain_constructor(cls: type) -> bool:
    """Whether calling the class just stores its arguments."""
    if type(cls).__call__ is not type.__call__:
        return False
    if issubclass(cls, tuple):
        return cls.__init__ is object.__init__ and _is_generated(cls.__new__)
    return cls.__new__ is object.__new__ and _is_generated(cls.__init__) and not hasattr(cls, "__post_init__")


def compares_as_tuple(cls: type) -> bool:
    """Whether == compares the fields in order."""
    return cls.__eq__ is tuple.__eq__


def defaults(cls: type) -> dict[str, Any]:
    """The values of the fields that may be left out of the constructor."""
    if issubclass(cls, tuple):
        return dict(getattr(cls, "_field_defaults", {}))
    return {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}


def _is_generated(function: Any) -> bool:
    """NamedTuple and dataclass compile their methods from text of their own."""
    file = getattr(getattr(function, "__code__", None), "co_filename", "")
    return file == "<string>" or file.startswith("<string>") or file.startswith("namedtuple_")
