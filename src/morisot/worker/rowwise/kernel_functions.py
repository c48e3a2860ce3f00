"""Functions that generated text calls: plain Python on numbers, compiled by numba.

The first few are replaced when numba compiles: by processor instructions, and by functions of the C library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def multiply(left: int, right: int) -> tuple[int, bool]:
    """The product, and whether it is beyond 64 bits."""
    return left * right, not -(2**63) <= left * right < 2**63


def c_fmod(left: float, right: float) -> float:
    """Replaced by the function of the C library."""
    return math.fmod(left, right)


def c_floor(value: float) -> float:
    """Replaced by the function of the C library."""
    return float(math.floor(value))


def int_power(base: int, exponent: int) -> tuple[bool, int]:
    """`base ** exponent`, if it is an int of 64 bits."""
    if exponent < 0:
        return False, 0
    result = 1
    while exponent > 0:
        if exponent & 1:
            result, overflow = multiply(result, base)
            if overflow:
                return False, 0
        exponent >>= 1
        if exponent > 0:
            base, overflow = multiply(base, base)
            if overflow:
                return False, 0
    return True, result


def float_modulo(left: float, right: float) -> float:
    """`left % right`, as in CPython's float_rem."""
    rest = c_fmod(left, right)
    if rest != 0.0:
        if (right < 0.0) != (rest < 0.0):
            rest += right
    else:
        rest = math.copysign(0.0, right)
    return rest


def float_floor_divide(left: float, right: float) -> float:
    """`left // right`, as in CPython's float_floor_div."""
    rest = c_fmod(left, right)
    quotient = (left - rest) / right
    if rest != 0.0 and (right < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient != 0.0:
        whole = c_floor(quotient)
        if quotient - whole > 0.5:
            whole += 1.0
    else:
        whole = math.copysign(0.0, left / right)
    return whole


def c_rint(value: float) -> float:
    """Replaced by the function of the C library."""
    return math.copysign(float(round(value)), value)


def round_to_digits(value: float, factor: float) -> tuple[bool, float]:
    """`round(value, n)` with factor = 10.0 ** n. A tie is recognised by the product's rounding error (Dekker)."""
    product = value * factor
    if not abs(product) < 4503599627370496.0:
        return (value - value) != 0.0, value  # infinities and NaN are unchanged; other large values are left to Python
    nearest = c_rint(product)
    part = product - nearest
    if part in (0.5, -0.5):
        scaled = value * 134217729.0
        high = scaled - (scaled - value)
        low = value - high
        scaled = factor * 134217729.0
        factor_high = scaled - (scaled - factor)
        factor_low = factor - factor_high
        error = ((high * factor_high - product) + high * factor_low + low * factor_high) + low * factor_low
        if part > 0.0 and error > 0.0:
            nearest += 1.0
        elif part < 0.0 and error < 0.0:
            nearest -= 1.0
    return True, nearest / factor


def int_root(value: int) -> tuple[bool, int]:
    """`math.isqrt(value)`."""
    if value < 0:
        return False, 0
    root = int(math.sqrt(float(value)))
    while root * root > value or root > 3037000499:
        root -= 1
    while root < 3037000499 and (root + 1) * (root + 1) <= value:
        root += 1
    return True, root


def int_gcd(left: int, right: int) -> tuple[bool, int]:
    """`math.gcd(left, right)`."""
    if left == -9223372036854775808 or right == -9223372036854775808:
        return False, 0
    left, right = abs(left), abs(right)
    while right != 0:
        left, right = right, left % right
    return True, left


COMPILED: tuple[Callable[..., Any], ...] = (
    int_power, float_modulo, float_floor_divide, round_to_digits, int_root, int_gcd,
)  # fmt: skip
