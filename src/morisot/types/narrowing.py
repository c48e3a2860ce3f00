"""Types of values of which some parts are known not to be None."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from morisot.types.element import Keyed, Record, Tuple, Type, leaves
from morisot.types.infer import without_none

Path = tuple[int, ...]
"""A part of a value: the position of a child of its type, then of a child of that, and so on."""


def narrowed(type_: Type, parts: Iterable[Path]) -> Type:
    """The type of the values of which the given parts are not None.

    >>> from morisot.types.element import INT, STR, Optional
    >>> str(narrowed(Tuple((Optional(STR), Optional(INT))), [(1,)]))
    'tuple[str | None, int]'
    """
    for path in parts:
        type_ = _narrowed(type_, path)
    return type_


def _narrowed(type_: Type, path: Path) -> Type:
    """A value with a part that is not None is not None itself."""
    inner = without_none(type_)
    if not path:
        return inner
    index, *rest = path
    _, child = inner.children[index]
    return _with_child(inner, index, _narrowed(child, tuple(rest)))


def _with_child(type_: Type, index: int, child: Type) -> Type:
    children = [child if position == index else each for position, (_, each) in enumerate(type_.children)]
    match type_:
        case Tuple():
            return Tuple(tuple(children))
        case Record():
            return dataclasses.replace(type_, items=tuple(children))
        case Keyed():
            return Keyed(*children)
    raise AssertionError(f"{type_} has no part {index}")


def has_same_columns(left: Type, right: Type) -> bool:
    """Whether elements of a type and of a narrower one have the same columns. An optional product is one column."""
    return [leaf.path for leaf in leaves(left)] == [leaf.path for leaf in leaves(right)]
