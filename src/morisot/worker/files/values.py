"""Values of CSV fields and JSON objects as values of element types: the rules of the table in docs/guide/files.md."""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    STR,
    Dict,
    List,
    Optional,
    Record,
    Tuple,
    Type,
)
from morisot.types.records import column_names, maker
from morisot.worker.files.format import RowMisfit

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")
_ZONE = re.compile(r".*[0-9](?:Z|z|[+-][0-9]{2}:?[0-9]{2})")
_JSON_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_LONGEST_INT = 25


class _Quoted(str):
    """A text that is distinguished from another one by its identity."""

    __slots__ = ()


QUOTED_EMPTY = _Quoted()
"""A field with nothing between its quotes. For `str | None` it is '', while an empty field without quotes is None."""


def from_text(text: str, type_: Type) -> Any:
    """The value of a CSV field. An empty field is None or ''."""
    if isinstance(type_, Optional):
        if text == "":
            return "" if text is QUOTED_EMPTY and type_.inner == STR else None
        return from_text(text, type_.inner)
    if type_ == STR:
        return text or ""
    if text == "":
        raise RowMisfit(f"the field is empty, and its type is {type_}", remedy=f"declare the field as {type_} | None")
    if type_ == INT and _INT.fullmatch(text):
        return _in_64_bits(int(text) if len(text) < _LONGEST_INT else 2**64, text)
    if type_ == FLOAT and _FLOAT.fullmatch(text):
        return float(text)
    if type_ == BOOL and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if type_ in (DATE, DATETIME):
        return _moment(text, type_)
    raise _unlike(text, type_)


def _moment(text: str, type_: Type) -> datetime.date | datetime.datetime:
    """A date or a datetime in ISO notation, without a time zone."""
    try:
        if type_ == DATE and _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text)
        if type_ == DATETIME and _DATETIME.fullmatch(text):
            return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise _unlike(text, type_) from None
    if type_ == DATETIME and _ZONE.fullmatch(text):
        raise RowMisfit(
            f"{text!r} has a time zone, and a datetime element has none",
            remedy="declare the field as str, and convert it in a function",
        )
    shape = "2024-12-31" if type_ == DATE else "2024-12-31 23:59:59"
    raise RowMisfit(
        f"{text!r} is not of the type {type_}", remedy=f"write it like {shape}, or declare the field as str"
    )


def _in_64_bits(value: int, text: object) -> int:
    if not -(2**63) <= value < 2**63:
        raise RowMisfit(f"{text!s:.50} is beyond 64 bits, the range of an int", remedy="declare the field as str")
    return value


def _unlike(value: object, type_: Type) -> RowMisfit:
    shown = repr(value)
    return RowMisfit(
        f"{shown if len(shown) < 200 else shown[:200] + '…'} is not of the type {type_}",
        remedy="correct the value, or declare another type for the field",
    )


class Valued(NamedTuple):
    """A JSON value with its text in the file. The items of arrays and objects are also of this class."""

    value: Any
    text: str


class NeedsText(Exception):  # noqa: N818 - the object is then parsed again
    """A str field has a value that is no string: its value is the text in the file."""


def from_json(value: Any, type_: Type) -> Any:
    """The value of an element type for a JSON value, or for a `Valued`."""
    text = None
    if isinstance(value, Valued):
        value, text = value
    match type_, value:
        case Optional(inner), _:
            return None if value is None else from_json(value if text is None else Valued(value, text), inner)
        case List(item), list():
            return [_item(each, item, f"[{index}]") for index, each in enumerate(value)]
        case Dict(item), dict():
            return {key: _item(each, item, f"[{key!r}]") for key, each in value.items()}
        case Record(), dict():
            return record_of(value, type_)
        case Tuple(items), dict():
            return tuple(_item(value.get(f"_{index}"), item, f"_{index}") for index, item in enumerate(items))
    return _plain(value, text, type_)


def _plain(value: Any, text: str | None, type_: Type) -> Any:
    match value:
        case None:
            raise RowMisfit(
                f"there is no value, and the type is {type_}", remedy=f"declare the field as {type_} | None"
            )
        case str() if type_ == STR:
            return _encodable(value)
        case _ if type_ == STR:
            if text is None:
                raise NeedsText
            return text
        case str() if type_ in (DATE, DATETIME):
            return _moment(value, type_)
        case str() if type_ == FLOAT and value in _JSON_FLOATS:
            return _JSON_FLOATS[value]
        case str() if type_ == BYTES:
            return _from_base64(value)
        case bool() if type_ == BOOL:
            return value
        case int() | float() if type_ == FLOAT and not isinstance(value, bool):
            return _as_float(value)
        case int() if type_ == INT and not isinstance(value, bool):
            return _in_64_bits(value, value)
    raise _unlike(_values(value), type_)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RowMisfit(f"{text!r:.200} is not Base64, the notation of bytes in JSON") from None


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RowMisfit(f"{text!r:.200} has half of a surrogate pair, which is no character") from None
    return text


def _item(value: Any, type_: Type, name: str) -> Any:
    try:
        return from_json(value, type_)
    except RowMisfit as misfit:
        raise misfit.of_field(name) from None


def record_of(found: Mapping[str, Any], type_: Record) -> Any:
    """The record of a JSON object. A field that is not there is None."""
    fields = zip(column_names(type_.cls), type_.items, strict=True)
    return maker(type_.cls)(*(_item(found.get(name), item, name) for name, item in fields))


def _values(value: Any) -> Any:
    """A value without the texts."""
    match value:
        case Valued():
            return _values(value.value)
        case list():
            return [_values(each) for each in value]
        case dict():
            return {key: _values(each) for key, each in value.items()}
    return value


_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")


def with_text(text: str, at: int = 0) -> tuple[Valued, int]:
    """The JSON value at a position of valid JSON, with the text of each part, and the position after it."""
    start = at
    if text[at] not in "[{":
        value, end = _DECODER.raw_decode(text, at)
        return Valued(value, text[start:end]), end
    closing = "]" if text[at] == "[" else "}"
    items: list[tuple[str, Valued]] = []
    at = _after_space(text, at + 1)
    while text[at] != closing:
        name = ""
        if closing == "}":
            name, at = _DECODER.raw_decode(text, at)
            at = _after_space(text, _after_space(text, at) + 1)
        each, at = with_text(text, at)
        items.append((name, each))
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    value = dict(items) if closing == "}" else [each for _, each in items]
    return Valued(value, text[start : at + 1]), at + 1


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
