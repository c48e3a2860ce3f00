"""Whether a function of a list depends on the order of the list: then the list of a window is sorted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from morisot.compile.ir.expressions import Each, Expr, Input, Shared, walk
from morisot.compile.ir.list_order import depends_on_order
from morisot.compile.ir.nonempty import of_nonempty
from morisot.compile.ir.per_row import computed_once
from morisot.compile.syntax.function import compile_function
from morisot.compile.verdict import ColumnForm
from morisot.types.element import FLOAT, INT, STR, List, Tuple, Type

PAIRS = List(Tuple((INT, STR)))
INTS = List(INT)
LIMIT = 2


def hottest(pairs: list[tuple[int, str]]) -> list[tuple[int, str]]:
    most = max(n for n, _ in pairs)
    return sorted(pair for pair in pairs if pair[0] == most)


def spread(ns: list[int]) -> int:
    if len(ns) > 2:
        return max(ns) - min(ns)
    return 0


BLIND: list[tuple[Callable[..., Any], Type]] = [
    (len, PAIRS),
    (hottest, PAIRS),
    (spread, INTS),
    (sorted, INTS),
    (lambda ns: sum(ns) / len(ns), INTS),
    (lambda ns: (min(ns), max(ns), len(ns), sum(n * n for n in ns if n > 1)), INTS),
    (lambda ns: 2 in ns, INTS),
    (lambda ns: any(n > 1 for n in ns) and all(n < 9 for n in ns), INTS),
    (lambda ns: max([*ns, LIMIT]), INTS),
    (lambda ns: max(ns + [5]) if len(ns) > 1 else 0, INTS),  # noqa: RUF005
    (lambda ps: max((s, n) for n, s in ps), PAIRS),
    (lambda ps: sorted((s, n) for n, s in ps)[1], PAIRS),
    (lambda ps: sorted(ps, reverse=True)[:LIMIT], PAIRS),
    (lambda ns: sum(n for n in ns if n == max(ns)), INTS),
]
SEEING: list[tuple[Callable[..., Any], Type]] = [
    (lambda ns: ns, INTS),
    (lambda ns: ns[0], INTS),
    (lambda ns: ns[-1] - min(ns), INTS),
    (lambda ns: [n for n in ns if n > 1], INTS),
    (lambda ps: ",".join(s for _, s in ps), PAIRS),
    (lambda ps: max(ps, key=lambda p: p[0]), PAIRS),
    (lambda ps: sorted(ps, key=lambda p: p[1]), PAIRS),
    (lambda ns: [i * n for i, n in enumerate(ns)], INTS),
    (lambda ns: ns == [1, 2], INTS),
    (lambda ns: sum([n / 3 for n in ns]), INTS),
    (lambda xs: max(xs), List(FLOAT)),
    (lambda ns: any(6 // n > 1 for n in ns), INTS),
    (lambda ns: next((n for n in ns if n > 1), 0), INTS),
    (lambda ns: ns if len(ns) > 1 else [0], INTS),
]


def seen(function: Callable[..., Any], type_: Type) -> bool:
    form = compile_function(function, (type_,))
    assert isinstance(form, ColumnForm), form
    return depends_on_order(form, Input(0))


@pytest.mark.parametrize(("function", "type_"), BLIND)
def test_a_function_that_does_not_depend_on_the_order(function: Callable[..., Any], type_: Type) -> None:
    assert not seen(function, type_)
    items: list[Any] = [3, 1, 3, 2] if type_ == INTS else [(3, "a"), (3, "b"), (1, "c"), (3, "a")]
    assert len({repr(function(list(order))) for order in itertools.permutations(items)}) == 1


@pytest.mark.parametrize(("function", "type_"), SEEING)
def test_a_function_that_depends_on_the_order(function: Callable[..., Any], type_: Type) -> None:
    assert seen(function, type_)


EMPTY_FAILS = [
    (hottest, PAIRS),
    (lambda ns: (min(ns), max([n // 2 for n in ns]), sorted(ns)), INTS),
    (lambda ps: max(ps, key=lambda p: p[1]), PAIRS),
]


@pytest.mark.parametrize(("function", "type_"), EMPTY_FAILS)
def test_the_guards_against_an_empty_list_are_removed(function: Callable[..., Any], type_: Type) -> None:
    form = compile_function(function, (type_,))
    assert isinstance(form, ColumnForm)
    assert form.raises
    assert not of_nonempty(form, Input(0)).raises


def test_other_guards_stay() -> None:
    for function in (lambda ns: ns[1], lambda ns: max(n for n in ns if n > 1), lambda ns: 1 // max(ns)):
        form = compile_function(function, (INTS,))
        assert isinstance(form, ColumnForm)
        assert of_nonempty(form, Input(0)).raises


def read_in_functions(expr: Expr) -> set[str]:
    """The shared values that a function of each item reads."""
    bodies = [each.body for each in walk(expr) if isinstance(each, Each)]
    return {part.name for body in bodies for part in walk(body) if isinstance(part, Shared)}


def test_values_that_items_are_compared_with_are_computed_once() -> None:
    form = compile_function(hottest, (PAIRS,))
    assert isinstance(form, ColumnForm)
    assert set().union(*map(read_in_functions, form.result.leaves()))
    once = computed_once(form)
    assert not set().union(*map(read_in_functions, (*once.result.leaves(), *(expr for _, expr in once.shared))))
