"""Tests whether a wider type has the columns of a narrower one."""

from __future__ import annotations

from morisot.types.element import Keyed, Optional, Record, Tuple, Type
from morisot.types.infer import without_none


def widens_by_columns(source: Type, target: Type) -> bool:
    """Whether the columns of the wider type are computed from those of the narrower one, without Python."""
    if source == target:
        return True
    if isinstance(target, Optional):
        return widens_by_columns(without_none(source), target.inner)
    if type(source) is not type(target) or len(source.children) != len(target.children):
        return False
    if isinstance(source, Record) and isinstance(target, Record):
        alike = source.cls is target.cls
    else:
        alike = isinstance(source, Tuple | Keyed)
    if not alike:
        return False
    pairs = zip(source.children, target.children, strict=True)
    return all(widens_by_columns(narrow, wide) for (_, narrow), (_, wide) in pairs)
