"""Pickling of users' functions: which modules are pickled by value, and which are imported by workers."""

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
    str(Path(directory).resolve())
    for directory in {*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_paths()["stdlib"]}
)
_OWN = str(Path(sys.modules[__name__.partition(".")[0]].__path__[0]).resolve())
"""The directory of Morisot, which workers import."""


_PLAIN = "create the captured objects inside the function, or capture plain values"
# From Python 3.14 on pickling a function evaluates its annotations. Those of the closure itself are copied as text.
_POSTPONE = "a function that it calls has an annotation with this name: import it, or write the annotation as text"


def carry_by_value(closure: Closure) -> None:
    """Registers the modules that a closure refers to for pickling by value, unless they are installed packages.

    A worker cannot import the user's script, notebook or test file. Their definitions must be part of the pickle.
    """
    for module in _modules_of(closure.original):
        register(module)


def carry_value(value: Any) -> None:
    """Registers the modules of the classes in a value for pickling by value, unless they are installed."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        found = pending.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        register(type(found).__module__)
        if isinstance(found, dict):
            pending += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set | frozenset):
            pending += found
        elif hasattr(found, "__dict__"):
            pending += vars(found).values()


def check_travels(closure: Closure) -> None:
    """Prepares a closure for pickling. Raises an error if it cannot be pickled."""
    carry_by_value(closure)
    try:
        cloudpickle.dumps(closure.function)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise PlanError(
            f"the function given to {closure.operator} ({closure.location}) cannot be sent to the workers: {error}",
            advice=_POSTPONE if isinstance(error, NameError) else _PLAIN,
        ) from None


def register(name: str) -> None:
    module = sys.modules.get(name)
    if name == "__main__" or module is None or not is_users(module):
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def is_users(module: ModuleType) -> bool:
    """Whether a module is the user's: neither installed nor Morisot's."""
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
