"""Tests whether a value has the type that its function declares, as generated code where possible."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from morisot.types.element import ANY, DATETIME, INT, STR, Decimal, Dict, List, Optional, Record, Type
from morisot.types.records import quick_test
from morisot.worker.codec.batches import Dumps, Misfit, class_of, encode
from morisot.worker.codec.numpy_scalars import without_numpy

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class UnfitValue(Exception):  # noqa: N818 - the operator catches it and raises an error with its name
    """A result does not fit the declared type. The reason is the `__cause__`."""


def condition(value: str, type_: Type, names: dict[str, Any]) -> str:
    """A Python expression that tests whether a value fits the type. The names that it uses are added to `names`.

    It is the test that `batches.encode` applies to a whole column.

    >>> condition("e1", Optional(STR), {})
    '(e1 is None or (type(e1) is str and (e1.isascii() or is_text(e1))))'
    """
    return _condition(value, type_, names, (f"p{number}" for number in itertools.count()))


def _condition(value: str, type_: Type, names: dict[str, Any], parts: Iterator[str]) -> str:
    match type_:
        case _ if type_ == ANY or isinstance(type_, Decimal):
            return "True"
        case _ if type_ == INT:
            return f"(type({value}) is int and {_SMALLEST} <= {value} <= {_LARGEST})"
        case _ if type_ == STR:
            names["is_text"] = is_text
            return f"(type({value}) is str and ({value}.isascii() or is_text({value})))"
        case _ if type_ == DATETIME:
            names["datetime"] = datetime.datetime
            return f"(type({value}) is datetime and {value}.tzinfo is None)"
        case Optional(inner):
            return f"({value} is None or {_condition(value, inner, names, parts)})"
        case List(item):
            part = next(parts)
            return f"(type({value}) is list and all({_condition(part, item, names, parts)} for {part} in {value}))"
        case Dict(item):
            key, part = next(parts), next(parts)
            each = f"{_condition(key, STR, names, parts)} and {_condition(part, item, names, parts)}"
            return f"(type({value}) is dict and all({each} for {key}, {part} in {value}.items()))"
    expected = type_.cls if isinstance(type_, Record) else tuple if type_.children else class_of(type_)
    name = f"c{len(names)}"
    names[name] = expected
    tests = [f"type({value}) is {name}"]
    if isinstance(type_, Record):
        tests.append(quick_test(type_.cls, value, names))
    if type_.children and not isinstance(type_, Record):
        tests.append(f"len({value}) == {len(type_.children)}")
    for index, (field, child) in enumerate(type_.children):
        by_name = isinstance(type_, Record) and not type_.is_tuple
        part = f"{value}.{field}" if by_name else f"{value}[{index}]"
        tests.append(_condition(part, child, names, parts))
    return f"({' and '.join(tests)})"


def is_text(value: str) -> bool:
    """Whether a column can hold the text: it cannot hold lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def fitting(type_: Type) -> Callable[[Any], bool]:
    """A function that tests whether a value fits."""
    names: dict[str, Any] = {}
    fits: Callable[[Any], bool] = eval(f"lambda value: {condition('value', type_, names)}", names)
    return fits


def checker(type_: Type, dumps: Dumps, sampled: int = 0) -> Callable[[Any], Any]:
    """A function that returns a value that fits, and raises `UnfitValue` for another one."""
    fits, refuse = fitting(type_), refuser(type_, dumps, sampled)

    def check(value: Any) -> Any:
        return value if fits(value) else refuse(value)

    return check


def refuser(type_: Type, dumps: Dumps, sampled: int = 0) -> Callable[[Any], Any]:
    """A function that raises `UnfitValue` with the reason why a value does not fit.

    A value that fits after numpy scalars in it were converted to Python values is converted and returned.
    """
    fits = fitting(type_)

    def refuse(value: Any) -> Any:
        own = without_numpy(value)
        if own is not value and fits(own):
            return own
        try:
            encode([value], type_, dumps)
        except Exception as error:
            raise UnfitValue from advised(error, sampled)
        raise AssertionError(f"{value!r} was refused although it fits {type_}")

    return refuse


def advised(error: Exception, sampled: int = 0) -> Exception:
    """The reason, with advice for the user. `sampled` is the number of elements that the type was inferred from."""
    if isinstance(error, Misfit) and sampled:
        return TypeError(
            f"{error}; this type is that of the results for the first elements, because the function has no source "
            "text: pass returns= with the type of all results, or returns=object"
        )
    if isinstance(error, Misfit):
        return TypeError(
            f"{error}; correct `returns=` or the return annotation, or pass `returns=object` for any object"
        )
    return error
