"""Numpy scalars in elements and keys: they are the Python values that they equal."""

from __future__ import annotations

from typing import Any

from morisot.types.records import field_names, is_record_class, maker

_PLAIN = (bool, int, float, str, bytes)


def is_numpy_scalar(value: Any) -> bool:
    """Whether a value is a number, text or bool of numpy. Arrays, datetimes and wide floats are none."""
    cls: Any = type(value)
    if cls.__module__ != "numpy" or cls.__hash__ is None or cls.__name__.startswith(("datetime", "timedelta")):
        return False
    return hasattr(value, "item") and type(value.item()) in _PLAIN


def without_numpy(value: Any) -> Any:
    """The value with numpy scalars converted to Python values, also inside collections; itself if there are none.

    >>> import numpy as np
    >>> without_numpy((np.int64(1), [np.float64(0.5)], np.str_("a")))
    (1, [0.5], 'a')
    """
    cls: Any = type(value)
    if is_numpy_scalar(value):
        return value.item()
    if cls is tuple or cls is list:
        parts = [without_numpy(part) for part in value]
        return cls(parts) if _changed(parts, value) else value
    if cls is dict:
        items = {without_numpy(key): without_numpy(part) for key, part in value.items()}
        return items if _changed(items, value) or _changed(items.values(), value.values()) else value
    if isinstance(cls, type) and is_record_class(cls):
        fields = [getattr(value, name, None) for name in field_names(cls)]
        parts = [without_numpy(part) for part in fields]
        return maker(cls)(*parts) if _changed(parts, fields) else value
    return value


def _changed(parts: Any, before: Any) -> bool:
    return any(new is not old for new, old in zip(parts, before, strict=True))
