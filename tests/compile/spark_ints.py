"""What Spark computes of expressions of ints, in ANSI mode."""

from __future__ import annotations

import math
from collections.abc import Sequence

from morisot.compile.ir.expressions import Call, Case, Expr, Input, Literal


class Overflow(Exception):  # noqa: N818 - Spark's error
    pass


def value_of(expr: Expr, inputs: Sequence[int]) -> int:
    """What Spark computes in ANSI mode."""
    match expr:
        case Input(parameter):
            return inputs[parameter]
        case Literal(value):
            return int(value)
        case Case(branches, otherwise):
            taken = (then for condition, then in branches if value_of(condition, inputs))
            return value_of(next(taken, otherwise), inputs)
        case Call("or", (one, other)):
            return int(bool(value_of(one, inputs)) or bool(value_of(other, inputs)))
        case Call(name, arguments, fails):
            a, b = (value_of(each, inputs) for each in arguments)
            found = of_call(name, a, b)
            if not -(2**63) <= found < 2**63:
                assert fails
                raise Overflow
            return found
    raise AssertionError(expr)


def of_call(name: str, a: int, b: int) -> int:
    match name:
        case "add":
            return a + b
        case "subtract":
            return a - b
        case "multiply":
            return a * b
        case "pmod":
            return a % b
        case "rem":
            return int(math.copysign(1, a)) * (abs(a) % b)
        case "div":
            return int(math.copysign(1, a)) * (abs(a) // b)
        case "shift_right":
            return a >> b
        case "bit_and":
            return a & b
        case "less":
            return int(a < b)
        case "equal":
            return int(a == b)
    raise AssertionError(name)
