"""Pickling of users' functions: which modules are pickled by value, and which are imported by workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from pyspark import cloudpickle

from morisot.engines.spark.emit.python.culprit import Culprit, culprit
from morisot.engines.spark.emit.python.shipping import current_shipping, is_only_in_program
from morisot.errors import PlanError
from morisot.installed import is_users
from morisot.plan.nodes.closure import Closure

# From Python 3.14 on pickling a function evaluates its annotations. Those of the closure itself are copied as text.
_POSTPONE = "a function that it calls has an annotation with this name: import it, or write the annotation as text"


_READ = "read what the function needs into a variable before, and capture the variable"
_PLAIN = "create the captured objects inside the function, or capture plain values"


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
    """Prepares a closure for pickling. Raises an error that names the variable if it cannot be pickled."""
    carry_by_value(closure)
    shipping = current_shipping()
    shipping.share_large(closure)
    for name, value in closure.captured.items():
        if is_only_in_program(value):
            raise _refused(closure, Culprit(name, value), "it exists only in the program", _READ)
    try:
        shipping.dumps(closure.function, [])
    except Exception as error:
        found = culprit(closure.function, shipping)
        if isinstance(error, NameError) or found is None:
            raise _refused(closure, None, str(error), _POSTPONE if isinstance(error, NameError) else _PLAIN) from None
        raise _refused(closure, found, str(error)) from None


def _refused(closure: Closure, found: Culprit | None, why: str, advice: str = "") -> PlanError:
    captured = "" if found is None else f"it captures {found.path} ({type(found.value).__name__}): "
    return PlanError(
        f"the function given to {closure.operator} cannot be sent to the workers: {captured}{why}",
        location=closure.location,
        advice=advice or (found.advice if found else _PLAIN),
    )


def register(name: str) -> None:
    module = sys.modules.get(name)
    if name == "__main__" or module is None or not is_users(module):
        return
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


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
