"""Exact forms of str methods that ask what a text is made of, pad it, or cut something off."""

from __future__ import annotations

from morisot.compile.characters import WHITESPACE
from morisot.compile.expr import Expr
from morisot.compile.forms import Form, call, guard, integer, text
from morisot.compile.texts import is_ascii
from morisot.compile.values import conjunction, negate, when

LONGEST = 1000
"""Texts are padded to so many characters at most: further is left to Python."""


def made_of(pattern: str, without: str = "") -> Form:
    """`s.isdigit()` and the like, for ASCII: what a letter is beyond that differs between versions of Unicode."""

    def form(a: Expr) -> Expr:
        found: Expr = call("rlike", a, text(pattern))
        if without:
            found = conjunction(found, negate(call("rlike", a, text(without))))
        return guard(is_ascii(a), found, "the kind of a character beyond ASCII")

    return form


def is_space(a: Expr) -> Expr:
    return conjunction(call("unequal", a, text("")), call("equal", call("btrim", a, text(WHITESPACE)), text("")))


def count(a: Expr, part: str) -> Expr:
    """What is gone once every occurrence is removed, from left to right, as in Python."""
    gone = call("subtract", call("length", a), call("length", call("replace", a, text(part), text(""))))
    return gone if len(part) == 1 else call("div", gone, integer(len(part)))


def index(a: Expr, part: Expr) -> Expr:
    found = call("find", a, part)
    return guard(call("greater_equal", found, integer(0)), found, "substring not found")


def capitalize(a: Expr) -> Expr:
    first, rest = call("substring", a, integer(1), integer(1)), call("substring_from", a, integer(2))
    return guard(is_ascii(a), call("concat", call("upper", first), call("lower", rest)), "capitals beyond ASCII")


def padded(function: str) -> Form:
    """`lpad` and `rpad` cut a text that is longer; Python does not."""

    def form(a: Expr, width: int, fill: str = " ") -> Expr:
        longer = call("less", call("length", a), integer(width))
        return when(longer, call(function, a, integer(width), text(fill)), a)

    return form


def center(a: Expr, width: int, fill: str = " ") -> Expr:
    """An odd space too many goes to the left if the width is odd, else to the right; like str.center."""
    length = call("length", a)
    missing = call("subtract", integer(width), length)
    left = call("shift_right", missing, integer(1))
    if width % 2:
        left = call("add", left, call("bit_and", missing, integer(1)))
    widened = call("lpad", a, call("add", length, left), text(fill))
    return when(call("less", length, integer(width)), call("rpad", widened, integer(width), text(fill)), a)


def zero_filled(a: Expr, width: int) -> Expr:
    """Zeros go between the sign and the rest."""
    sign, rest = call("substring", a, integer(1), integer(1)), call("substring_from", a, integer(2))
    signed = call("concat", sign, call("lpad", rest, integer(width - 1), text("0")))
    filled = when(call("in", sign, text("+"), text("-")), signed, call("lpad", a, integer(width), text("0")))
    return when(call("less", call("length", a), integer(width)), filled, a)


def without_prefix(a: Expr, prefix: Expr) -> Expr:
    start = call("add", call("length", prefix), integer(1))
    rest = call("substring", a, start, call("length", a))
    return when(call("startswith", a, prefix), rest, a)


def without_suffix(a: Expr, suffix: Expr) -> Expr:
    kept = call("subtract", call("length", a), call("length", suffix))
    return when(call("endswith", a, suffix), call("substring", a, integer(1), kept), a)


def code_point(a: Expr) -> Expr:
    """`ord(c)`: Spark takes the first of many characters."""
    return guard(call("equal", call("length", a), integer(1)), call("code_point", a), "ord() of no single character")


def character(a: Expr) -> Expr:
    """`chr(n)`: Spark's goes round at 256."""
    return guard(call("between", a, integer(0), integer(127)), call("character", a), "a character beyond ASCII")


def characters(a: Expr) -> Expr:
    """`list(s)`: a sequence from 1 to 0 would count down."""
    return when(call("equal", a, text("")), call("no_texts"), call("characters", a))
