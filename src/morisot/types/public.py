"""Classes of Morisot's that are values of the user's."""

from __future__ import annotations

import typing
from typing import TypeVar

C = TypeVar("C", bound=type)


def public(cls: C) -> C:
    """Let pickles name a class by where users find it, `morisot`, so that its own module may change.

    An object of the user's that Morisot does not look into may hold such a value, and stands in states as it is.
    """
    cls.__annotations__ = typing.get_type_hints(cls, localns={cls.__name__: cls})  # while its module is known
    cls.__module__ = "morisot"
    return cls
