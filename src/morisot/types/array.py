"""Arrays of numbers in the state of a loop. They are not elements; only kernels use their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morisot.types.element import BOOL, FLOAT, INT, Product, Record, Tuple, Type
from morisot.types.records import field_names, is_intact, is_record_class, maker

_OF_DTYPE = {"int64": INT, "float64": FLOAT, "bool": BOOL}
_OF_CLASS: dict[type, Type] = {int: INT, float: FLOAT, bool: BOOL}


@dataclass(frozen=True)
class Array(Type):
    """A numpy array of 64-bit ints, 64-bit floats or bools."""

    item: Type
    dims: int

    def __str__(self) -> str:
        return f"array[{self.item}, {self.dims}]"


def of_numbers(value: Any) -> Type | None:
    """The type of a value that consists of numbers and arrays of numbers; None for others."""
    cls: Any = type(value)
    if cls in _OF_CLASS:
        return _OF_CLASS[cls] if cls is not int or -(2**63) <= value < 2**63 else None
    if cls.__module__ == "numpy" and cls.__name__ == "ndarray":
        item = _OF_DTYPE.get(str(value.dtype))
        return Array(item, value.ndim) if item is not None and value.ndim else None
    if cls is tuple and value:
        items = [of_numbers(item) for item in value]
        return None if None in items else Tuple(tuple(item for item in items if item is not None))
    if is_record_class(cls) and is_intact(cls)(value):
        names = field_names(cls)
        items = [of_numbers(getattr(value, name)) for name in names]
        return None if None in items else Record(cls, names, tuple(item for item in items if item is not None))
    return None


def flat(value: Any, type_: Type) -> list[Any] | None:
    """The numbers and arrays of a value, in order; None if it is not of the type."""
    if isinstance(type_, Product):
        return _flat_product(value, type_)
    if isinstance(type_, Array):
        import numpy as np

        return [np.ascontiguousarray(value)] if of_numbers(value) == type_ else None
    return [value] if of_numbers(value) == type_ else None


def _flat_product(value: Any, type_: Product) -> list[Any] | None:
    cls: Any = type_.cls if isinstance(type_, Record) else tuple
    if type(value) is not cls or (cls is tuple and len(value) != len(type_.children)):
        return None
    record = isinstance(type_, Record)
    found: list[Any] = []
    for index, (name, child) in enumerate(type_.children):
        part = flat(getattr(value, name) if record else value[index], child)
        if part is None:
            return None
        found += part
    return found


def rebuilt(leaves: list[Any], type_: Type) -> Any:
    """The value that consists of these numbers and arrays, which are removed from the front of the list."""
    if not isinstance(type_, Product):
        return leaves.pop(0)
    parts = [rebuilt(leaves, child) for _, child in type_.children]
    return maker(type_.cls)(*parts) if isinstance(type_, Record) else tuple(parts)


def own_numbers(value: Any) -> Any:
    """The value with numpy numbers converted to Python numbers, also inside tuples and records."""
    cls: Any = type(value)
    if cls.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return value.item()
    if cls is tuple:
        return tuple(map(own_numbers, value))
    if isinstance(value, tuple) and is_record_class(cls):
        return maker(cls)(*map(own_numbers, value))
    return value
