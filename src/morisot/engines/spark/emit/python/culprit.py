"""The captured variable, or the part of it, that prevents a function from being pickled."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from morisot.engines.spark.emit.python.shipping import Shipping
from morisot.plan.nodes.closure import global_names, is_of_library

_DEEPEST = 5


@dataclass(frozen=True)
class Culprit:
    """A value that cannot be pickled, and how the function refers to it: `lock`, `self.lock`, `cache['lock']`."""

    path: str
    value: Any

    @property
    def advice(self) -> str:
        """What the user can do."""
        name = self.path.partition(" ")[0]
        if "." in name or "[" in name:
            return (
                "assign what the function needs to a variable before, as in `factor = self.factor`, and use the "
                f"variable instead of {name.partition('.')[0].partition('[')[0]}"
            )
        return f"create {name} inside the function, or define it, with the function, in a module that workers import"


def culprit(function: Any, shipping: Shipping) -> Culprit | None:
    """The innermost named value that cannot be pickled."""
    return _search(_captured(function), shipping, 0, {id(function)})


def _search(parts: Iterator[tuple[str, Any]], shipping: Shipping, depth: int, seen: set[int]) -> Culprit | None:
    for path, value in parts:
        if id(value) in seen or _can_be_pickled(value, shipping):
            continue
        seen.add(id(value))
        inner = _search(_parts(path, value), shipping, depth + 1, seen) if depth < _DEEPEST else None
        return inner or Culprit(path, value)
    return None


def _can_be_pickled(value: Any, shipping: Shipping) -> bool:
    try:
        shipping.dumps(value, [])
    except Exception:
        return False
    return True


def _captured(function: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(function, types.MethodType):
        yield "self", function.__self__
    if not isinstance(function, types.FunctionType) or is_of_library(function):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if cell != types.CellType():
            yield name, cell.cell_contents
    for name in sorted(global_names(function.__code__) & function.__globals__.keys()):
        yield name, function.__globals__[name]
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _parts(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a value, with their paths."""
    if isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{path}[{index}]", part) for index, part in enumerate(value))
    elif isinstance(value, types.FunctionType | types.MethodType):
        yield from ((f"{name} in {path}", part) for name, part in _captured(value))
    elif isinstance(value, type):
        methods = [each for each in vars(value).values() if isinstance(each, types.FunctionType)]
        yield from ((f"{name} in {path}.{each.__name__}", part) for each in methods for name, part in _captured(each))
    elif not isinstance(value, types.ModuleType):
        yield from ((f"{path}.{name}", part) for name, part in getattr(value, "__dict__", {}).items())
        yield type(value).__name__, type(value)
