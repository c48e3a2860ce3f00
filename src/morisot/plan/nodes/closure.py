"""A user's function, wrapped and frozen: captured values are read once, when the plan is built."""

from __future__ import annotations

import builtins
import contextlib
import dis
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from morisot.errors import Location
from morisot.installed import is_installed
from morisot.types.annotations import portable_annotations
from morisot.types.element import Type

_PROGRAM = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
"""Classes of code objects, as opposed to values."""
_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL"})
"""The instructions that name a global variable, also those of Python 3.12 and newer."""


@dataclass(frozen=True, eq=False)
class Closure:
    """A user's function, its location, and its captured values.

    `function` is a copy whose captured variables and globals no longer change; `original` is the object the user
    passed, for functions that run in the user's own process and are meant to touch it (`for_each`).
    """

    original: Callable[..., Any]
    location: Location
    operator: str
    returns: Type | None = None
    sampled: int = 0
    """The number of elements whose results `returns` is the type of; 0 if the user declared it."""
    function: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", freeze(self.original))

    @property
    def name(self) -> str:
        return getattr(self.original, "__name__", type(self.original).__name__)

    @property
    def captured(self) -> dict[str, Any]:
        """The captured values, by name, without modules, functions and classes."""
        function = self.function
        if not isinstance(function, types.FunctionType) or is_of_library(function):
            return {}
        names = sorted(global_names(function.__code__) & function.__globals__.keys())
        found = {name: function.__globals__[name] for name in names}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # the variable has no value yet
                found[name] = cell.cell_contents
        return {name: value for name, value in found.items() if not isinstance(value, _PROGRAM)}


def freeze(function: Callable[..., Any]) -> Callable[..., Any]:
    """A copy of a Python function with the current values of captured variables; other callables unchanged.

    A function of an installed library is unchanged, too: workers import it.
    """
    if not isinstance(function, types.FunctionType) or is_of_library(function):
        return function
    cells = tuple(_copy_cell(cell) for cell in function.__closure__ or ())
    captured = {
        name: function.__globals__[name] for name in global_names(function.__code__) if name in function.__globals__
    }
    for name in ("__name__", "__package__", "__file__"):
        if name in function.__globals__:
            captured[name] = function.__globals__[name]
    captured["__builtins__"] = function.__globals__.get("__builtins__", builtins)
    copy = types.FunctionType(function.__code__, captured, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = portable_annotations(function)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    copy.__dict__.update(function.__dict__)
    return copy


def is_of_library(function: types.FunctionType) -> bool:
    """Whether a worker can import the function by its name from an installed library."""
    module = sys.modules.get(function.__module__ or "")
    if module is None or "<locals>" in function.__qualname__ or not is_installed(module):
        return False
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _copy_cell(cell: types.CellType) -> types.CellType:
    try:
        return types.CellType(cell.cell_contents)
    except ValueError:  # the variable has no value yet: CPython raises when it is used
        return types.CellType()


def global_names(code: types.CodeType) -> frozenset[str]:
    """The global names that a function and its inner functions may read."""
    names = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in _GLOBAL}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return frozenset(names)
