"""Values without an order: operators that compare them raise the error of Python on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.engines import Runner


@dataclass(frozen=True)
class Unordered:
    n: int


@dataclass(frozen=True, order=True)
class Ordered:
    n: int
    name: str = "n"


@dataclass(frozen=True, order=True)
class ByName:
    n: int = field(compare=False)
    name: str


@dataclass(frozen=True)
class Backwards:
    n: int

    def __lt__(self, other: Backwards) -> bool:
        return self.n > other.n

    def __gt__(self, other: Backwards) -> bool:
        return self.n < other.n


class Pair(NamedTuple):
    a: int
    b: str


class BackwardsPair(NamedTuple):
    a: int
    b: str

    def __lt__(self, other: Any) -> bool:
        return bool(self.a > other.a)

    def __gt__(self, other: Any) -> bool:
        return bool(self.a < other.a)


@dataclass(frozen=True)
class Holder:
    key: Any


VALUES: dict[str, list[Any]] = {
    "unordered": [Unordered(2), Unordered(1)],
    "in a tuple": [(Unordered(2), 1), (Unordered(1), 1)],
    "dict": [{"a": 2}, {"a": 1}],
    "None": [None, 1],
    "all None": [None, None],
    "None in a tuple": [(1, None), (1, 2)],
    "mixed": ["a", 1],
    "complex": [1j, 2j],
    "ordered": [Ordered(2), Ordered(1)],
    "by name": [ByName(1, "b"), ByName(2, "a")],
    "backwards": [Backwards(1), Backwards(2)],
    "backwards in a tuple": [(Backwards(1), 1), (Backwards(2), 1)],
    "pair": [Pair(2, "a"), Pair(1, "b")],
    "backwards pair": [BackwardsPair(1, "a"), BackwardsPair(2, "b")],
    "equal before others": [(1, Unordered(1)), (2, Unordered(1))],
    "lists": [[2], [1]],
}

OPERATORS: dict[str, Callable[[Any], Any]] = {
    "sorted_by": lambda s: s.sorted_by(lambda p: p[0]),
    "sorted_limit_by": lambda s: s.sorted_limit_by(lambda p: p[0], 1),
    "min_element": lambda s: s.group_by_min_element(lambda p: 0, lambda p: p[0]),
    "max_element": lambda s: s.group_by_max_element(lambda p: 0, lambda p: p[0]),
    "window": lambda s: s.window_all(mo.CountWindow.tumbling(2, exact=False)).min_element(lambda p: p[0]),
    "window max": lambda s: s.map(lambda p: p[0]).window_all(mo.CountWindow.tumbling(2, exact=False)).max(),
}


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except mo.ElementError as error:
        return type(error.__cause__).__name__, str(error.__cause__)
    except mo.PlanError:
        return "refused"


def of_python(operator: str, values: list[Any]) -> Any:
    """What Python gives for pairs of a value and its index."""
    pairs = [(value, index) for index, value in enumerate(values)]
    first: Callable[[], Any] = {
        "sorted_by": lambda: sorted(pairs, key=lambda p: p[0]),
        "sorted_limit_by": lambda: sorted(pairs, key=lambda p: p[0])[:1],
        "min_element": lambda: [(0, min(pairs, key=lambda p: p[0]))],
        "max_element": lambda: [(0, max(pairs, key=lambda p: p[0]))],
        "window": lambda: [min(pairs, key=lambda p: p[0])],
        "window max": lambda: [max(values)],
    }[operator]
    try:
        return first()
    except TypeError as error:
        return "TypeError", str(error)


DIFFERENT = ["unordered", "in a tuple", "by name", "backwards pair"]
"""Values whose columns Spark could sort in another order."""


def check(runner: Runner, operator: str, values: list[Any]) -> None:
    pairs = [(value, index) for index, value in enumerate(values)]
    found = outcome(lambda: runner.run(OPERATORS[operator], pairs))
    assert found in (of_python(operator, values), "refused")


@pytest.mark.parametrize("name", VALUES)
def test_only_records_that_compare_by_their_fields_are_sorted_natively(name: str) -> None:
    ctx = mo.StreamContext(engine="reference")
    pairs = [(value, index) for index, value in enumerate(VALUES[name])]
    (form,) = [each.form for each in OPERATORS["sorted_by"](ctx.stream_iter(pairs)).forms()]
    native = {"ordered", "pair", "None", "None in a tuple"}
    assert form == ("column" if name in native else "stage")


@pytest.mark.parametrize("name", DIFFERENT)
def test_records_are_sorted_as_in_python(bounded_runner: Runner, name: str) -> None:
    check(bounded_runner, "sorted_by", VALUES[name])


@pytest.mark.bounded_thorough
@pytest.mark.parametrize("operator", OPERATORS)
def test_values_are_compared_as_in_python(bounded_runner: Runner, operator: str) -> None:
    for values in VALUES.values():
        check(bounded_runner, operator, values)
        check(bounded_runner, operator, values[:1])


@dataclass(frozen=True)
class Partly:
    n: int
    note: str = field(compare=False)


@dataclass(frozen=True, eq=False)
class Itself:
    n: int


def test_keys_are_compared_as_in_python(runner: Runner) -> None:
    found = runner.run(lambda s: s.group_by_count(lambda p: p), [Partly(1, "a"), Partly(1, "b"), Partly(2, "c")])
    assert {key.n: count for key, count in found} == {1: 2, 2: 1}


def test_a_key_without_equality_is_refused(runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match="its equality is not known outside one process"):
        runner.run(lambda s: s.group_by_count(lambda p: p), [Itself(1), Itself(1)])


def test_unique_takes_elements_that_compare_by_all_fields() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([Partly(1, "a"), Partly(1, "b")])
    with pytest.raises(mo.PlanError, match="by all fields"):
        stream.unique()
    assert stream.unique_by(lambda p: p).collect() == [Partly(1, "a")]
