"""Intervals of ints: expressions that are simpler because their operands are not negative, or cannot overflow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from morisot.compile.ir.expressions import Call, Case, Expr, Input, Literal, Raise, Shared, rebuilt
from morisot.compile.verdict import ColumnForm, Value
from morisot.types.element import INT

Interval = tuple[int, int]
"""The smallest and the largest value that an int may have."""
OfInput = Callable[[Input], Interval | None]

_ALL: Interval = (-(2**63), 2**63 - 1)
_LENGTH: Interval = (0, 2**31 - 1)


def joined(intervals: Iterable[Interval | None]) -> Interval | None:
    """An interval with the values of all; None if one of them is unknown.

    >>> joined([(0, 3), (-2, 1)])
    (-2, 3)
    """
    found = list(intervals)
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def simplified(form: ColumnForm, of_input: OfInput) -> tuple[ColumnForm, list[Interval | None]]:
    """The form with simpler arithmetic, and the interval of each leaf of its result."""
    known = _Known(of_input)
    entries = []
    for name, expr in form.shared:
        simple, known.shared[name] = known.simple(expr)
        entries.append((name, simple))
    found: list[Interval | None] = []
    result = _with_leaves(form.result, known, found)
    return ColumnForm(result, tuple(entries)), found


def _with_leaves(value: Value, known: _Known, found: list[Interval | None]) -> Value:
    """The value with simpler expressions. The intervals of its leaves are added to `found`."""
    if value.expr is None:
        return replace(value, items=tuple(_with_leaves(each, known, found) for each in value.items))
    expr, interval = known.simple(value.expr)
    found.append(interval)
    return replace(value, expr=expr)


@dataclass
class _Known:
    """What is known of the inputs of a form, and of its shared values."""

    of_input: OfInput
    shared: dict[str, Interval | None] = field(default_factory=dict)

    def simple(self, expr: Expr) -> tuple[Expr, Interval | None]:
        """The expression with simpler arithmetic, and its interval; None if it is unknown, or no int."""
        match expr:
            case Literal(value=int() as value, type=type_) if type_ == INT:
                return expr, (value, value)
            case Input():
                return expr, self.of_input(expr)
            case Shared(name):
                return expr, self.shared.get(name)
            case Case(branches, otherwise):
                results = [self.simple(each) for each in (*(then for _, then in branches), otherwise)]
                conditions = [self.simple(condition)[0] for condition, _ in branches]
                *thens, (last, _) = results
                changed = Case(tuple(zip(conditions, (then for then, _ in thens), strict=True)), last)
                return changed, joined(found for each, found in results if not isinstance(each, Raise))
            case Call():
                arguments = [self.simple(each) for each in expr.arguments]
                call = replace(expr, arguments=tuple(each for each, _ in arguments))
                return _simple_call(call, [found for _, found in arguments])
        return rebuilt(expr, lambda part: None if part is expr else self.simple(part)[0]), None


def _simple_call(call: Call, given: list[Interval | None]) -> tuple[Expr, Interval | None]:
    """A call with arguments of these intervals. Below zero Python's operators are not those of Spark."""
    found = _of_call(call.name, call.arguments, given)
    match call.name, call.arguments, given:
        case "pmod", (a, Literal(int() as divisor) as by), [(low, high), _] if low >= 0 and divisor > 0:
            return (a, (low, high)) if high < divisor else (Call("rem", (a, by)), found)
        case "add", (a, zero), [one, (0, 0)] if not zero.raises or _same_operands(a, zero):
            return a, one
        case (("add" | "subtract" | "multiply"), _, [(_, _), (_, _)]) if _fits(_exact(call.name, given)):
            return replace(call, fails=False), found
    return call, found


def _same_operands(quotient: Expr, sign: Expr) -> bool:
    """Whether the sign of a remainder is that of the same operands: then the quotient fails where the sign does."""
    match quotient, sign:
        case Call("div", operands), Call("shift_right", (Call("rem", others), _)):
            return operands == others
    return False


def _of_call(name: str, arguments: tuple[Expr, ...], given: list[Interval | None]) -> Interval | None:
    match name, arguments, given:
        case (("add" | "subtract" | "multiply"), _, [(_, _), (_, _)]):  # it fails beyond 64 bits
            low, high = _exact(name, given)
            return max(low, _ALL[0]), min(high, _ALL[1])
        case (("pmod" | "rem"), (_, Literal(int() as divisor)), [found, _]) if divisor > 0:
            if name == "pmod" or (found is not None and found[0] >= 0):
                return 0, divisor - 1
        case "bit_and", (_, Literal(int() as mask)), _ if mask >= 0:
            return 0, mask
        case "div", (_, Literal(int() as divisor)), [(low, high), _] if divisor > 0 and low >= 0:
            return low // divisor, high // divisor
        case "shift_right", (_, Literal(int() as bits)), [(low, high), _] if 0 <= bits <= 63:
            return low >> bits, high >> bits
        case (("length" | "octet_length"), _, _):
            return _LENGTH
    return None


def _exact(name: str, given: list[Interval | None]) -> Interval:
    """The interval of a sum, difference or product without a limit of bits."""
    one, other = (each or _ALL for each in given)
    if name == "add":
        return one[0] + other[0], one[1] + other[1]
    if name == "subtract":
        return one[0] - other[1], one[1] - other[0]
    products = [a * b for a, b in itertools.product(one, other)]
    return min(products), max(products)


def _fits(found: Interval) -> bool:
    return _ALL[0] <= found[0] and found[1] <= _ALL[1]
