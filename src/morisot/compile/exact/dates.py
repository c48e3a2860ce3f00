"""Exact forms of dates and times. A timedelta is the number of its microseconds, since no column holds one."""

from __future__ import annotations

import datetime as dt
import locale

from morisot.compile.exact.forms import Form, call, checked, guard, integer, number, text
from morisot.compile.ir.expressions import Expr, Literal, Raise
from morisot.compile.ir.values import TRUE, conjunction, when
from morisot.types.element import DATE, DATETIME

DAY = 86_400_000_000
SECOND = 1_000_000
_LONGEST = 3_652_058
"""The days from 0001-01-01 to 9999-12-31, the range of Python's dates. Spark's range is larger."""

_FIRST, _LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901 - columns of times are naive
_FIRST_DAY, _LAST_DAY = dt.date.min, dt.date.max

_LAYOUT = "YYYY-mm-dd HH:MM:SS"
"""How Spark writes a timestamp. A fraction that is not 0 follows. A date is the first ten characters."""
_WRITTEN = {"Y": (1, 5), "y": (3, 5), "m": (6, 8), "d": (9, 11), "H": (12, 14), "M": (15, 17), "S": (18, 20)}
"""The directives in that layout: the number of their first character, and the number after their last one."""
_COMPUTED: dict[str, Form] = {
    "j": lambda a: call("lpad", call("string", call("day_of_year", a)), integer(3), text("0")),
    "f": lambda a: call("lpad", call("string", call("microsecond", a)), integer(6), text("0")),
}
_ENGLISH: dict[str, Form] = {
    "a": lambda a: call("day_name", a),
    "A": lambda a: call("full_day_name", a),
    "b": lambda a: call("month_name", a),
    "B": lambda a: call("full_month_name", a),
    "I": lambda a: call("lpad", call("string", _hour_of_twelve(a)), integer(2), text("0")),
    "p": lambda a: when(call("less", call("hour", a), integer(12)), text("AM"), text("PM")),
}
"""The directives that depend on the locale in Python. Spark always writes English."""
_OF_TIMES = frozenset("HMSfIp")


def _hour_of_twelve(a: Expr) -> Expr:
    return call("add", call("rem", call("add", call("hour", a), integer(11)), integer(12)), integer(1))


def directives_of(pattern: str) -> list[tuple[str, str]] | None:
    """The directives of a format of strftime, each behind the text before it; None if one of them has no column form.

    >>> directives_of("%Y-%m.")
    [('', 'Y'), ('-', 'm'), ('.', '')]
    """
    if not pattern.isascii() or "\0" in pattern:  # the C library's result is not portable
        return None
    known = {*_WRITTEN, *_COMPUTED} | (set(_ENGLISH) if locale.setlocale(locale.LC_TIME) in ("C", "POSIX") else set())
    found, literal = [], ""
    characters = iter(pattern)
    for character in characters:
        directive = next(characters, "") if character == "%" else ""
        if character == "%" and directive not in (*known, "%"):
            return None
        if not directive or directive == "%":
            literal += character
            continue
        found.append((literal, directive))
        literal = ""
    return [*found, (literal, "")]


def strftime(a: Expr, pattern: str) -> Expr:
    """Substrings of the text that Spark writes for the value. `date_format` would use the time zone of the session.

    The C library does not pad a year below 1000, Spark does.
    """
    directives = directives_of(pattern)
    assert directives is not None, f"{pattern} has no column form"
    used = {directive for _, directive in directives}
    whole = call("timestamp" if used & _OF_TIMES else "date", a)
    parts = _format_parts(directives, whole)
    if not parts:
        return text("")
    written = parts[0] if len(parts) == 1 else call("concat", *parts)
    if "Y" not in used:
        return written
    return guard(call("greater_equal", call("year", a), integer(1000)), written, "a year of three digits")


def _format_parts(directives: list[tuple[str, str]], whole: Expr) -> list[Expr]:
    """The texts that a format consists of. Directives that are adjacent in Spark's text too are one substring of it."""
    parts: list[Expr] = []
    begin = end = 0
    for literal, directive in [*directives, ("", "")]:
        first, behind = _WRITTEN.get(directive, (0, 0))
        if begin and first >= end and literal == _LAYOUT[end - 1 : first - 1]:
            end = behind
            continue
        if begin:
            parts.append(call("substring", call("string", whole), integer(begin), integer(end - begin)))
        if literal:
            parts.append(text(literal))
        if directive in _COMPUTED or directive in _ENGLISH:
            parts.append((_COMPUTED | _ENGLISH)[directive](whole))
        begin, end = first, behind
    return parts


