"""The exact forms: for each operation of Python, expressions with CPython's value on every input, or an error.

A form may refuse some inputs by raising (Python then does the job again), it never gives another value. Each was
measured against CPython 3.11 on Spark 4.3 with ANSI arithmetic; the naive form that looks right and is not is named.
Forms may repeat their arguments: the caller passes small ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from morisot.compile.expr import Call, Case, Expr, Literal, Raise
from morisot.compile.values import FALSE, conjunction, disjunction, negate, when
from morisot.types.element import BOOL, FLOAT, INT, STR

EXACT_FLOAT = 2**53
"""Beyond this not every int is a float."""
WHITESPACE = "".join(map(chr, (*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))))
WHITESPACE += "\u2028\u2029\u202f\u205f\u3000"
"""The 29 characters for which str.isspace() holds; Java's \\s has six."""


Form = Callable[..., Expr]


@dataclass(frozen=True)
class Plain:
    """The form that is just a call: it uses each argument once, so these may be of any size."""

    name: str
    fails: bool = False

    def __call__(self, *arguments: Expr) -> Expr:
        return Call(self.name, arguments, self.fails)


def integer(value: int) -> Literal:
    return Literal(value, INT)


def text(value: str) -> Literal:
    return Literal(value, STR)


def call(name: str, *arguments: Expr) -> Call:
    return Call(name, arguments)


def checked(name: str, *arguments: Expr) -> Call:
    """A function that itself fails on some input: overflow, division by zero."""
    return Call(name, arguments, fails=True)


def guard(condition: Expr, value: Expr, reason: str) -> Expr:
    """`value` where the condition holds; elsewhere Python has to do it."""
    return when(condition, value, Raise(reason))


def _constant(expr: Expr) -> float | None:
    """The number an expression is, if it is a constant one."""
    return expr.value if isinstance(expr, Literal) and type(expr.value) in (int, float) else None


# ---- int


def int_floordiv(a: Expr, b: Expr) -> Expr:
    """Python rounds towards minus infinity, `div` towards zero."""
    quotient, remainder = checked("div", a, b), checked("rem", a, b)
    divisor = _constant(b)
    if divisor is not None and divisor > 0:
        inexact = call("less", Call("rem", (a, b)), integer(0))
        return call("subtract", Call("div", (a, b)), when(inexact, integer(1), integer(0)))
    signs_differ = call("unequal", call("less", a, integer(0)), call("less", b, integer(0)))
    inexact = conjunction(call("unequal", remainder, integer(0)), signs_differ)
    return checked("subtract", quotient, when(inexact, integer(1), integer(0)))


def int_mod(a: Expr, b: Expr) -> Expr:
    """Python's remainder has the divisor's sign, Spark's the dividend's; `pmod` differs for negative divisors."""
    divisor = _constant(b)
    if divisor is not None and divisor > 0:
        remainder = Call("rem", (a, b))
        return when(call("less", remainder, integer(0)), call("add", remainder, b), remainder)
    remainder = checked("rem", a, b)
    signs_differ = call("unequal", call("less", remainder, integer(0)), call("less", b, integer(0)))
    wrong_sign = call("and", call("unequal", remainder, integer(0)), signs_differ)
    return when(wrong_sign, call("add", remainder, b), remainder)


def int_truediv(a: Expr, b: Expr) -> Expr:
    """CPython rounds the true quotient once; dividing two rounded floats may round twice."""
    quotient = checked("divide", call("double", a), call("double", b))
    exact = conjunction(_is_exact_float(a), _is_exact_float(b))
    return guard(exact, quotient, "a quotient of ints beyond 2**53")


def _is_exact_float(a: Expr) -> Expr:
    value = _constant(a)
    if value is not None:
        return Literal(abs(value) <= EXACT_FLOAT, BOOL)
    return call("between", a, integer(-EXACT_FLOAT), integer(EXACT_FLOAT))


def int_power(a: Expr, exponent: int) -> Expr:
    """`pow` goes through floats and loses digits; a product does not."""
    product = a
    for _ in range(exponent - 1):
        product = checked("multiply", product, a)
    return product


def int_shift_left(a: Expr, places: int) -> Expr:
    shifted = call("shift_left", a, integer(places))
    return guard(call("equal", call("shift_right", shifted, integer(places)), a), shifted, "an int beyond 64 bits")


def int_shift_right(a: Expr, places: int) -> Expr:
    """Spark takes the number of places modulo 64."""
    return call("shift_right", a, integer(min(places, 63)))


# ---- float


def float_mod(a: Expr, b: Expr) -> Expr:
    """float_rem of CPython's floatobject.c: the divisor's sign, also for a remainder of zero."""
    remainder = checked("rem", a, b)
    zero = Literal(0.0, FLOAT)
    signs_differ = call("unequal", call("less", remainder, zero), call("less", b, zero))
    size = call("abs", remainder)
    return Case(
        (
            (call("equal", b, zero), Raise("float modulo by zero")),
            (call("is_nan", remainder), remainder),
            (call("equal", remainder, zero), when(call("less", b, zero), call("negative", size), size)),
            (signs_differ, call("add", remainder, b)),
        ),
        remainder,
    )


