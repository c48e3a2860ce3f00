"""Functions of several parts of an element as functions of the element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.plan.nodes.closure import freeze
from morisot.types.annotations import signature_of
from morisot.types.element import Keyed, Tuple, Type
from morisot.types.infer import return_hint

Function = Callable[..., Any]


def is_pair(type_: Type) -> bool:
    """Whether elements are a key with a pair, as behind a join."""
    return isinstance(type_, Keyed) and isinstance(type_.value, Tuple) and len(type_.value.items) == 2


def takes(function: Any, arguments: int) -> bool:
    """Whether a function can be called with a number of positional arguments."""
    try:
        signature_of(function).bind(*range(arguments))
    except (TypeError, ValueError):
        return False
    return True


def of_sides(function: Function) -> Function:
    """A function of (left, right) as one of (key, (left, right))."""
    called = freeze(function)
    return _like(function, lambda _, pair: called(*pair))


def of_key_and_sides(function: Function, *, frozen: bool = True) -> Function:
    """A function of (key, left, right) as one of (key, (left, right)).

    It is frozen, unless it runs in this process and may change what it captures.
    """
    called = freeze(function) if frozen else function
    return _like(function, lambda key, pair: called(key, *pair))


def _like(function: Function, adapted: Function) -> Function:
    """The adapted function with the name and the declared result of the original."""
    adapted.__name__ = getattr(function, "__name__", type(function).__name__)
    adapted.__annotations__ = return_hint(function)
    return adapted
