"""Exact forms of dates and times. A timedelta is the number of its microseconds, since no column holds one."""

from __future__ import annotations

import datetime as dt
import locale

from morisot.compile.expr import Expr, Literal, Raise
from morisot.compile.forms import Form, call, checked, guard, integer, number, text
from morisot.compile.values import conjunction, when
from morisot.types.element import DATE, DATETIME

DAY = 86_400_000_000
SECOND = 1_000_000
_LONGEST = 3_652_058
"""From 0001-01-01 to 9999-12-31; Spark knows more days, Python does not."""

_FIRST, _LAST = dt.datetime.min, dt.datetime.max  # noqa: DTZ901 - columns of times are naive
_FIRST_DAY, _LAST_DAY = dt.date.min, dt.date.max

_PLAIN = {"Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "f": "SSSSSS", "j": "DDD"}
_NAMES = {"a": "E", "A": "EEEE", "b": "MMM", "B": "MMMM", "I": "hh", "p": "a"}
"""What depends on the locale in Python; Spark always writes English."""


def pattern_of(directives: str) -> str | None:
    """Spark's pattern for a format of strftime; None if it has none.

    >>> pattern_of("%Y-%m-%dT%H")
    "yyyy'-'MM'-'dd'T'HH"
    """
    if not directives.isascii() or "\0" in directives:  # the C library has its own ideas
        return None
    known = _PLAIN | (_NAMES if locale.setlocale(locale.LC_TIME) in ("C", "POSIX") else {})
    pattern, literal = "", ""
    characters = iter(directives)
    for character in characters:
        directive = next(characters, "") if character == "%" else ""
        if character == "%" and directive not in (*known, "%"):
            return None
        if not directive or directive == "%":
            literal += character
            continue
        pattern, literal = pattern + _quoted(literal) + known[directive], ""
    return pattern + _quoted(literal)


def _quoted(literal: str) -> str:
    return "'" + literal.replace("'", "''") + "'" if literal else ""


def strftime(a: Expr, directives: str) -> Expr:
    """The C library does not pad a year below 1000, Spark does."""
    pattern = pattern_of(directives)
    assert pattern is not None, f"{directives} has no pattern"
    if not pattern:
        return text("")
    written = call("date_format", a, text(pattern))
    if "yyyy" not in pattern:
        return written
    return guard(call("greater_equal", call("year", a), integer(1000)), written, "a year of three digits")


def isoformat(separator: str) -> Form:
    """`t.isoformat()` and `str(t)`: the microseconds are written only if there are any."""

    def form(a: Expr) -> Expr:
        pattern = f"yyyy-MM-dd'{separator}'HH:mm:ss"
        whole = call("equal", call("microsecond", a), integer(0))
        return when(whole, call("date_format", a, text(pattern)), call("date_format", a, text(pattern + ".SSSSSS")))

    return form


def iso_weekday(a: Expr) -> Expr:
    return call("add", call("weekday", a), integer(1))


# ---- differences


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
    """Beyond 2**53 microseconds a float would be rounded twice."""
    exact = call("between", delta, integer(-(2**53)), integer(2**53))
    quotient = call("divide", call("double", delta), call("double", integer(SECOND)))
    return guard(exact, quotient, "a timedelta of more than 285 years")


def date_moved(sign: int) -> Form:
    """A date moves by the whole days of a timedelta."""

    def form(a: Expr, delta: Expr) -> Expr:
        days = whole_days(delta)
        days = days if sign > 0 else call("negative", days)
        near = call("between", days, integer(-_LONGEST), integer(_LONGEST))
        moved = call("date_add", a, days)
        inside = call("between", moved, Literal(_FIRST_DAY, DATE), Literal(_LAST_DAY, DATE))
        return guard(conjunction(near, inside) if number(delta) is None else inside, moved, "date value out of range")

    return form


def time_moved(sign: int) -> Form:
    """A datetime moves by microseconds."""

    def form(a: Expr, delta: Expr) -> Expr:
        constant = number(delta)
        step = integer(-int(constant)) if constant is not None and sign < 0 else delta
        step = call("negative", delta) if constant is None and sign < 0 else step
        moved = call("time_add", a, step)
        inside = call("between", moved, Literal(_FIRST, DATETIME), Literal(_LAST, DATETIME))
        near = call("between", delta, integer(-_LONGEST * DAY - DAY), integer(_LONGEST * DAY + DAY))
        return when(near, guard(inside, moved, "date value out of range"), Raise("date value out of range"))

    return form


# ---- making


def make_date(year: Expr, month: Expr, day: Expr) -> Expr:
    """Spark fails on the 30th of February, but knows a year 0."""
    return guard(_is_year(year), checked("make_date", year, month, day), "year is out of range")


def make_time(*parts: Expr) -> Expr:
    """Spark takes 60 seconds for a minute."""
    everything = [*parts, *[integer(0) for _ in range(6 - len(parts))]]
    inside = conjunction(_is_year(everything[0]), call("between", everything[5], integer(0), integer(59)))
    return guard(inside, checked("make_time", *everything), "a part is out of range")


def _is_year(year: Expr) -> Expr:
    return call("between", year, integer(1), integer(9999))


def date_of_text(a: Expr) -> Expr:
    """`date.fromisoformat`: also a week's form is accepted from Python 3.11 on; that is left to Python."""
    plain = conjunction(call("rlike", a, text("^[0-9]{4}-[0-9]{2}-[0-9]{2}\\z")), _not_year_zero(a))
    return guard(plain, checked("date", a), "a date in another form")


def time_of_text(a: Expr) -> Expr:
    """`datetime.fromisoformat`, for whole seconds."""
    plain = call("rlike", a, text("^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}\\z"))
    return guard(conjunction(plain, _not_year_zero(a)), checked("timestamp", a), "a time in another form")


def _not_year_zero(a: Expr) -> Expr:
    return call("greater_equal", a, text("0001"))