def isoformat(separator: str) -> Form:
    """`t.isoformat()` and `str(t)`: microseconds are written only if they are not 0, and then with six digits."""

    def form(a: Expr) -> Expr:
        written = call("string", a)
        if separator != " ":
            written = call("replace", written, text(" "), text(separator))
        whole = call("equal", call("microsecond", a), integer(0))
        return when(whole, written, call("rpad", written, integer(26), text("0")))

    return form


def iso_weekday(a: Expr) -> Expr:
    return call("add", call("weekday", a), integer(1))


# ---- differences


def time_between(a: Expr, b: Expr) -> Expr:
    return call("time_diff", a, b)


def days_between(a: Expr, b: Expr) -> Expr:
    return call("multiply", call("date_diff", a, b), integer(DAY))


def whole_days(delta: Expr) -> Expr:
    """`delta.days` rounds towards minus infinity."""
    constant = number(delta)
    if constant is not None:
        return integer(int(constant) // DAY)
    return call("add", call("div", delta, integer(DAY)), call("shift_right", _within_day(delta), integer(63)))


def _within_day(delta: Expr) -> Expr:
    return call("rem", delta, integer(DAY))


def seconds_of_day(delta: Expr) -> Expr:
    return call("div", call("pmod", delta, integer(DAY)), integer(SECOND))


def microseconds(delta: Expr) -> Expr:
    return call("pmod", delta, integer(SECOND))


def total_seconds(delta: Expr) -> Expr:
    """Beyond 2**53 microseconds the float would be rounded twice."""
    exact = call("between", delta, integer(-(2**53)), integer(2**53))
    quotient = call("divide", call("double", delta), call("double", integer(SECOND)))
    return guard(exact, quotient, "a timedelta of more than 285 years")


def date_moved(sign: int) -> Form:
    """A date moves by the whole days of a timedelta."""

    def form(a: Expr, delta: Expr) -> Expr:
        days = whole_days(delta)
        days = days if sign > 0 else call("negative", days)
        few = call("between", days, integer(-_LONGEST), integer(_LONGEST))
        moved = call("date_add", a, days)
        inside = call("between", moved, Literal(_FIRST_DAY, DATE), Literal(_LAST_DAY, DATE))
        return guard(conjunction(few, inside) if number(delta) is None else inside, moved, "date value out of range")

    return form


def time_moved(sign: int) -> Form:
    """A datetime moves by microseconds."""

    def form(a: Expr, delta: Expr) -> Expr:
        constant = number(delta)
        step = integer(-int(constant)) if constant is not None and sign < 0 else delta
        step = call("negative", delta) if constant is None and sign < 0 else step
        moved = call("time_add", a, step)
        inside = call("between", moved, Literal(_FIRST, DATETIME), Literal(_LAST, DATETIME))
        few = call("between", delta, integer(-_LONGEST * DAY - DAY), integer(_LONGEST * DAY + DAY))
        return when(few, guard(inside, moved, "date value out of range"), Raise("date value out of range"))

    return form


# ---- making


def make_date(year: Expr, month: Expr, day: Expr) -> Expr:
    """Spark fails on the 30th of February, as Python does, but accepts the year 0."""
    return guard(_is_year(year), checked("make_date", year, month, day), "year is out of range")


def make_time(*parts: Expr) -> Expr:
    """Spark accepts 60 seconds as a minute."""
    everything = [*parts, *[integer(0) for _ in range(6 - len(parts))]]
    inside = conjunction(_is_year(everything[0]), call("between", everything[5], integer(0), integer(59)))
    return guard(inside, checked("make_time", *everything), "a part is out of range")


def _is_year(year: Expr) -> Expr:
    return call("between", year, integer(1), integer(9999))


def date_of_text(a: Expr) -> Expr:
    """`date.fromisoformat`. Forms with a week, which Python accepts from 3.11 on, are left to Python."""
    plain = conjunction(call("rlike", a, text("^[0-9]{4}-[0-9]{2}-[0-9]{2}\\z")), _not_year_zero(a))
    return guard(plain, checked("date", a), "a date in another form")


def time_of_text(a: Expr) -> Expr:
    """`datetime.fromisoformat`, for whole seconds."""
    plain = call("rlike", a, text("^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\\z"))
    return guard(conjunction(plain, _not_year_zero(a)), checked("timestamp", a), "a time in another form")


def _not_year_zero(a: Expr) -> Expr:
    return call("greater_equal", a, text("0001"))


def ordinal(a: Expr) -> Expr:
    """`d.toordinal()`: 0001-01-01 is day 1."""
    return call("add", call("date_diff", call("date", a), Literal(_FIRST_DAY, DATE)), integer(1))


def is_leap(year: Expr) -> Expr:
    four = call("equal", call("bit_and", year, integer(3)), integer(0))
    hundred, many = (call("equal", call("pmod", year, integer(by)), integer(0)) for by in (100, 400))
    return call("and", four, call("or", call("not", hundred), many))


_WIDTHS = {"Y": 4, "m": 2, "d": 2, "H": 2, "M": 2, "S": 2}
_ORDER = "YmdHMS"


def fixed_positions(directives: str) -> tuple[str, dict[str, int]] | None:
    r"""The regular expression of a strptime format whose parts have fixed widths, and the position of each part.

    >>> fixed_positions("%Y-%m-%d")
    ('^[0-9]{4}\\Q-\\E[0-9]{2}\\Q-\\E[0-9]{2}\\z', {'Y': 1, 'm': 6, 'd': 9})
    """
    pattern, positions, position = "^", {}, 1
    characters = iter(directives)
    for character in characters:
        if character != "%":
            if not character.isascii() or character in "\\\0":
                return None
            pattern, position = pattern + f"\\Q{character}\\E", position + 1
            continue
        directive = next(characters, "")
        if directive not in _WIDTHS or directive in positions:
            return None
        positions[directive] = position
        pattern, position = pattern + f"[0-9]{{{_WIDTHS[directive]}}}", position + _WIDTHS[directive]
    return (pattern + "\\z", positions) if {"Y", "m", "d"} <= set(positions) else None


def strptime(a: Expr, directives: str) -> Expr:
    """`datetime.strptime`. Python also accepts one digit for two: such texts are left to Python."""
    found = fixed_positions(directives)
    assert found is not None, f"{directives} has no fixed positions"
    pattern, positions = found
    parts = [
        checked("bigint", call("substring", a, integer(positions[name]), integer(_WIDTHS[name])))
        if name in positions
        else integer(0)
        for name in _ORDER
    ]
    return guard(call("rlike", a, text(pattern)), make_time(*parts), "a time in another form")


def month_range(year: Expr, month: Expr) -> tuple[Expr, Expr]:
    """`calendar.monthrange`: the weekday of the first day, and the number of days."""
    inside = conjunction(_is_year(year), call("between", month, integer(1), integer(12)))
    first = checked("make_date", year, month, integer(1))
    begins, days = (guard(inside, call(part, first), "a month out of range") for part in ("weekday", "last_day"))
    return begins, days


def date_replaced(parts: dict[str, Expr]) -> Expr:
    return make_date(parts["year"], parts["month"], parts["day"])


_UNITS = {"hour": (24, 3600 * SECOND), "minute": (60, 60 * SECOND), "second": (60, SECOND), "microsecond": (SECOND, 1)}


def time_replaced(a: Expr, parts: dict[str, Expr], given: set[str]) -> Expr:
    """The day, perhaps replaced, and the microseconds since midnight."""
    day: Expr = call("date", a)
    if given & {"year", "month", "day"}:
        day = make_date(parts["year"], parts["month"], parts["day"])
    passed: Expr | None = None
    inside: Expr = TRUE
    for name, (most, length) in _UNITS.items():
        if number(parts[name]) == 0:
            continue
        if name in given:
            inside = conjunction(inside, call("between", parts[name], integer(0), integer(most - 1)))
        term = call("multiply", parts[name], integer(length)) if length > 1 else parts[name]
        passed = term if passed is None else call("add", passed, term)
    moved = call("timestamp", day) if passed is None else call("time_add", call("timestamp", day), passed)
    return guard(inside, moved, "a part of a time is out of range")
