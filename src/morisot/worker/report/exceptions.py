"""Exceptions as descriptions of names and literals, and their reconstruction.

The description comes from another process. So nothing is imported, and only built-in code runs to reconstruct the
exception: a class is used only if this process has loaded it, and its built-in ancestor initialises the instance.
"""

from __future__ import annotations

import ast
import builtins
import sys
from types import ModuleType
from typing import Any, TypedDict

_LONGEST_LITERAL = 1_000_000


class Described(TypedDict):
    """An exception as JSON values."""

    classes: list[list[str]]
    """The modules and qualified names of its class and base classes, in method resolution order."""
    arguments: list[list[str]]
    """Each argument as a kind, `literal` or `text`, and its text."""
    attributes: dict[str, str]
    """The attributes of the instance that are literals."""


def described(error: BaseException) -> Described:
    """The description of an exception, without objects that exist only in its process."""
    attributes = {name: _literal(value) for name, value in vars(error).items()}
    return {
        "classes": [[each.__module__, each.__qualname__] for each in type(error).__mro__ if each is not object],
        "arguments": [_argument(each) for each in _ancestor(type(error)).__reduce__(error)[1]],
        "attributes": {name: text for name, text in attributes.items() if text is not None},
    }


def _argument(value: Any) -> list[str]:
    literal = _literal(value)
    if literal is not None:
        return ["literal", literal]
    try:
        return ["text", str(value)[:_LONGEST_LITERAL]]
    except Exception:
        return ["text", f"<{type(value).__name__}>"]


def _literal(value: Any) -> str | None:
    """The repr of the value, if evaluating it as a literal gives the same value of the same type."""
    try:
        text = repr(value)
        if len(text) > _LONGEST_LITERAL:
            return None
        read = ast.literal_eval(text)
        return text if type(read) is type(value) and read == value else None
    except Exception:  # a user's __repr__ or __eq__ may raise anything, and the repr may not be a literal
        return None


def rebuilt(description: Described) -> BaseException | None:
    """The exception, of the first class that this process has loaded."""
    arguments = [ast.literal_eval(text) if kind == "literal" else text for kind, text in description["arguments"]]
    for module, name in description["classes"]:
        found = _loaded(module, name)
        made = None if found is None else _made(found, arguments)
        if made is not None:
            attributes = {each: ast.literal_eval(text) for each, text in description["attributes"].items()}
            made.__dict__.update(attributes)
            return made
    return None


def _loaded(module: str, name: str) -> type[BaseException] | None:
    """The exception class of that name. No `__getattr__` is called, because it might import a module."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        if isinstance(found, ModuleType):
            found = object.__getattribute__(found, "__dict__").get(part)
        elif isinstance(found, type):
            found = type.__getattribute__(found, "__dict__").get(part)
        else:
            return None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _made(found: type[BaseException], arguments: list[Any]) -> BaseException | None:
    """An instance, initialised by the built-in ancestor only; None if that does not accept the arguments."""
    ancestor = _ancestor(found)
    try:
        made: BaseException = ancestor.__new__(found, *arguments)
        ancestor.__init__(made, *arguments)
    except Exception:
        return None
    return made


def _ancestor(found: type[BaseException]) -> Any:
    """The first built-in class among the base classes of an exception."""
    return next(each for each in found.__mro__ if getattr(builtins, each.__name__, None) is each)
