"""Calls of public methods: their arguments are checked, and their errors have short tracebacks."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import reprlib
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from morisot.api.location import caller
from morisot.errors import MorisotError, PlanError
from morisot.tracebacks import shorten
from morisot.types.element import Type

__tracebackhide__ = True
"""pytest shows no frame of this module."""

C = TypeVar("C", bound=type)


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike) and isinstance(os.fspath(value), str) and os.fspath(value) != ""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(each, str) for each in value)


def _is_type(value: Any) -> bool:
    """Whether a value can be the type of elements: a class, a generic type, a union, None, or a type of Morisot."""
    if value is None or value is Any or isinstance(value, type | Type | TypeVar | typing.NewType):
        return True
    return typing.get_origin(value) is not None


def _is_from(library: str, value: Any) -> bool:
    return any(cls.__module__.partition(".")[0] == library for cls in type(value).__mro__)


Kind = tuple[Callable[[Any], bool], str]
Kinds = dict[str, Kind]

_ANY: Kind = (lambda _: True, "")
_TEXT: Kind = (lambda value: isinstance(value, str), "a text")

_WANTED: Kinds = {
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "PathLike": (_is_path, "a path: a text or a pathlib.Path"),
    "str | Path": (_is_path, "a path: a text or a pathlib.Path"),
    "str | Path | None": (lambda value: value is None or _is_path(value), "a path: a text or a pathlib.Path"),
    "WriteMode": (lambda value: value in ("error", "overwrite", "append"), "'error', 'overwrite' or 'append'"),
    "Mapping[str, Any] | None": (lambda value: value is None or isinstance(value, Mapping), "a dict of settings"),
    "pyarrow.Table": (lambda value: _is_from("pyarrow", value) and hasattr(value, "schema"), "a table of pyarrow"),
    "returns: Any": (_is_type, "a type, such as int, tuple[str, int] or a record class"),
    "label: str": _TEXT,
    "delimiter: str": (lambda value: isinstance(value, str) and len(value) == 1, "one character"),
    "quote: str": (lambda value: isinstance(value, str) and len(value) <= 1, "one character, or '' for none"),
    "Sequence[str] | None": (lambda value: value is None or _is_texts(value), "a list of texts"),
    "float | None": (lambda value: value is None or _is_number(value), "a number of seconds"),
}
"""The kinds of arguments by the text of their annotations (or by name and annotation), and what to say about others.

Methods check other arguments themselves, because they know more about them.
"""
_WANTED_AFTER_FAILURE: Kinds = {
    "int": (lambda value: type(value) is int, "a whole number"),
    "str": _TEXT,
}
"""Kinds that are looked at if the method failed: its own checks say more."""


def public(*internal: str) -> Callable[[C], C]:
    """Makes a class part of the public API: its public methods are checked, and `dir` lists only public names.

    `internal` has the names that other modules of Morisot use and users do not.
    """

    def decorate(cls: C) -> C:
        for name in dir(cls):
            if not name.startswith("_") and name not in internal:
                found = inspect.getattr_static(cls, name)
                if inspect.isfunction(found):
                    setattr(cls, name, checked(found))
                elif isinstance(found, classmethod | staticmethod):
                    setattr(cls, name, type(found)(checked(found.__func__)))
        setattr(cls, "__dir__", lambda self: list(completions(self, internal)))  # noqa: B010 - mypy knows no other way
        return cls

    return decorate


def completions(instance: object, internal: tuple[str, ...]) -> Iterator[str]:
    """The public names of an object, and those that every object has."""
    for name in object.__dir__(instance):
        special = name.startswith("__") and name.endswith("__")
        if special or not (name.startswith("_") or name in internal):
            yield name


def checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with a check of its arguments, and without Morisot's frames in the tracebacks of its errors."""

    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        try:
            check_arguments(method, args, named)
            try:
                return method(*args, **named)
            except (TypeError, AttributeError, ValueError):
                check_kinds(method, _WANTED_AFTER_FAILURE, args, named)
                raise
        except MorisotError as error:
            if isinstance(error, PlanError):
                error.locate(caller())
            shorten(error)
            raise

    return call


@functools.cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(method)


def check_arguments(method: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raises an error for arguments that the method does not take, and for arguments of the wrong kind."""
    signature = _signature(method)
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        said, advice = _misuse(signature, named, error)
        usage = f"{advice}call it as {method.__name__}{_without_types(signature)}"
        raise PlanError(f"{method.__name__}: {said}", location=caller(), advice=usage) from None
    check_kinds(method, _WANTED, args, named)


def check_kinds(method: Callable[..., Any], kinds: Kinds, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raises an error for an argument that is not of the kind that its annotation says."""
    signature = _signature(method)
    for name, value in signature.bind(*args, **named).arguments.items():
        annotation = str(signature.parameters[name].annotation)
        fits, wanted = kinds.get(f"{name}: {annotation}") or kinds.get(annotation) or _ANY
        if not fits(value):
            raise PlanError(
                f"{method.__name__}: {name} is {reprlib.repr(value)}", location=caller(), advice=f"give {wanted}"
            ) from None


def _misuse(signature: inspect.Signature, named: dict[str, Any], error: TypeError) -> tuple[str, str]:
    """What is wrong with the arguments of a call, and which parameter may have been meant."""
    known = [name for name in signature.parameters if name != "self"]
    unknown = [name for name in named if name not in known]
    if any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()) or not unknown:
        return str(error).replace("missing a required argument", "an argument is missing"), ""
    similar = difflib.get_close_matches(unknown[0], known, n=1)
    return f"it has no parameter {unknown[0]!r}", f"did you mean {similar[0]}? " if similar else ""


def _without_types(signature: inspect.Signature) -> inspect.Signature:
    plain = [
        one.replace(annotation=one.empty) for name, one in signature.parameters.items() if name not in ("self", "cls")
    ]
    return inspect.Signature(plain)
