"""Decimal digits of floats, exactly: `round(x, 2)` and the digits of `f"{x:.2f}"`.

Python rounds the float's exact value: 2.675 is a little less, so it becomes 2.67. Spark's round, bround and
format_string round the decimal text of the value and give 2.68. Here the product x * 10**n is computed together with
its rounding error, which floats hold exactly (Dekker). So a tie is distinguished from a value close to one.
"""

from __future__ import annotations

from morisot.compile.exact.forms import call, checked, integer, text
from morisot.compile.ir.expressions import Case, Expr, Literal, Raise
from morisot.compile.ir.values import when
from morisot.compile.syntax.scope import Scope
from morisot.types.element import FLOAT, INT

MOST_DIGITS = 15
_LARGEST = 2.0**52
"""Floats below this limit have a fraction of one half, so that a tie is found. Larger ones are left to Python."""
_SPLITTER = 2.0**27 + 1


HUNDRED = Literal(100.0, FLOAT)


def is_in_range(product: Expr) -> Expr:
    """Whether `rounded` is exact for the product. NaN is out of range: in Spark it is greater than any number."""
    return call("less", call("abs", product), _float(_LARGEST))


def shifted(a: Expr, ndigits: int, scope: Scope) -> Expr:
    """The float nearest to a * 10**ndigits."""
    return scope.small_expr(call("multiply", a, _float(10.0**ndigits)), FLOAT) if ndigits else a


def rounded(a: Expr, product: Expr, ndigits: int) -> Expr:
    """The whole float nearest to the exact a * 10**ndigits, ties to even, computed from the `shifted` float."""
    nearest = call("rint", product)
    if not ndigits:
        return nearest
    above, below = (call("equal", call("subtract", product, nearest), _float(half)) for half in (0.5, -0.5))
    error, zero, one = _error(a, product, 10.0**ndigits), _float(0.0), _float(1.0)
    return Case(
        (
            (call("and", above, call("greater", error, zero)), call("add", nearest, one)),
            (call("and", below, call("less", error, zero)), call("subtract", nearest, one)),
        ),
        nearest,
    )


def _error(a: Expr, product: Expr, factor: float) -> Expr:
    """The rounding error of the float `product` of a * factor: Dekker's product, exact without overflow."""
    scaled = call("multiply", a, _float(_SPLITTER))
    high = call("subtract", scaled, call("subtract", scaled, a))
    low = call("subtract", a, high)
    factor_high = _SPLITTER * factor - (_SPLITTER * factor - factor)
    factor_low = factor - factor_high
    factors = [by for by in (factor_high, factor_low) if by]  # a power of ten up to 10**11 has no low part
    terms = [call("multiply", part, _float(by)) for part in (high, low) for by in factors]
    error = call("subtract", terms[0], product)
    for term in terms[1:]:
        error = call("add", error, term)
    return error


def round_to_digits(a: Expr, ndigits: int, scope: Scope) -> Expr:
    """`round(a, ndigits)`: a whole number below 2**53 divided by a power of ten is rounded once, as in Python."""
    product = shifted(a, ndigits, scope)
    whole = rounded(a, product, ndigits)
    result = call("divide", whole, _float(10.0**ndigits)) if ndigits else whole
    infinite = call("greater_equal", call("abs", a), _float(float("inf")))  # also true of NaN
    return Case(((is_in_range(product), result), (infinite, a)), Raise("the digits of so large a float"))


def digits(a: Expr, ndigits: int, grouped: bool, scope: Scope) -> Expr:
    """The text of abs(a) with `ndigits` decimals. It is exact where `is_in_range` holds."""
    product = shifted(a, ndigits, scope)
    units = when(is_in_range(product), call("abs", rounded(a, product, ndigits)), Literal(None, FLOAT))
    units = scope.small_expr(checked("bigint", units), INT)
    ten = integer(10**ndigits)
    whole = call("div", units, ten) if ndigits else units
    shown = call("grouped", whole) if grouped else call("string", whole)
    if not ndigits:
        return shown
    rest = call("lpad", call("string", call("rem", units, ten)), integer(ndigits), text("0"))
    return call("concat", shown, text("."), rest)


def is_negative(a: Expr) -> Expr:
    """Whether a float is written with a minus sign; -0.0 is."""
    zero = call("equal", a, _float(0.0))
    return call("or", call("less", a, _float(0.0)), call("and", zero, call("equal", call("string", a), text("-0.0"))))


def _float(value: float) -> Literal:
    return Literal(value, FLOAT)
