"""Declared types on every engine: an empty list or dict does not hide them, and every value is checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest

import morisot as mo
from tests.operators.engines import Runner


@dataclass(frozen=True)
class Tags:
    n: int
    tags: list[str]


@dataclass(frozen=True)
class Bag:
    """Fields that are empty unless they are given."""

    n: int
    tags: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def opaque(value: Any) -> Any:
    """A function without a column form."""
    return value if math.sin(1) else None


def appended(held: list[int], n: int) -> list[int]:
    return [*held, opaque(n)]


def both(left: list[int], right: list[int]) -> list[int]:
    return opaque(left) + right  # type: ignore[no-any-return]


def counted(held: dict[str, int], n: int) -> dict[str, int]:
    return {**held, str(opaque(n)): n}


def numbered(held: list[int], n: int) -> tuple[list[int], int]:
    return [*held, opaque(n)], len(held)


@pytest.fixture
def reference() -> mo.StreamContext:
    return mo.StreamContext(engine="reference")


@pytest.mark.parametrize(
    ("elements", "type_"),
    [
        ([[], [1, 2]], "list[int]"),
        ([[1], [], [None]], "list[int | None]"),
        ([{}, {"a": 1.5}], "dict[str, float]"),
        ([([], 1), (["a"], 2)], "tuple[list[str], int]"),
        ([None, [], [1]], "list[int] | None"),
        ([[[]], [[1]]], "list[list[int]]"),
        ([{"a": []}, {"a": [1]}], "dict[str, list[int]]"),
        ([[]], "object"),
        ([[], {}], "object"),
    ],
)
def test_an_empty_list_has_every_list_type(reference: mo.StreamContext, elements: list[Any], type_: str) -> None:
    assert str(reference.stream_iter(elements).type) == type_


def test_declared_fields_keep_their_types(runner: Runner) -> None:
    def typed(s: Any) -> Any:
        types = [str(child) for _, child in s.type.children]
        assert types == ["int", "list[str]"]
        return s.map(lambda t: (t.n, len(t.tags), t.tags))

    assert runner.run(typed, [Tags(2, []), Tags(3, ["a"])]) == [(2, 0, []), (3, 1, ["a"])]
    assert runner.run(typed, [Tags(2, [])]) == [(2, 0, [])]


def test_fields_that_are_left_out_keep_their_types(runner: Runner) -> None:
    def typed(s: Any) -> Any:
        several = [s.map(lambda n: Bag(n)), s.map(lambda n: Bag(opaque(n) or 0, counts={"a": n}))]
        assert {str(child) for each in several for _, child in each.type.children} == {
            *("int", "list[str]", "dict[str, int]")
        }
        return several[0].merge(several[1])

    made = [Bag(1), Bag(2), Bag(1, counts={"a": 1}), Bag(2, counts={"a": 2})]
    assert sorted(runner.run(typed, [1, 2]), key=repr) == sorted(made, key=repr)


def test_a_closure_constructs_a_record_with_an_empty_list(runner: Runner) -> None:
    def typed(s: Any) -> Any:
        made = s.map(lambda n: Tags(n, []))
        assert [str(child) for _, child in made.type.children] == ["int", "list[str]"]
        return made

    assert runner.run(typed, [1]) == [Tags(1, [])]


def test_stream_iter_with_a_declared_type(ctx: mo.StreamContext) -> None:
    empty: mo.Stream[int] = ctx.stream_iter([], returns=int)
    assert str(empty.type) == "int"
    assert empty.map(lambda n: n + 1).collect() == []
    lists: mo.Stream[list[int]] = ctx.stream_iter([[], []], returns=list[int])
    assert str(lists.type) == "list[int]"
    assert lists.map(lambda ns: sum(ns)).collect() == [0, 0]
    assert str(ctx.stream_iter(range(2), returns=int).type) == "int"
    assert str(ctx.stream_iter([[1, "a"]], returns=list[object]).type) == "list[object]"
    assert ctx.stream_iter([1, None], returns=int | None).collect() == [1, None]


@pytest.mark.parametrize(("elements", "declared"), [([1, 2.5], float), ([[1], ["a"]], list[int]), (range(2), str)])
def test_stream_iter_checks_its_elements(reference: mo.StreamContext, elements: Any, declared: Any) -> None:
    with pytest.raises(mo.PlanError, match=r"declared to have elements of the type .* is not one"):
        reference.stream_iter(elements, returns=declared)


def test_folds_from_nothing_have_the_declared_type(reference: mo.StreamContext) -> None:
    s: Any = reference.stream_iter([1, 2])
    keyed = s.group_by(lambda n: n % 2)
    windows, keyed_windows = s.window_all(mo.CountWindow.tumbling(2)), keyed.window(mo.CountWindow.tumbling(2))
    lists = list[int]
    found = {
        "fold": s.fold([], appended),
        "fold, dict": s.fold({}, counted),
        "returns": s.fold([], lambda held, n: [*held, hash(n)], returns=lists),
        "fold_scan": s.fold_scan([], appended),
        "fold_scan, returns": s.fold_scan([], lambda held, n: [*held, hash(n)], returns=lists),
        "fold_assoc": s.fold_assoc([], appended, both),
        "fold_assoc, returns": s.fold_assoc([], lambda a, n: [*a, hash(n)], lambda a, b: a + b, returns=lists),
        "group_by_fold": s.group_by_fold(
            lambda n: n, [], lambda a, n: [*a, hash(n)], lambda a, b: a + b, returns=lists
        ),
        "keyed fold": keyed.fold([], appended),
        "keyed fold, returns": keyed.fold([], lambda held, n: [*held, hash(n)], returns=lists),
        "keyed fold_assoc": keyed.fold_assoc([], appended, both, returns=lists),
        "keyed fold_scan": keyed.fold_scan([], appended, returns=lists),
        "window": windows.fold([], appended),
        "window, returns": windows.fold([], lambda held, n: [*held, hash(n)], returns=lists),
        "keyed window": keyed_windows.fold([], lambda held, n: [*held, hash(n)], returns=lists),
        "aggregate": windows.aggregate(all=mo.agg.fold([], lambda held, n: [*held, hash(n)], returns=lists)).map(
            lambda row: row.all
        ),
        "rich_map": s.rich_map([], numbered),
    }
    assert {name: str(stream.type) for name, stream in found.items()} == {
        "fold": "list[int]",
        "fold, dict": "dict[str, int]",
        "returns": "list[int]",
        "fold_scan": "tuple[int, list[int]]",
        "fold_scan, returns": "tuple[int, list[int]]",
        "fold_assoc": "list[int]",
        "fold_assoc, returns": "list[int]",
        "group_by_fold": "int → list[int]",
        "keyed fold": "int → list[int]",
        "keyed fold, returns": "int → list[int]",
        "keyed fold_assoc": "int → list[int]",
        "keyed fold_scan": "int → tuple[int, list[int]]",
        "window": "list[int]",
        "window, returns": "list[int]",
        "keyed window": "int → list[int]",
        "aggregate": "list[int]",
        "rich_map": "int",
    }
    assert found["returns"].collect() == [[1, 2]]


def test_a_fold_from_an_empty_list(runner: Runner) -> None:
    folded = runner.run(lambda s: s.fold([], appended).map(lambda ns: (len(ns), ns)), [1, 2, 3])
    assert folded[-1] == (3, [1, 2, 3])


def test_a_fold_that_returns_another_type_fails(runner: Runner) -> None:
    program = lambda s: s.fold([], lambda held, n: [*held, str(opaque(n))], returns=list[int])  # noqa: E731
    with pytest.raises(mo.ElementError, match="'1' .str. is not of the type int"):
        runner.run(program, [1])


def test_a_fold_starts_from_its_declared_type(reference: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"fold starts from \[\], which is not of the type int"):
        reference.stream_iter([1]).fold([], lambda held, n: held, returns=int)
