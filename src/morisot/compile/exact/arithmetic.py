"""Exact forms of Python's arithmetic on ints and floats."""

from __future__ import annotations

import math

from morisot.compile.exact.forms import Form, call, checked, guard, integer, number, text
from morisot.compile.ir.expressions import Call, Case, Each, Expr, Literal, Raise, Variable
from morisot.compile.ir.values import conjunction, disjunction, negate, when
from morisot.types.element import BOOL, FLOAT

EXACT_FLOAT = 2**53
"""Beyond this limit not every int is exactly a float."""


def int_floordiv(a: Expr, b: Expr) -> Expr:
    """Python rounds towards minus infinity, Spark's `div` towards zero."""
    divisor = _positive(b)
    if divisor and _is_power_of_two(divisor):
        return call("shift_right", a, integer(divisor.bit_length() - 1))
    if divisor:  # the shifted sign bit of the remainder is -1 where the quotient has to be decremented
        return call("add", call("div", a, b), call("shift_right", call("rem", a, b), integer(63)))
    signs_differ = call("unequal", call("less", a, integer(0)), call("less", b, integer(0)))
    inexact = conjunction(call("unequal", checked("rem", a, b), integer(0)), signs_differ)
    return checked("subtract", checked("div", a, b), when(inexact, integer(1), integer(0)))


def floordiv_parts(expr: Expr) -> tuple[Expr, int] | None:
    """The dividend and the divisor of a form of `int_floordiv` with a positive constant divisor."""
    match expr:
        case Call("add", (Call("div", (a, b)), Call("shift_right", (Call("rem", (same, by)), Literal(63))))):
            divisor = _positive(b)
            return (a, divisor) if divisor and (same, by) == (a, b) else None
        case Call("shift_right", (a, Literal(int() as bits))) if bits <= 62:
            return a, 1 << bits
        case _:
            return None


def divided_twice(a: Expr, b: Expr) -> Expr | None:
    """`x // b // c` as `x // (b * c)`, for positive constants; None for other quotients."""
    parts, divisor = floordiv_parts(a), _positive(b)
    if parts is None or not divisor or parts[1] * divisor >= 2**63:
        return None
    return int_floordiv(parts[0], integer(parts[1] * divisor))


def multiple_below(a: Expr, b: Expr) -> Expr | None:
    """`x // c * c`: the largest multiple of a positive constant up to `x`, in one remainder; None for other products.

    Below the smallest multiple that has 64 bits, the difference overflows as the product does.
    """
    for quotient, factor in ((a, b), (b, a)):
        parts, divisor = floordiv_parts(quotient), _positive(factor)
        if parts is not None and parts[1] == divisor:
            return int_subtract(parts[0], int_mod(parts[0], integer(divisor)))
    return None


def int_subtract(a: Expr, b: Expr) -> Expr:
    """`x - x % c` of a power of two clears the last bits, and cannot overflow."""
    match b:
        case Call("bit_and", (same, Literal(int() as mask))) if same == a and mask >= 0 and _is_power_of_two(mask + 1):
            return call("bit_and", a, integer(~mask))
        case _:
            return checked("subtract", a, b)


def int_mod(a: Expr, b: Expr) -> Expr:
    """Python's remainder has the divisor's sign, Spark's the dividend's; `pmod` differs for negative divisors."""
    divisor = _positive(b)
    if divisor and _is_power_of_two(divisor):
        return call("bit_and", a, integer(divisor - 1))
    if divisor:
        return call("pmod", a, b)
    remainder = checked("rem", a, b)
    signs_differ = call("unequal", call("less", remainder, integer(0)), call("less", b, integer(0)))
    wrong_sign = call("and", call("unequal", remainder, integer(0)), signs_differ)
    return when(wrong_sign, call("add", remainder, b), remainder)


def _positive(b: Expr) -> int:
    """The divisor if it is a positive constant, with which nothing overflows or fails; else 0."""
    divisor = number(b)
    return int(divisor) if divisor is not None and divisor > 0 else 0


def _is_power_of_two(divisor: int) -> bool:
    return divisor & (divisor - 1) == 0


def int_truediv(a: Expr, b: Expr) -> Expr:
    """CPython rounds the true quotient once; dividing two rounded floats may round twice."""
    quotient = checked("divide", call("double", a), call("double", b))
    exact = conjunction(_is_exact_float(a), _is_exact_float(b))
    return guard(exact, quotient, "a quotient of ints beyond 2**53")


def _is_exact_float(a: Expr) -> Expr:
    value = number(a)
    if value is not None:
        return Literal(abs(value) <= EXACT_FLOAT, BOOL)
    return call("between", a, integer(-EXACT_FLOAT), integer(EXACT_FLOAT))


def int_power(a: Expr, exponent: int) -> Expr:
    """Spark's `pow` computes with floats and loses digits; a product does not."""
    product = a
    for _ in range(exponent - 1):
        product = checked("multiply", product, a)
    return product


def int_shift_left(a: Expr, bits: int) -> Expr:
    shifted = call("shift_left", a, integer(bits))
    return guard(call("equal", call("shift_right", shifted, integer(bits)), a), shifted, "an int beyond 64 bits")


def int_shift_right(a: Expr, bits: int) -> Expr:
    """Spark takes the number of bits modulo 64."""
    return call("shift_right", a, integer(min(bits, 63)))


# ---- float


def float_mod(a: Expr, b: Expr) -> Expr:
    """float_rem of CPython's floatobject.c: the remainder has the divisor's sign, also if it is zero."""
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
    """float_floor_div of CPython's floatobject.c as an expression."""
    if _constant(b) == 1:
        return _floor(a)
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


