"""Aggregates that compare a value and the row order as one int: ties, repeated keys, and values beyond its bits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import morisot as mo
from morisot.physical.job import plan_job

Row = tuple[int, int, float]
Rows = mo.Stream[Row]


def of_source(rows: Rows, _items: Rows) -> Any:
    return rows.filter(lambda row: row[1] != 3).group_by_max_element(lambda row: row[0], lambda row: row[1])


def of_join(rows: Rows, items: Rows) -> Any:
    pairs = items.join(rows, lambda item: item[0], lambda row: row[0]).drop_key()
    best = pairs.group_by_min_element(lambda pair: pair[0][0], lambda pair: pair[1][1])
    return best.map(lambda _, pair: (pair[0][2], pair[1][2]))


def in_order_of_keys(rows: Rows, items: Rows) -> Any:
    return of_source(rows, items).unkey().sorted_by(lambda pair: pair[1][1]).map(lambda pair: pair[1][2])


PROGRAMS: dict[str, Callable[[Rows, Rows], Any]] = {
    "of_source": of_source,
    "of_join": of_join,
    "in_order_of_keys": in_order_of_keys,
}
ONCE = [(number, 0, number / 2) for number in range(4)]
ITEMS = {"once": ONCE, "repeated": [*ONCE, (2, 1, 9.0), (3, 1, 8.0)]}
FACTORS = {"small": 1, "negative": -7, "beyond": 2**40}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("items", "factor"), [("once", "negative"), ("repeated", "small"), ("once", "beyond")])
def test_the_first_of_equal_elements_is_selected(name: str, items: str, factor: str, ctx: mo.StreamContext) -> None:
    chance = random.Random(3)
    rows = [(chance.randrange(4), chance.randrange(5) * FACTORS[factor], index / 4) for index in range(60)]

    def program(on: mo.StreamContext) -> Any:
        return PROGRAMS[name](on.stream_iter(rows), on.stream_iter(ITEMS[items]))

    rungs = {each.selection.rung for each in plan_job((program(ctx)._node,)).plan.choices.values() if each.selection}
    assert rungs == {"packed"}
    found, expected = (program(each).collect() for each in (ctx, mo.StreamContext(engine="reference")))
    assert found == expected if name == "in_order_of_keys" else sorted(found) == sorted(expected)