def float_floordiv(a: Expr, b: Expr) -> Expr:
    """float_floor_div of CPython's floatobject.c, written out."""
    zero, one = Literal(0.0, FLOAT), Literal(1.0, FLOAT)
    remainder = checked("rem", a, b)
    signs_differ = call("unequal", call("less", remainder, zero), call("less", b, zero))
    moved = conjunction(call("unequal", remainder, zero), signs_differ)
    exact = checked("divide", call("subtract", a, remainder), b)
    quotient = when(moved, call("subtract", exact, one), exact)
    below = call("floor_double", quotient)
    half = call("greater", call("subtract", quotient, below), Literal(0.5, FLOAT))
    rounded = when(half, call("add", below, one), below)
    naught = call("multiply", zero, checked("divide", a, b))
    return Case(
        (
            (call("equal", b, zero), Raise("float floor division by zero")),
            (call("is_nan", remainder), remainder),
            (call("equal", quotient, zero), naught),
        ),
        rounded,
    )


def float_equal(a: Expr, b: Expr) -> Expr:
    """In Spark NaN equals NaN."""
    return call("equal", a, b) if _is_number(a) or _is_number(b) else _unless_nan(call("equal", a, b), a)


def float_unequal(a: Expr, b: Expr) -> Expr:
    return negate(float_equal(a, b))


def float_less(a: Expr, b: Expr) -> Expr:
    """In Spark NaN is greater than any number."""
    return _unless_nan(call("less", a, b), b)


def float_less_equal(a: Expr, b: Expr) -> Expr:
    return _unless_nan(call("less_equal", a, b), b)


def float_greater(a: Expr, b: Expr) -> Expr:
    return _unless_nan(call("greater", a, b), a)


def float_greater_equal(a: Expr, b: Expr) -> Expr:
    return _unless_nan(call("greater_equal", a, b), a)


def _is_number(a: Expr) -> bool:
    value = _constant(a)
    return value is not None and value == value


def _unless_nan(condition: Expr, a: Expr) -> Expr:
    return condition if _is_number(a) else call("and", condition, negate(call("is_nan", a)))


def float_min(a: Expr, b: Expr) -> Expr:
    """`least` orders NaN last; Python keeps the first unless the second is smaller."""
    return when(float_less(b, a), b, a)


def float_max(a: Expr, b: Expr) -> Expr:
    return when(float_greater(b, a), b, a)


def float_to_int(function: str) -> Form:
    """int, round, floor and ceil of a float: a cast to BIGINT saturates at 2**63 and makes NaN 0."""

    def form(a: Expr) -> Expr:
        inside = conjunction(call("less", call("abs", a), Literal(2.0**63, FLOAT)), negate(call("is_nan", a)))
        return guard(inside, checked("bigint", call(function, a) if function else a), "a float beyond 64 bits")

    return form


def float_sqrt(a: Expr) -> Expr:
    """Spark gives NaN where Python raises."""
    return guard(call("greater_equal", a, Literal(0.0, FLOAT)), call("sqrt", a), "the root of a negative number")


def float_text(a: Expr) -> Expr:
    """Java writes 1.0E7 where Python writes 10000000.0."""
    size = call("abs", a)
    plain = conjunction(
        call("greater_equal", size, Literal(1e-3, FLOAT)), call("less", size, Literal(1e7, FLOAT))
    )
    return guard(disjunction(plain, call("equal", a, Literal(0.0, FLOAT))), call("string", a), "the text of such a float")


def bool_text(a: Expr) -> Expr:
    return when(a, text("True"), text("False"))


# ---- str


def is_ascii(a: Expr) -> Expr:
    return call("equal", call("octet_length", a), call("length", a))


def text_repeat(a: Expr, times: Expr) -> Expr:
    return guard(call("less_equal", times, integer(1_000_000)), call("repeat", a, times), "a very long text")


def text_strip(name: str) -> Form:
    def form(a: Expr, characters: str | None = None) -> Expr:
        if characters == "":
            return a
        return call(name, a, text(WHITESPACE if characters is None else characters))

    return form


def text_starts(name: str) -> Form:
    def form(a: Expr, affix: str | tuple[str, ...]) -> Expr:
        found: Expr = FALSE
        for one in (affix,) if isinstance(affix, str) else affix:
            found = disjunction(found, call(name, a, text(one)))
        return found

    return form


def text_split_words(a: Expr) -> Expr:
    """`s.split()`."""
    trimmed = call("btrim", a, text(WHITESPACE))
    words = call("split", trimmed, text(f"[{WHITESPACE}]+"), integer(-1))
    return when(call("equal", trimmed, text("")), call("no_texts"), words)


def text_split(a: Expr, separator: str, limit: int = -1) -> Expr:
    """`s.split(sep)`: Java splits by a regular expression, but knows a single character when it sees one."""
    return call("split", a, text(quoted(separator)), integer(limit + 1 if limit >= 0 else -1))


