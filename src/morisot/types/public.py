"""Morisot classes whose instances are users' values."""

from __future__ import annotations

import typing
from typing import TypeVar

C = TypeVar("C", bound=type)


def public(cls: C) -> C:
    """Lets pickles refer to a class by the module `morisot`, so that the module that defines it may change.

    A user's object may contain such a value, and is pickled unchanged in states.
    """
    cls.__annotations__ = typing.get_type_hints(cls, localns={cls.__name__: cls})  # before the module is changed
    cls.__module__ = "morisot"
    return cls
