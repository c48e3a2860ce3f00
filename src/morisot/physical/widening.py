"""Tests whether a wider type has the columns of a narrower one."""

from __future__ import annotations

from morisot.types.element import Keyed, Optional, Tuple, Type


def widens_by_columns(source: Type, target: Type) -> bool:
    """Whether the columns of the wider type are computed from those of the narrower one, without Python."""
    if source == target or (isinstance(target, Optional) and target.inner == source):
        return True
    alike = type(source) is type(target) and isinstance(source, Tuple | Keyed)
    if not alike or len(source.children) != len(target.children):
        return False
    pairs = zip(source.children, target.children, strict=True)
    return all(widens_by_columns(narrow, wide) for (_, narrow), (_, wide) in pairs)
