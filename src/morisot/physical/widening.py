"""Which types hold the values of another one in columns that are made of its own."""

from __future__ import annotations

from morisot.types.element import Keyed, Optional, Tuple, Type


def widens_by_columns(source: Type, target: Type) -> bool:
    """Whether the columns of a wider type are those of the narrower one, so that no element is made in Python."""
    if source == target or (isinstance(target, Optional) and target.inner == source):
        return True
    alike = type(source) is type(target) and isinstance(source, Tuple | Keyed)
    if not alike or len(source.children) != len(target.children):
        return False
    pairs = zip(source.children, target.children, strict=True)
    return all(widens_by_columns(narrow, wide) for (_, narrow), (_, wide) in pairs)