def _constant(b: Expr) -> float | None:
    """The value of a constant divisor, also of an int that was converted to a float."""
    return number(b.arguments[0] if isinstance(b, Call) and b.name == "double" else b)


def _floor(a: Expr) -> Expr:
    """`a // 1`: no intermediate result is rounded, -0.0 stays -0.0, and infinities and NaN give NaN."""
    infinite = call("equal", call("abs", a), Literal(math.inf, FLOAT))
    naught = call("equal", a, Literal(0.0, FLOAT))
    return Case(((infinite, Literal(math.nan, FLOAT)), (naught, a)), call("floor_double", a))


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
    value = number(a)
    return value is not None and not math.isnan(value)


def _unless_nan(condition: Expr, a: Expr) -> Expr:
    return condition if _is_number(a) else call("and", condition, negate(call("is_nan", a)))


def float_min(a: Expr, b: Expr) -> Expr:
    """`least` orders NaN last; Python takes the first argument unless the second is smaller."""
    return when(float_less(b, a), b, a)


def float_max(a: Expr, b: Expr) -> Expr:
    return when(float_greater(b, a), b, a)


def float_to_int(function: str) -> Form:
    """int, round, floor and ceil of a float, guarded: a cast to BIGINT saturates at 2**63 and gives 0 for NaN."""

    def form(a: Expr) -> Expr:
        above, below = Literal(-(2.0**63), FLOAT), Literal(2.0**63, FLOAT)
        # False for NaN, which is greatest in Spark.
        inside = conjunction(call("greater_equal", a, above), call("less", a, below))
        return guard(inside, checked("bigint", call(function, a) if function else a), "a float beyond 64 bits")

    return form


def float_sqrt(a: Expr) -> Expr:
    """Spark gives NaN where Python raises."""
    return guard(call("greater_equal", a, Literal(0.0, FLOAT)), call("sqrt", a), "the root of a negative number")


def float_text(a: Expr) -> Expr:
    """Java writes 1.0E7 where Python writes 10000000.0."""
    size = call("abs", a)
    plain = conjunction(call("greater_equal", size, Literal(1e-3, FLOAT)), call("less", size, Literal(1e7, FLOAT)))
    return guard(
        disjunction(plain, call("equal", a, Literal(0.0, FLOAT))), call("string", a), "the text of such a float"
    )


def bool_text(a: Expr) -> Expr:
    return when(a, text("True"), text("False"))


def mixed_compare(name: str) -> Form:
    """Compares an int with a float. Constants become ints. Others are guarded: a float cannot hold every int."""
    floats = {
        "equal": float_equal,
        "unequal": float_unequal,
        "less": float_less,
        "less_equal": float_less_equal,
        "greater": float_greater,
        "greater_equal": float_greater_equal,
    }[name]

    def form(a: Expr, b: Expr) -> Expr:
        value = number(b)
        if value is not None and math.isfinite(value) and abs(value) < EXACT_FLOAT and not a.raises:
            return _compare_with_constant(name, a, value)
        return guard(_is_exact_float(a), floats(call("double", a), b), "an int beyond 2**53 compared with a float")

    return form


def _compare_with_constant(name: str, a: Expr, value: float) -> Expr:
    """An int is less than 2.5 if it is less than 3, greater than 2.5 if greater than 2, and never equal to it."""
    if value == int(value):
        return call(name, a, integer(int(value)))
    if name.startswith("less"):
        return call("less", a, integer(math.ceil(value)))
    if name.startswith("greater"):
        return call("greater", a, integer(math.floor(value)))
    return Literal(name == "unequal", BOOL)


def int_hash(a: Expr) -> Expr:
    """`hash(n)`: the remainder by 2**61 - 1 with the sign. -1 is replaced by -2, because it is an error code in C."""
    prime = integer(2**61 - 1)
    size = call("pmod", checked("abs", a), prime)
    signed = when(call("less", a, integer(0)), call("negative", size), size)
    return when(call("equal", signed, integer(-1)), integer(-2), signed)


def bit_length(a: Expr) -> Expr:
    return when(call("equal", a, integer(0)), integer(0), call("length", call("bin", checked("abs", a))))


def bit_count(a: Expr) -> Expr:
    """`n.bit_count()` ignores the sign; Spark counts the bits of the two's complement."""
    return call("bit_count", checked("abs", a))


def with_base(prefix: str, function: str) -> Form:
    """`bin(n)` and `hex(n)`."""

    def form(a: Expr) -> Expr:
        digits = call("lower", call(function, checked("abs", a)))
        return call("concat", when(call("less", a, integer(0)), text("-" + prefix), text(prefix)), digits)

    return form


def float_extreme(function: str) -> Form:
    """The least or greatest of floats. Lists with NaN, which is greatest in Spark, are left to Python.

    Of 0.0 and -0.0, which are equal, Python gives the first.
    """

    def form(a: Expr) -> Expr:
        zero = Literal(0.0, FLOAT)
        found = call(function, a)
        zeros = Each("filter", a, "zero", call("equal", Variable("zero"), zero))
        first = when(call("equal", found, zero), call("get", zeros, integer(0)), found)
        whole = conjunction(call("greater", call("size", a), integer(0)), negate(call("is_nan", call("array_max", a))))
        return guard(whole, first, "the extreme of an empty list, or of NaN")

    return form


def is_infinite(a: Expr) -> Expr:
    return call("equal", call("abs", a), Literal(math.inf, FLOAT))


def is_finite(a: Expr) -> Expr:
    """In Spark NaN is greater than any number."""
    return call("less", call("abs", a), Literal(math.inf, FLOAT))
