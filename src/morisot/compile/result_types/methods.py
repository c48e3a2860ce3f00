"""The result types of the methods and attributes of values of known types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from morisot.compile.result_types.builtin_functions import FUNCTIONS as BUILTINS
from morisot.compile.result_types.domain import (
    DELTA,
    MOMENT,
    NUMBER,
    WIDE,
    Instance,
    Items,
    Mapping,
    Matched,
    join,
    join_all,
)
from morisot.compile.result_types.library_functions import DIGEST, FRACTION, URL, UUID
from morisot.compile.result_types.library_functions import FUNCTIONS as LIBRARY
from morisot.compile.result_types.rows import ResultRow, TypedCall
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Decimal,
    List,
    Optional,
    Tuple,
    Type,
)
from morisot.types.infer import without_none

FUNCTIONS: dict[Any, ResultRow] = {**BUILTINS, **LIBRARY}
"""All functions of the table."""

_UTF8 = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "iso-8859-1", "cp1252"})
_ERRORS = frozenset({"strict", "ignore", "replace", "backslashreplace"})
_HIDING = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})


def _rows(
    result: Type | Callable[[TypedCall], Type], names: str, keywords: str = "", **flags: bool
) -> dict[str, ResultRow]:
    return dict.fromkeys(names.split(), ResultRow(result, frozenset(keywords.split()), **flags))


def _decoded(call: TypedCall) -> Type:
    """`bytes.decode`. Other codecs and error handlers may give text that no column holds."""
    given = [*call.arguments[1:], *call.keywords.values()]
    constants = [getattr(each, "object", None) for each in given]
    known = all(isinstance(each, str) and each.lower() in _UTF8 | _ERRORS for each in constants)
    return STR if known else ANY


def _same(call: TypedCall) -> Type:
    return without_none(call.types[0])


def _value(call: TypedCall) -> Type:
    """`dict.get`, `pop` and `setdefault`: a value, or the default."""
    owner = without_none(call.types[0])
    assert isinstance(owner, Mapping)
    default = call.types[2] if len(call.types) > 2 else NONE
    return join(owner.value, default)


def _part(which: str) -> Callable[[TypedCall], Type]:
    def rule(call: TypedCall) -> Type:
        owner = without_none(call.types[0])
        assert isinstance(owner, Mapping)
        pair = Tuple((owner.key, owner.value))
        return Items(object, {"keys": owner.key, "values": owner.value, "items": pair}[which])

    return rule


def _common(call: TypedCall) -> Type:
    owner = without_none(call.types[0])
    assert isinstance(owner, Mapping)
    return List(Tuple((owner.key, INT)))


def _group(call: TypedCall) -> Type:
    """`match.group(…)`. A group that does not take part is None; group 0 always takes part."""
    if len(call.arguments) > 2:
        return Tuple((Optional(STR),) * (len(call.arguments) - 1))
    return STR if len(call.arguments) == 1 or call.constant(1) == 0 else Optional(STR)


def _groups(call: TypedCall) -> Type:
    owner = without_none(call.types[0])
    assert isinstance(owner, Matched)
    item = join_all([STR, *(call.types[1:] or [NONE])])
    return Tuple((item,) * owner.groups)


def _replaced(call: TypedCall) -> Type:
    """`replace` of dates and times keeps the type, unless it sets the time zone or the fold."""
    owner = without_none(call.types[0])
    zoned = len(call.arguments) > 8 or not set(call.keywords) <= _HIDING
    return MOMENT if zoned and owner == DATETIME else owner


def _united(call: TypedCall) -> Type:
    owner = without_none(call.types[0])
    assert isinstance(owner, Items)
    inner = [each.item if isinstance(each, List | Items) else ANY for each in call.types[1:]]
    return Items(owner.cls, join_all([owner.item, *inner]))


_TEXT_TESTS = (
    "isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper"
)
_NUMBER = {**_rows(Tuple((INT, INT)), "as_integer_ratio"), **_rows(_same, "conjugate")}
_DATE = {
    **_rows(STR, "isoformat strftime ctime __str__ __format__", "sep timespec"),
    **_rows(INT, "weekday isoweekday toordinal"),
    **_rows(_replaced, "replace", " ".join(_HIDING | {"tzinfo", "fold"})),
}
_MOMENT = {**_DATE, **_rows(FLOAT, "timestamp"), **_rows(DATE, "date"), **_rows(Instance(dt.time), "time")}
_SET = {
    **_rows(_united, "union symmetric_difference"),
    **_rows(_same, "intersection difference copy"),
    **_rows(BOOL, "issubset issuperset isdisjoint"),
}

METHODS: dict[Any, dict[str, ResultRow]] = {
    STR: {
        **_rows(STR, "capitalize casefold center expandtabs ljust lower lstrip removeprefix removesuffix replace", ""),
        **_rows(STR, "rjust rstrip strip swapcase title translate upper zfill", ""),
        **_rows(STR, "join format_map", of_objects=True),
        "format": ResultRow(STR, of_objects=True),
        **_rows(INT, "count find index rfind rindex"),
        **_rows(BOOL, f"startswith endswith {_TEXT_TESTS}"),
        **_rows(BYTES, "encode", "encoding errors"),
        **_rows(Tuple((STR, STR, STR)), "partition rpartition"),
        **_rows(List(STR), "split rsplit splitlines", "sep maxsplit keepends"),
    },
    BYTES: {
        "decode": ResultRow(_decoded, frozenset({"encoding", "errors"})),
        **_rows(STR, "hex"),
        **_rows(BYTES, "lower upper strip lstrip rstrip replace title capitalize removeprefix removesuffix"),
        **_rows(BYTES, "center ljust rjust zfill"),
        **_rows(INT, "count find index rfind rindex"),
        **_rows(BOOL, "startswith endswith isdigit isalpha isalnum isspace"),
        **_rows(List(BYTES), "split rsplit splitlines"),
        **_rows(Tuple((BYTES, BYTES, BYTES)), "partition rpartition"),
    },
    INT: {**_rows(INT, "bit_length bit_count"), **_rows(BYTES, "to_bytes", "signed"), **_rows(_same, "conjugate")},
    FLOAT: {**_rows(STR, "hex"), **_rows(BOOL, "is_integer"), **_rows(FLOAT, "conjugate")},
    DATE: _DATE,
    DATETIME: _MOMENT,
    MOMENT: _MOMENT,
    DELTA: _rows(FLOAT, "total_seconds"),
    NUMBER: {
        **_rows(NUMBER, "quantize normalize copy_abs sqrt ln log10 exp", "rounding"),
        **_rows(BOOL, "is_nan is_infinite is_finite is_zero is_signed"),
    },
    FRACTION: _rows(FRACTION, "limit_denominator"),
    DIGEST: {**_rows(STR, "hexdigest"), **_rows(BYTES, "digest")},
    URL: _rows(STR, "geturl"),
    Instance(dt.time): _rows(STR, "isoformat strftime", "timespec"),
    List: {
        **_rows(INT, "count index"),
        **_rows(_same, "copy", only_moves=True),
    },
    Tuple: _rows(INT, "count index"),
    Mapping: {
        **_rows(_value, "get", only_moves=True),
        "keys": ResultRow(_part("keys"), only_moves=True),
        "values": ResultRow(_part("values"), only_moves=True),
        "items": ResultRow(_part("items"), only_moves=True),
        **_rows(_same, "copy", only_moves=True),
        "most_common": ResultRow(_common),
    },
    set: _SET,
    frozenset: _SET,
    Matched: {
        **_rows(_group, "group"),
        **_rows(_groups, "groups"),
        **_rows(INT, "start end"),
        **_rows(Tuple((INT, INT)), "span"),
        **_rows(Mapping(STR, Optional(STR)), "groupdict"),
        **_rows(STR, "expand"),
    },
}
"""The methods of values, by their type or its class. None of them changes the value in place."""

ATTRIBUTES: dict[Any, dict[str, Type]] = {
    DATE: dict.fromkeys(("year", "month", "day"), INT),
    DATETIME: dict.fromkeys((*_HIDING, "fold"), INT),
    MOMENT: dict.fromkeys((*_HIDING, "fold"), INT),
    Instance(dt.time): dict.fromkeys(("hour", "minute", "second", "microsecond"), INT),
    DELTA: dict.fromkeys(("days", "seconds", "microseconds"), INT),
    UUID: {"hex": STR, "urn": STR, "int": WIDE, "bytes": BYTES},
    URL: {**dict.fromkeys(("scheme", "netloc", "path", "params", "query", "fragment"), STR), "hostname": Optional(STR)},
    FRACTION: {"numerator": WIDE, "denominator": WIDE},
    INT: {"real": INT, "imag": INT, "numerator": INT, "denominator": INT},
    FLOAT: {"real": FLOAT, "imag": FLOAT},
    DIGEST: {"name": STR, "digest_size": INT, "block_size": INT},
}
"""The attributes of values that are no methods."""


def kind_of(type_: Type) -> Any:
    """The type under which the methods of a value are listed."""
    type_ = without_none(type_)
    if isinstance(type_, Decimal):
        return NUMBER
    if isinstance(type_, Items):
        return type_.cls
    return type(type_) if isinstance(type_, List | Tuple | Mapping | Matched) else type_
