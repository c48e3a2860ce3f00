"""Conditions of branches: an element goes to the branches that the function names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from morisot.compile.ir.branch_conditions import branch_condition
from morisot.compile.ir.expressions import Call
from morisot.compile.syntax.function import compile_function
from morisot.compile.verdict import ColumnForm
from morisot.types.element import INT
from tests.compile.spark_ints import value_of

CONSTANT: list[Callable[[int], Any]] = [
    lambda n: [0, 1] if n % 3 == 0 else ([1, 2] if n % 3 == 1 else [2]),
    lambda n: 1 if n < 3 else 2 if n < 5 else 0,
    lambda n: [0] if n < 2 else [1] if n < 4 else [0, 1, 2] if n < 6 else [0],
    lambda n: [2],
    lambda n: (2, 0),
    lambda n: [0, 2] if n < 3 or n == 5 else [],
]
COMPUTED: list[Callable[[int], Any]] = [
    lambda n: (0, 1) if n < 3 else (1, 2),
    lambda n: n % 3,
    lambda n: [n % 3, 1],
    lambda n: [0] if n < 3 else [n % 3],
    lambda n: [0] if n < 3 else [3],  # there is no such branch
]


def conditions(function: Callable[[int], Any]) -> list[Any]:
    form = compile_function(function, (INT,))
    assert isinstance(form, ColumnForm)
    return [branch_condition(form.result, number, 3) for number in range(3)]


@pytest.mark.parametrize("function", CONSTANT)
def test_an_element_goes_to_the_branches_that_are_named(function: Callable[[int], Any]) -> None:
    for number, condition in enumerate(conditions(function)):
        for n in range(8):
            named = function(n)
            expected = number == named if isinstance(named, int) else number in named
            assert bool(value_of(condition, [n])) == expected


@pytest.mark.parametrize("function", COMPUTED)
def test_computed_branches_have_no_condition(function: Callable[[int], Any]) -> None:
    assert None in conditions(function)


def test_conditions_are_short() -> None:
    low, middle, high = conditions(CONSTANT[0])
    assert isinstance(low, Call)
    assert (low.name, middle.name) == ("equal", "or")
    assert len(high.branches) == 1
