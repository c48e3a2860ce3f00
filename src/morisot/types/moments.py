"""Timestamps and durations as numbers.

A timestamp is an int, which counts milliseconds, or a naive datetime, which counts microseconds. It is stored as that
number, in ticks. Durations are converted to the same unit.
"""

from __future__ import annotations

import datetime
import re
from typing import Any

from morisot.types.element import DATETIME, INT, Type

Duration = datetime.timedelta | str | int
"""A timedelta, a text such as "10s", "1.5 min" or "10 seconds", or an int of milliseconds."""

_EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001 - datetimes of elements have no zone
_MICROSECOND = datetime.timedelta(microseconds=1)
_NAMES = {
    1: "us microsecond microseconds",
    10**3: "ms millisecond milliseconds",
    10**6: "s sec secs second seconds",
    60 * 10**6: "m min mins minute minutes",
    3600 * 10**6: "h hour hours",
    86_400 * 10**6: "d day days",
}
_UNITS = {name: number for number, names in _NAMES.items() for name in names.split()}
_TEXT = re.compile(r"\s*(\d+)(?:\.(\d+))?\s*([a-z]+)\s*")

TICKS_PER_SECOND: dict[Type, int] = {INT: 10**3, DATETIME: 10**6}


def microseconds(duration: Duration) -> int:
    """A duration in microseconds.

    >>> microseconds("1.5s"), microseconds(250), microseconds(datetime.timedelta(minutes=1))
    (1500000, 250000, 60000000)
    >>> microseconds("10 seconds"), microseconds("1 minute")
    (10000000, 60000000)
    """
    match duration:
        case datetime.timedelta():
            return duration // _MICROSECOND
        case bool():
            pass
        case int():
            return duration * 10**3
        case str() if (found := _TEXT.fullmatch(duration.lower())) and found[3] in _UNITS:
            part = found[2] or ""
            number, rest = divmod(int(found[1] + part) * _UNITS[found[3]], int(10 ** len(part)))
            if rest == 0:
                return number
    raise ValueError(
        f"{duration!r} is no duration: give a timedelta, an int of milliseconds, or a text such as '10s', '250ms' or "
        "'2 hours'"
    )


def shown(number: int, time: Type) -> str:
    """A duration of a number of ticks as text, in the largest unit in which it is whole.

    >>> shown(90_000, INT), shown(120_000_000, DATETIME), shown(0, INT)
    ('90s', '2min', '0s')
    """
    length = number * 10**6 // TICKS_PER_SECOND[time]
    units = {86_400 * 10**6: "d", 3600 * 10**6: "h", 60 * 10**6: "min", 10**6: "s", 10**3: "ms", 1: "us"}
    if length == 0:
        return "0s"
    unit = next(unit for unit in units if length % unit == 0)
    return f"{length // unit}{units[unit]}"


def ticks(duration: Duration, time: Type) -> int:
    """A duration in the unit of the timestamps: milliseconds for int, microseconds for datetime.

    >>> ticks("2s", INT), ticks("2s", DATETIME)
    (2000, 2000000)
    """
    whole, rest = divmod(microseconds(duration) * TICKS_PER_SECOND[time], 10**6)
    if rest:
        raise ValueError(f"{duration!r} is not a whole number of milliseconds, the unit of int timestamps")
    return whole


def to_ticks(moment: Any, time: Type) -> int:
    """A timestamp in ticks. A value that is not a timestamp of this type raises TypeError.

    >>> to_ticks(datetime.datetime(1970, 1, 1, 0, 0, 1), DATETIME)
    1000000
    """
    if time == INT and type(moment) is int:
        return moment
    if time == DATETIME and type(moment) is datetime.datetime and moment.tzinfo is None:
        return (moment - _EPOCH) // _MICROSECOND
    if time == DATETIME and type(moment) is datetime.datetime:
        raise TypeError(f"{moment!r} has a time zone, and timestamps have none: remove it with .replace(tzinfo=None)")
    raise TypeError(f"{moment!r} ({type(moment).__name__}) is not a timestamp of the type {time}")


def from_ticks(number: int, time: Type) -> Any:
    """The timestamp of a number of ticks.

    >>> from_ticks(5, INT), from_ticks(1000000, DATETIME)
    (5, datetime.datetime(1970, 1, 1, 0, 0, 1))
    """
    return number if time == INT else _EPOCH + number * _MICROSECOND
