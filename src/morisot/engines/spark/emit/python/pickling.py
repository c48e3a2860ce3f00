"""Which of the user's modules travel with their functions, and which the workers import themselves."""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pyspark import cloudpickle

from morisot.errors import PlanError
from morisot.plan.nodes.closure import Closure

_INSTALLED = tuple(
    str(Path(place).resolve())
    for place in {*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_paths()["stdlib"]}
)
_OWN = str(Path(sys.modules[__name__.partition(".")[0]].__path__[0]).resolve())
"""Where Morisot lies: workers import it themselves."""


def carry_by_value(closure: Closure) -> None:
    """Let the modules that a closure refers to travel with it, unless they are installed packages.

    A worker cannot import the user's script, notebook or test file; what those define must be sent.
    """
    for module in _modules_of(closure.original):
        register(module)


def carry_value(value: Any) -> None:
    """Let the classes that a value is made of travel with it, unless they are installed."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        register(type(found).__module__)
        if isinstance(found, dict):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set | frozenset):
            waiting += found
        elif hasattr(found, "__dict__"):
            waiting += vars(found).values()


def check_travels(closure: Closure) -> None:
    """Make a closure ready to travel; refuse one that cannot."""
    carry_by_value(closure)
    try:
        cloudpickle.dumps(closure.function)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise PlanError(
            f"the function given to {closure.operator} ({closure.location}) cannot be sent to the workers: {error}",
            advice="make what it captures inside the function, or pass plain values",
        ) from None


def register(name: str) -> None:
    module = sys.modules.get(name)
    if name == "__main__" or module is None or not is_users(module):
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def is_users(module: ModuleType) -> bool:
    """Whether a module is the user's own: neither installed nor Morisot's."""
    file = getattr(module, "__file__", None)
    if file is None:
        return False
    path = str(Path(file).resolve())
    return not path.startswith((*_INSTALLED, _OWN))


def _modules_of(function: Any) -> Iterator[str]:
    yield getattr(function, "__module__", None) or "__main__"
    if isinstance(function, FunctionType):
        captured = [cell.cell_contents for cell in function.__closure__ or () if _has_value(cell)]
        used = [function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__]
        for value in (*captured, *used):
            if isinstance(value, ModuleType):
                yield value.__name__
            elif isinstance(value, type | FunctionType):
                yield value.__module__


def _has_value(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading is the test
    except ValueError:
        return False
    return True
