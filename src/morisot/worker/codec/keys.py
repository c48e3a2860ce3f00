"""The identity of keys: two keys are the same if they are equal in Python, also in different processes."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import uuid
from typing import Any

from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Optional,
    Record,
    Tuple,
    Type,
    contains_any,
    leaves,
)
from morisot.types.records import maker
from morisot.worker.codec.numpy_scalars import is_numpy_scalar


class UnstableKey(TypeError):  # noqa: N818 - the name describes the key; it is a TypeError
    """A key whose equality is defined only inside one process."""


def canonical(key: Any) -> bytes:
    """Bytes that are the same for equal keys and different for others.

    Follows Python's equality (1 == 1.0 == True, a NamedTuple equals its tuple), with one exception: NaN is one key,
    because NaN objects have no identity in a stream.

    >>> canonical((1, "a")) == canonical((True, "a")) != canonical((1, b"a"))
    True
    """
    match key:
        case None:
            return b"N"
        case bool() | int() | float() | decimal.Decimal() | fractions.Fraction():
            return _number(key)
        case str():
            return _sized(b"s", key.encode("utf-8", "surrogatepass"))
        case bytes():
            return _sized(b"b", key)
        case enum.Enum():  # after the plain values: a `str` Enum equals its text
            return _of_class(b"E", type(key), key.name)
        case tuple():
            return _sized(b"t", b"".join(map(canonical, key)))
        case frozenset():
            return _sized(b"f", b"".join(sorted(map(canonical, key))))
        case datetime.datetime() | datetime.date() | datetime.time() | datetime.timedelta() | uuid.UUID():
            return _of_class(b"d", type(key), _moment(key))
    if is_numpy_scalar(key):
        return canonical(key.item())
    if dataclasses.is_dataclass(key) and type(key).__hash__ not in (None, object.__hash__):
        parts = tuple(getattr(key, field.name) for field in dataclasses.fields(key) if field.compare)
        return _of_class(b"D", type(key), parts)
    hash(key)  # an unhashable key raises what Python raises
    raise UnstableKey(
        f"{type(key).__name__} cannot be a key: its equality is not known outside one process; "
        "use a tuple, a frozen dataclass or a plain value of it"
    )


def _number(key: Any) -> bytes:
    if key != key:  # noqa: PLR0124 - so NaN is found in every kind of number
        return b"n"
    if isinstance(key, float) and key in (float("inf"), float("-inf")):
        return b"+" if key > 0 else b"-"
    numerator, denominator = key.as_integer_ratio()
    return _sized(b"i", b"%d/%d" % (numerator, denominator))


def _moment(key: Any) -> Any:
    if isinstance(key, datetime.datetime) and key.tzinfo is not None:
        return ("utc", key.astimezone(datetime.UTC).replace(tzinfo=None).isoformat())
    return str(key)


def _of_class(kind: bytes, cls: type, content: Any) -> bytes:
    return _sized(kind, f"{cls.__module__}.{cls.__qualname__}:".encode() + canonical(content))


def _sized(kind: bytes, content: bytes) -> bytes:
    return kind + str(len(content)).encode() + b":" + content


def is_its_own_identity(type_: Type) -> bool:
    """Whether keys of the type are compared by Python's equality. It is not so for types that may contain NaN."""
    return not contains_any(type_) and all(_is_plain(leaf.type) for leaf in leaves(type_))


def _is_plain(type_: Type) -> bool:
    return type_ in (INT, STR, BOOL, BYTES, DATE, DATETIME) or (isinstance(type_, Optional) and _is_plain(type_.inner))


# -- back to keys -----------------------------------------------------------------------------------------------------


def original(identity: bytes, type_: Type) -> Any:
    """The key with an identity. Equal keys have one identity, so the type of the key determines which one it was.

    Objects of users' classes stay bytes, because an identity has only their names.

    >>> original(canonical((1, "a", None)), Tuple((BOOL, STR, Optional(INT))))
    (True, 'a', None)
    """
    try:
        key, rest = _read(identity)
    except ValueError:
        return identity
    return identity if rest else _typed(key, type_)


def _read(content: bytes) -> tuple[Any, bytes]:
    """The first key of some bytes, and the other bytes."""
    kind, rest = content[:1], content[1:]
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], rest
    size, _, after = rest.partition(b":")
    inner, rest = after[: int(size)], after[int(size) :]
    match kind:
        case b"s":
            return inner.decode("utf-8", "surrogatepass"), rest
        case b"b":
            return inner, rest
        case b"i":
            return _ratio(*map(int, inner.split(b"/"))), rest
        case b"t" | b"f":
            items = []
            while inner:
                item, inner = _read(inner)
                items.append(item)
            return (tuple(items) if kind == b"t" else frozenset(items)), rest
        case b"d":
            name, _, written = inner.partition(b":")
            return _moment_of(name.decode(), _read(written)[0]), rest
    raise ValueError(content)


def _ratio(numerator: int, denominator: int) -> Any:
    return numerator if denominator == 1 else numerator / denominator


def _moment_of(name: str, written: Any) -> Any:
    """A date or datetime. Other classes stay as they are written."""
    if name == "datetime.datetime" and isinstance(written, tuple):
        return datetime.datetime.fromisoformat(written[1]).replace(tzinfo=datetime.UTC)
    if name in ("datetime.datetime", "datetime.date"):
        return getattr(datetime, name.partition(".")[2]).fromisoformat(written)
    return written


_CONSTANTS = {b"N": None, b"n": float("nan"), b"+": float("inf"), b"-": float("-inf")}


def _typed(key: Any, type_: Type) -> Any:
    match type_:
        case _ if key is None:
            return None
        case Optional(inner):
            return _typed(key, inner)
        case Tuple(items):
            return tuple(map(_typed, key, items))
        case Record() if isinstance(key, tuple):
            return maker(type_.cls)(*map(_typed, key, type_.items))
    classes = {BOOL: bool, FLOAT: float}
    return classes[type_](key) if type_ in classes else key
