"""Decimal places of floats, exactly: `round(x, 2)` and the digits of `f"{x:.2f}"`.

Python rounds the float's exact value: 2.675 is a little less, so it becomes 2.67. Spark's round, bround and
format_string take the decimal text for the value and give 2.68. Here the product x * 10**n is taken together with
its rounding error, which floats can hold exactly (Dekker), so that each tie is told from what only looks like one.
"""

from __future__ import annotations

from morisot.compile.exact.forms import call, checked, integer, text
from morisot.compile.ir.expressions import Case, Expr, Literal, Raise
from morisot.compile.ir.values import when
from morisot.compile.syntax.scope import Scope
from morisot.types.element import FLOAT, INT

MOST_PLACES = 15
_LARGEST = 2.0**52
"""Below this a float tells halves, so that a tie is seen; above it Python does the job."""
_SPLITTER = 2.0**27 + 1


HUNDRED = Literal(100.0, FLOAT)


def is_in_range(product: Expr) -> Expr:
    """Whether `rounded` may be asked; NaN is not, it is greater than any number."""
    return call("less", call("abs", product), _float(_LARGEST))


def shifted(a: Expr, places: int, scope: Scope) -> Expr:
    """The float next to a * 10**places."""
    return scope.small_expr(call("multiply", a, _float(10.0**places)), FLOAT) if places else a


def rounded(a: Expr, product: Expr, places: int) -> Expr:
    """The whole float next to the exact a * 10**places, ties to even, given the `shifted` float."""
    nearest = call("rint", product)
    if not places:
        return nearest
    above, below = (call("equal", call("subtract", product, nearest), _float(half)) for half in (0.5, -0.5))
    error, zero, one = _error(a, product, 10.0**places), _float(0.0), _float(1.0)
    return Case(
        (
            (call("and", above, call("greater", error, zero)), call("add", nearest, one)),
            (call("and", below, call("less", error, zero)), call("subtract", nearest, one)),
        ),
        nearest,
    )


def _error(a: Expr, product: Expr, factor: float) -> Expr:
    """What is missing from the float `product` to a * factor: Dekker's product, exact without overflow."""
    scaled = call("multiply", a, _float(_SPLITTER))
    high = call("subtract", scaled, call("subtract", scaled, a))
    low = call("subtract", a, high)
    factor_high = _SPLITTER * factor - (_SPLITTER * factor - factor)
    factor_low = factor - factor_high
    factors = [by for by in (factor_high, factor_low) if by]  # up to 10**11 there is no low part
    terms = [call("multiply", part, _float(by)) for part in (high, low) for by in factors]
    error = call("subtract", terms[0], product)
    for term in terms[1:]:
        error = call("add", error, term)
    return error


def round_places(a: Expr, places: int, scope: Scope) -> Expr:
    """`round(a, places)`: a whole number below 2**53 divided by a power of ten is rounded once, as in Python."""
    product = shifted(a, places, scope)
    whole = rounded(a, product, places)
    result = call("divide", whole, _float(10.0**places)) if places else whole
    infinite = call("greater_equal", call("abs", a), _float(float("inf")))  # NaN too
    return Case(((is_in_range(product), result), (infinite, a)), Raise("the digits of so large a float"))


def digits(a: Expr, places: int, grouped: bool, scope: Scope) -> Expr:
    """The text of abs(a) with so many places, where `is_in_range` holds."""
    product = shifted(a, places, scope)
    units = when(is_in_range(product), call("abs", rounded(a, product, places)), Literal(None, FLOAT))
    units = scope.small_expr(checked("bigint", units), INT)
    ten = integer(10**places)
    whole = call("div", units, ten) if places else units
    shown = call("grouped", whole) if grouped else call("string", whole)
    if not places:
        return shown
    rest = call("lpad", call("string", call("rem", units, ten)), integer(places), text("0"))
    return call("concat", shown, text("."), rest)


def is_negative(a: Expr) -> Expr:
    """Whether a float is written with a minus: also -0.0."""
    zero = call("equal", a, _float(0.0))
    return call("or", call("less", a, _float(0.0)), call("and", zero, call("equal", call("string", a), text("-0.0"))))


def _float(value: float) -> Literal:
    return Literal(value, FLOAT)
