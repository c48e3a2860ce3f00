"""Which parts of an element are not None after a filter: the type, and that CPython agrees."""

from __future__ import annotations

import functools
import itertools
import math
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.compile.nullness.predicates import where_false, where_true
from morisot.errors import Location
from morisot.plan.analysis.fingerprint import type_text
from morisot.plan.nodes.closure import Closure
from morisot.types.element import FLOAT, INT, STR, Keyed, Optional, Tuple, Type
from morisot.types.infer import of_annotation
from morisot.worker.codec.fits import fitting


class Row(NamedTuple):
    k: str
    x: int | None
    y: float | None


@dataclass
class Box:
    row: Row | None
    tags: list[str] | None
    n: int | None = None


CODES = frozenset({1, 2})
MIXED = (1, None)
LIMIT = 3


def is_there(value: object) -> bool:
    return value is not None


def is_missing(row: Row) -> bool:
    if row.x is None:
        return True
    return row.y is None


def has_x(row: Row) -> bool:
    return is_there(row.x)


def early(row: Row) -> Any:
    if row.x is None:
        return False
    value = row.y
    if value is None:
        return None
    return hash(row.k) is not None


def unpacks(row: Row) -> bool:
    _, x, y = row
    return x is not None and (z := y) is not None and z == z


def sets_again(row: Row) -> bool:
    x = row.x
    x = x or 1
    return x is not None


def loops(row: Row) -> bool:
    for letter in row.k:  # noqa: SIM110
        if row.x is not None and letter:
            return True
    return False


def breaks(row: Row) -> bool:
    while row.x is not None:
        break
    return True


def tries(row: Row) -> bool:
    try:
        return row.x + 1 > 0  # type: ignore[operator]
    except TypeError:
        return True


def tries_well(row: Row) -> bool:
    try:
        known = row.x + row.y > 0  # type: ignore[operator]
    except TypeError:
        return False
    return known


def finally_true(row: Row) -> bool:
    try:
        return row.x is not None
    finally:
        return True  # noqa: B012, SIM107


def matches(row: Row) -> bool:
    match row.x:
        case None:
            return False
        case 3:
            return True
    return row.y is not None


def falls_through(row: Row) -> Any:  # noqa: RET503
    if row.x is not None:
        return True


def forgets(box: Box) -> bool:
    there = box.n is not None
    box.n = None
    return there


def calls_forgets(box: Box) -> bool:
    return box.n is not None and forgets(box)


def rebinds(row: Row) -> bool:
    row = Row("", 1, 1.0)
    return row.x is not None


ROWS: list[tuple[Callable[[Row], Any], str]] = [
    (lambda r: r.x is not None, "x"),
    (lambda r: None is not r.x, "x"),
    (lambda r: r.x != None, "x"),
    (lambda r: not r.x == None, "x"),  # noqa: SIM201
    (lambda r: r.x is None, ""),
    (lambda r: r.x, "x"),
    (lambda r: not r.x, ""),
    (lambda r: not not r.x, "x"),  # noqa: SIM208
    (lambda r: bool(r.x) and r.y, "xy"),
    (lambda r: r.x or r.y, ""),
    (lambda r: r.x is not None or r.y is not None, ""),
    (lambda r: (r.x is not None and r.y) or r.x == 3, "x"),
    (lambda r: not (r.x is None or r.y is None), "xy"),
    (lambda r: not (r.x is None and r.y is None), ""),
    (lambda r: r[1] is not None and r[-1] is not None, "xy"),
    (lambda r: r.x if r.y is None else False, "x"),
    (lambda r: r.x if r.y is None else r.x, "x"),  # noqa: RUF034
    (lambda r: r.x is not None if r.k else r.x == 4, "x"),
    (lambda r: r.x == 3, "x"),
    (lambda r: r.x == r.y, ""),
    (lambda r: r.x != 3, ""),
    (lambda r: r.x in (1, 2), "x"),
    (lambda r: r.x in CODES, "x"),
    (lambda r: r.x in MIXED, ""),
    (lambda r: r.x in (r.y, 1), ""),
    (lambda r: r.x not in (1, 2), ""),
    (lambda r: None not in (r.x, r.y), "xy"),
    (lambda r: None not in [r.x, 1] and r.y in (1, 2), "xy"),
    (lambda r: None in (r.x, r.y), ""),
    (lambda r: not (None in (r.x, 1)), "x"),  # noqa: E713
    (lambda r: None not in (r.x or 1, r.y), "y"),
    (lambda r: r.x > LIMIT, "x"),  # type: ignore[operator]
    (lambda r: 0 < r.x < 10 and hash(r.k), "x"),  # type: ignore[operator]
    (lambda r: 0 < LIMIT < r.x, "x"),  # type: ignore[operator]
    (lambda r: not 0 < LIMIT < r.x, ""),  # type: ignore[operator]
    (lambda r: not 0 > LIMIT < r.x, ""),  # type: ignore[operator]
    (lambda r: r.x + 1 > r.y * 2, "xy"),  # type: ignore[operator]
    (lambda r: -r.x or True, "x"),  # type: ignore[operator]
    (lambda r: "%s" % r.x, ""),  # noqa: UP031
    (lambda r: f"{r.x}" != "1", ""),
    (lambda r: str(r.x) > "", ""),
    (lambda r: math.floor(r.y) >= 0, "y"),  # type: ignore[arg-type]
    (lambda r: abs(r.x) < 5 and int(r.y) == 2, "xy"),  # type: ignore[arg-type]
    (lambda r: isinstance(r.x, int), "x"),
    (lambda r: isinstance(r.x, int | None), ""),
    (lambda r: isinstance(r.x, (int, float)) and not isinstance(r.y, float), "x"),
    (lambda r: all((r.x is not None, r.y is not None)), "xy"),
    (lambda r: any((r.x is not None, r.y is not None)), ""),
    (lambda r: is_there(r.x) and not is_there(r.y), "x"),
    (lambda r: not is_missing(r), "xy"),
    (lambda r: (x := r.x) is not None and x > 1, "x"),
    (lambda r: [r.x for r in (r, r)], ""),
    (lambda r: (lambda r: r.x is not None)(r) or True, ""),  # noqa: PLC3002
    (has_x, "x"),
    (early, "xy"),
    (unpacks, "xy"),
    (sets_again, ""),
    (loops, "x"),
    (breaks, ""),
    (tries, ""),
    (tries_well, "xy"),
    (finally_true, ""),
    (matches, "x"),
    (falls_through, "x"),
    (rebinds, ""),
    (bool, ""),
]
VALUES = [Row(*each) for each in itertools.product(["", "k"], [None, 0, 3, 4], [None, 0.0, 2.5])]