def quoted(separator: str) -> str:
    r"""The regular expression that matches just this text.

    >>> quoted("|"), quoted(","), quoted("--")
    ('\\|', ',', '\\Q--\\E')
    """
    if len(separator) == 1:
        return "\\" + separator if separator in ".$|()[{^?*+\\" else separator
    return "\\Q" + separator.replace("\\E", "\\E\\\\E\\Q") + "\\E"


def text_index(a: Expr, index: Expr) -> Expr:
    length = call("length", a)
    place = _constant(index)
    if place is not None and place >= 0:
        inside, start = call("greater", length, index), integer(int(place) + 1)
        return guard(inside, call("substring", a, start, integer(1)), "string index out of range")
    normal, inside = _normalised(index, length)
    start = call("add", normal, integer(1))
    return guard(inside, call("substring", a, start, integer(1)), "string index out of range")


def list_index(a: Expr, index: Expr) -> Expr:
    """`element_at` counts from one and takes a missing place for NULL."""
    size = call("size", a)
    place = _constant(index)
    if place is not None and place >= 0:
        return guard(call("greater", size, index), call("get", a, index), "list index out of range")
    normal, inside = _normalised(index, size)
    return guard(inside, call("get", a, normal), "list index out of range")


def _normalised(index: Expr, length: Expr) -> tuple[Expr, Expr]:
    """A place counted from the start, and the condition that it lies inside."""
    inside = conjunction(
        call("greater_equal", index, call("negative", length)), call("less", index, length)
    )
    return when(call("less", index, integer(0)), call("add", index, length), index), inside


def text_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    first = 0 if start is None else _constant(start)
    last = None if stop is None else _constant(stop)
    if first is not None and first >= 0 and stop is None:
        return call("substring_from", a, integer(int(first) + 1))
    if first is not None and first >= 0 and last is not None and last >= 0:
        return call("substring", a, integer(int(first) + 1), integer(max(int(last - first), 0)))
    begin, count = _slice_bounds(call("length", a), start, stop)
    return call("substring", a, begin, count)


def list_slice(a: Expr, start: Expr | None, stop: Expr | None) -> Expr:
    begin, count = _slice_bounds(call("size", a), start, stop)
    return call("slice", a, begin, count)


def _slice_bounds(length: Expr, start: Expr | None, stop: Expr | None) -> tuple[Expr, Expr]:
    """The first place, from one, and the number of items: PySlice_AdjustIndices."""
    begin = integer(0) if start is None else _clamped(start, length)
    end = length if stop is None else _clamped(stop, length)
    return call("add", begin, integer(1)), call("greatest", call("subtract", end, begin), integer(0))


def _clamped(index: Expr, length: Expr) -> Expr:
    place = _constant(index)
    from_end = call("greatest", call("add", length, index), integer(0))
    from_start = call("least", index, length)
    if place is not None:
        return from_end if place < 0 else from_start
    return when(call("less", index, integer(0)), from_end, from_start)


_SPACES = "[ \\t\\n\\r\\x0b\\f]*"


def text_to_int(a: Expr) -> Expr:
    """A cast accepts what int() does not ('\\x0012'), and the reverse ('1_000')."""
    plain = call("rlike", a, text(f"^{_SPACES}[+-]?[0-9]+{_SPACES}\\z"))
    return guard(plain, checked("bigint", call("btrim", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain int")


def text_to_float(a: Expr) -> Expr:
    """A cast accepts '1d', which float() does not."""
    number = "[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"
    plain = call("rlike", a, text(f"^{_SPACES}{number}{_SPACES}\\z"))
    return guard(plain, checked("double", call("btrim", a, text(" \t\n\r\x0b\f"))), "a text that is not a plain float")


def mixed_compare(name: str) -> Form:
    """An int with a float: a float holds not every int, so constants move to the int's side and the rest is guarded."""
    floats = {
        "equal": float_equal,
        "unequal": float_unequal,
        "less": float_less,
        "less_equal": float_less_equal,
        "greater": float_greater,
        "greater_equal": float_greater_equal,
    }[name]

    def form(a: Expr, b: Expr) -> Expr:
        value = _constant(b)
        if value is not None and math.isfinite(value) and abs(value) < EXACT_FLOAT and not a.raises:
            return _compare_with_constant(name, a, value)
        return guard(_is_exact_float(a), floats(call("double", a), b), "an int beyond 2**53 compared with a float")

    return form


def _compare_with_constant(name: str, a: Expr, value: float) -> Expr:
    """An int lies below 2.5 if it lies below 3, above 2.5 if above 2, and never equals it."""
    if value == int(value):
        return call(name, a, integer(int(value)))
    if name.startswith("less"):
        return call("less", a, integer(math.ceil(value)))
    if name.startswith("greater"):
        return call("greater", a, integer(math.floor(value)))
    return Literal(name == "unequal", BOOL)
