"""Kernels: generated text over arrays of numbers, which numba compiles once in each process.

Only this module imports numba, and only when a kernel is first run, because the import takes half a second.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import os
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from morisot.types.element import BOOL, FLOAT, INT, List, Optional, Type
from morisot.worker.rowwise import kernel_functions

LeafPath = tuple[int, tuple[int, ...]]
"""The index of a parameter, and the path of a leaf of it."""


@dataclass(frozen=True)
class Kernel:
    """A closure as the text of functions for numba. The last one, `kernel`, takes the leaves in `inputs`."""

    source: str
    inputs: tuple[LeafPath, ...]
    type: Type
    """The type of its result, which follows a True. After a False the row is left to Python."""
    passed: tuple[tuple[int, LeafPath], ...] = ()
    """The leaves of the result that are inputs passed on unchanged. They may be of any type."""


_LIBM = re.compile(r"\bc_(\w+)\(")
_PRIVATE = frozenset({"rint", "floor", "ceil"})
"""Functions of the C library whose results IEEE defines."""


_NO_WRAPPERS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Functions that only other kernels call compile faster without Python wrappers."""


def number_type(type_: Type) -> Type:
    """The type of the numbers in a column of ints, floats or bools, with or without nulls."""
    return type_.inner if isinstance(type_, Optional) else type_


class Unavailable(Exception):  # noqa: N818 - it is caught, and the rows run in Python
    """This process cannot run the kernel exactly."""


@functools.lru_cache(maxsize=256)
def compiled(kernel_sources: tuple[str, ...], loop: str, inputs: tuple[Type, ...], outputs: tuple[Type, ...]) -> Any:
    """The machine code of a loop over kernels, called with (rows, status, *input arrays, *output arrays).

    None if this process cannot run it exactly: then the rows run in Python.
    """
    try:
        return _compiled(kernel_sources, loop, inputs, outputs)
    except Unavailable:
        return None


def _compiled(kernel_sources: tuple[str, ...], loop: str, inputs: tuple[Type, ...], outputs: tuple[Type, ...]) -> Any:
    numba, names = _prelude()
    try:
        for index, source in enumerate(kernel_sources):
            names |= {f"kernel{index}": _functions(numba, names, source)["kernel"]}
        scope = dict(names)
        exec(compile(loop, "<morisot kernels>", "exec"), scope)
        types = numba.types
        kinds: dict[Type, Any] = {INT: types.int64, FLOAT: types.float64, BOOL: types.boolean}
        read = [kind for type_ in inputs for kind in _kinds(type_, kinds)]
        arrays = [types.Array(kind, 1, "C", readonly=True) for kind in read]
        arrays += [types.Array(kinds[number_type(type_)], 1, "C") for type_ in outputs]
        signature = types.void(types.int64, types.Array(types.int16, 1, "C"), *arrays)
        return numba.njit(signature, error_model="numpy")(scope["loop"])
    except numba.core.errors.NumbaError as error:
        raise Unavailable(str(error)) from error


def compiled_text(functions: str, loop: str) -> Any:
    """The machine code of a function `loop` that calls kernels, specialised for the types of its arguments."""
    numba, names = _prelude()
    scope = _functions(numba, names, functions)
    exec(compile(loop, "<morisot kernels>", "exec"), scope)
    return numba.njit(error_model="numpy")(scope["loop"])


def _kinds(type_: Type, kinds: dict[Type, Any]) -> list[Any]:
    """The arrays of a column: one of numbers, or the items of lists and their offsets."""
    return [kinds[type_.item], kinds[INT]] if isinstance(type_, List) else [kinds[number_type(type_)]]


def _functions(numba: Any, names: dict[str, Any], source: str) -> dict[str, Any]:
    """The functions of one kernel. Each may call those before it."""
    scope = dict(names)
    for name in _LIBM.findall(source):
        if f"c_{name}" not in scope:
            scope[f"c_{name}"] = library_function(name)
    for text in re.split(r"(?m)^(?=def )", source):
        if text.strip():
            exec(compile(text, "<morisot kernel>", "exec"), scope)
            name = text[4 : text.index("(")]
            scope[name] = numba.njit(**_NO_WRAPPERS)(scope[name])
    return scope