def after(function: Callable[..., Any], type_: Type, narrow: Callable[[Type, Closure], Type] = where_true) -> Type:
    return narrow(type_, Closure(function, Location("program.py", 1), "filter"))


@pytest.mark.parametrize(("function", "known"), ROWS)
def test_a_predicate_excludes_none(function: Callable[[Row], Any], known: str) -> None:
    found = after(function, of_annotation(Row))
    x, y = ("int" if "x" in known else "int | None"), ("float" if "y" in known else "float | None")
    assert type_text(found) == f"Row(k: str, x: {x}, y: {y})"
    fits, fits_not = fitting(found), fitting(after(function, of_annotation(Row), where_false))
    for value in VALUES:
        try:
            true = function(value)
        except (TypeError, AssertionError, ValueError):
            continue
        assert fits(value) if true else fits_not(value)


def test_the_element_itself_tuples_keys_and_nested_records() -> None:
    assert after(lambda x: x is not None, Optional(INT)) == INT
    assert after(bool, Optional(INT)) == INT
    assert after(lambda x: x.k is not None, Optional(of_annotation(Row))) == of_annotation(Row)
    pair = Tuple((Optional(STR), Optional(Tuple((Optional(INT), FLOAT)))))
    assert str(after(lambda p: p[1] is not None, pair)) == "tuple[str | None, tuple[int | None, float]]"
    assert str(after(lambda p: p[1] and p[1][0] is not None, pair)) == "tuple[str | None, tuple[int, float]]"
    keyed = Keyed(Optional(STR), Optional(INT))
    assert str(after(lambda k, v: k is not None, keyed)) == "str → int | None"
    assert str(after(lambda k, v: k is not None and v, keyed)) == "str → int"
    box = of_annotation(Box)
    assert "row: Row(k: str, x: int, y" in type_text(after(lambda b: b.row is not None and b.row.x is not None, box))
    assert "tags: list[str])" in type_text(after(lambda b: "a" in b.tags and b.n == 1, box)).replace(", n: int", "")
    assert "tags: list[str], n: int | None" in type_text(after(lambda b: any(t for t in b.tags), box))


def test_a_function_that_changes_its_element_excludes_nothing() -> None:
    for function in (forgets, calls_forgets):
        assert after(function, of_annotation(Box)) == of_annotation(Box)


def test_without_source_text_or_with_other_callables_nothing_is_known() -> None:
    for function in (eval("lambda r: r.x is not None"), functools.partial(has_x), Row.count):
        assert after(function, of_annotation(Row)) == of_annotation(Row)


def test_the_branches_of_a_route() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([Row("a", 1, None), Row("b", None, 1.0)])
    missing, both, rest = stream.route(lambda r: r.x is None, lambda r: r.y is not None, lambda r: True)
    assert [type_text(each.type) for each in (missing, both, rest)] == [
        "Row(k: str, x: int | None, y: float | None)",
        "Row(k: str, x: int, y: float)",
        "Row(k: str, x: int, y: float | None)",
    ]


def test_an_assertion_excludes_none(tmp_path: Path) -> None:
    """In a file of its own, because pytest changes the assertions of a test."""
    file = tmp_path / "program.py"
    file.write_text("def asserts(row):\n    assert row.x is not None\n    return row.y is None\n")
    function = runpy.run_path(str(file))["asserts"]
    assert type_text(after(function, of_annotation(Row))) == "Row(k: str, x: int, y: float | None)"
