"""Intervals of ints: the values of expressions are in them, and simpler expressions have the same values."""

from __future__ import annotations

import random

import pytest

import morisot as mo
from morisot.compile.ir.expressions import Call, Case, Expr, Input, Literal
from morisot.compile.ir.intervals import Interval, simplified
from morisot.compile.verdict import ColumnForm, Value
from morisot.physical.job import plan_stream
from morisot.types.element import BOOL, INT
from tests.compile.spark_ints import Overflow, value_of

CONSTANTS = (-(2**62), -7, -1, 0, 1, 2, 3, 7, 10, 63, 2**31, 2**62)


def drawn(chance: random.Random, depth: int) -> Expr:
    """An expression of arithmetic, as the compiler writes it."""
    if depth == 0 or chance.random() < 0.1:
        return chance.choice([Input(0), Input(1), Literal(chance.choice(CONSTANTS), INT)])
    one, other = drawn(chance, depth - 1), drawn(chance, depth - 1)
    positive = Literal(chance.choice([1, 2, 3, 10, 2**40]), INT)
    match chance.randrange(6):
        case 0:
            return Call("pmod", (one, positive))
        case 1:  # a floor division
            sign = Call("shift_right", (Call("rem", (one, positive)), Literal(63, INT)))
            return Call("add", (Call("div", (one, positive)), sign))
        case 2:
            return Call("shift_right", (one, Literal(chance.choice([0, 1, 63]), INT)))
        case 3:
            return Call("bit_and", (one, Literal(chance.choice([0, 1, 255]), INT)))
        case 4:
            return Case(((Call("less", (one, other)), one),), other)
        case _:
            return Call(chance.choice(["add", "subtract", "multiply"]), (one, other), fails=True)


@pytest.mark.parametrize("number", range(4))
def test_values_are_in_the_interval_and_unchanged(number: int, chance: random.Random) -> None:
    for _ in range(300):
        bounds = [drawn_interval(chance), drawn_interval(chance)]
        expr = drawn(chance, 4)
        form, (found,) = simplified(ColumnForm(Value(INT, expr)), lambda leaf, given=bounds: given[leaf.parameter])  # type: ignore[misc]
        assert form.result.expr is not None
        for _ in range(20):
            inputs = [drawn_value(chance, each) for each in bounds]
            try:
                value = value_of(expr, inputs)
            except Overflow:
                with pytest.raises(Overflow):
                    value_of(form.result.expr, inputs)
                continue
            assert value_of(form.result.expr, inputs) == value
            assert found is None or found[0] <= value <= found[1]


def drawn_interval(chance: random.Random) -> Interval | None:
    if chance.random() < 0.2:
        return None
    first, last = sorted(chance.choices((*CONSTANTS, -(2**63), 2**63 - 1), k=2))
    return first, last


def drawn_value(chance: random.Random, bounds: Interval | None) -> int:
    low, high = bounds or (-(2**63), 2**63 - 1)
    return chance.choice([low, high, chance.randint(low, high), min(max(0, low), high), min(max(-1, low), high)])


def arithmetic(stream: mo.Stream[int]) -> list[tuple[list[str], bool]]:
    """The names of the calls of each column form, and whether it may fail."""
    choices = plan_stream(stream._node).plan.choices.values()
    forms = [(form, choice.may_fail) for choice in choices for form in choice.columns.values()]
    return [([each.name for each in calls(form.result.leaves()[0])], may_fail) for form, may_fail in forms]


def calls(expr: Expr) -> list[Call]:
    return [*([expr] if isinstance(expr, Call) else []), *(each for part in expr.parts for each in calls(part))]


def test_the_ints_of_a_range_are_followed_through_operators() -> None:
    ctx = mo.StreamContext(engine="reference")
    numbers = ctx.stream_par_iter(range(0, 1000, 7)).map(lambda n: n * 2 + 1).filter(lambda n: n % 3 == 0)
    found = arithmetic(numbers.map(lambda n: n // 10).map(lambda n: -n).map(lambda n: n % 7))
    assert found[0] == (["add", "multiply"], False)
    assert [names for names, _ in found[1:3]] == [["equal", "rem"], ["div"]]
    assert found[-1] == (["pmod"], False)
    assert arithmetic(ctx.stream_par_iter(range(-1, 9)).map(lambda n: n % 3)) == [(["pmod"], False)]
    assert arithmetic(ctx.stream_iter([1]).map(lambda n: n + 1)) == [(["add"], True)]
    assert arithmetic(ctx.stream_par_iter(range(2**62)).map(lambda n: n * 3)) == [(["multiply"], True)]


def test_the_branches_of_a_range_are_followed() -> None:
    ctx = mo.StreamContext(engine="reference")
    low, high = ctx.stream_par_iter(range(100)).split_by(lambda n: [0, 1] if n % 3 == 0 else [1], 2)
    assert arithmetic(low.map(lambda n: n + 1).merge(high).map(lambda n: n % 5))[-1] == (["rem"], False)
    assert arithmetic(low.map(lambda n: n - 1).merge(high).map(lambda n: n % 5))[-1] == (["pmod"], False)


def test_truth_is_no_int() -> None:
    form, (found,) = simplified(ColumnForm(Value(BOOL, Literal(True, BOOL))), lambda _: (0, 1))
    assert (form.result.expr, found) == (Literal(True, BOOL), None)