@functools.cache
def library_function(name: str) -> Any:
    """A function of the C library that this Python process uses, by address.

    A function by name would be optimised: LLVM rewrites `pow(x, 2.0)` to `x * x`, whose last bit differs.
    """
    try:
        found = ctypes.CDLL(None)[name]
    except (AttributeError, OSError) as error:
        raise Unavailable(f"the C library has no {name}") from error
    two = name in ("pow", "fmod", "atan2")
    found.restype = ctypes.c_double
    found.argtypes = [ctypes.c_double] * (2 if two else 1)
    if name not in _PRIVATE and not agrees(getattr(math, name), found, 2 if two else 1):
        raise Unavailable(f"the C library's {name} is not Python's")
    return found


@functools.cache
def _samples() -> tuple[float, ...]:
    """Numbers of all magnitudes, on which functions are compared."""
    chance = random.Random(1)
    small = [chance.uniform(-2.0, 2.0) for _ in range(60)]
    large = [chance.uniform(-1.0, 1.0) * 10.0 ** chance.randint(-12, 12) for _ in range(60)]
    return (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 10.0, 709.0, 1e-300, *small, *large)


def agrees(python: Callable[..., float], library: Callable[..., float], arguments: int) -> bool:
    """Whether both functions return the same bits wherever Python's does not raise."""
    for values in zip(*(_samples()[index * 7 :] for index in range(arguments)), strict=False):
        try:
            expected = python(*values)
        except (ValueError, OverflowError):
            continue
        if expected.hex() != library(*values).hex():
            return False
    return True


@functools.cache
def _runtime() -> tuple[Any, dict[str, Any]]:
    # numba uses SVML for some functions if it is installed; it differs from the C library in the last bit
    os.environ.setdefault("NUMBA_DISABLE_INTEL_SVML", "1")
    numba: Any = importlib.import_module("numba")
    if getattr(numba.config, "USING_SVML", False):
        raise Unavailable("numba uses Intel's SVML, whose last bits differ; set NUMBA_DISABLE_INTEL_SVML=1")
    names: dict[str, Any] = {"INF": math.inf, "NAN": math.nan, "sqrt": math.sqrt, "copysign": math.copysign}
    for name in ("add", "subtract", "multiply"):
        names[name] = _checked(numba, name)
    names |= {f"c_{name}": library_function(name) for name in ("fmod", "floor", "rint")}
    scope = {**names, "math": math}
    for function in kernel_functions.COMPILED:
        body = FunctionType(function.__code__, scope, function.__name__)
        names[function.__name__] = numba.njit(**_NO_WRAPPERS)(body)
    return numba, names


def _prelude() -> tuple[Any, dict[str, Any]]:
    """numba, and the functions that generated text may call."""
    numba, names = _runtime()
    return numba, dict(names)


def _checked(numba: Any, name: str) -> Any:
    """`(a op b, whether it overflowed)` on 64 bits, as one processor instruction."""
    intrinsic = importlib.import_module("numba.extending").intrinsic
    method = {"add": "sadd_with_overflow", "subtract": "ssub_with_overflow", "multiply": "smul_with_overflow"}[name]
    types = numba.types
    signature = types.Tuple((types.int64, types.boolean))(types.int64, types.int64)

    def typed(_: Any, left: Any, right: Any) -> Any:
        if not all(isinstance(side, types.Integer) for side in (left, right)):
            return None

        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            both = getattr(builder, method)(*arguments)
            parts = [builder.extract_value(both, 0), builder.extract_value(both, 1)]
            return context.make_tuple(builder, signature.return_type, parts)

        return signature, build

    return intrinsic(typed)


def loop_source(lines: Sequence[str], arrays: Sequence[str]) -> str:
    """The text of the loop over rows around the lines for one row.

    Status 1: emitted, 2: left to Python, -1 - n: dropped by the step with the number n.
    """
    head = [
        f"def loop(rows, status, {', '.join(arrays)}):",
        "    for i in range(rows):",
        "        if status[i] != 0: continue",
    ]
    return "\n".join([*head, *(f"        {line}" for line in lines), "        status[i] = 1"]) + "\n"
