"""The row order of joins and aggregates as hidden columns: ties, repeated and missing keys, empty partitions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import morisot as mo
from morisot.physical.job import plan_stream

Row = tuple[int, int, str]
Rows = mo.Stream[Row]


def pairs(left: Rows, right: Rows) -> mo.Stream[tuple[Row, Row]]:
    return left.join(right, lambda row: row[0], lambda row: row[0]).drop_key()


def running(seen: int, pair: Any) -> tuple[int, int]:
    return seen * 31 % 1_000_003 + hash(pair[0][1:2] + pair[1][1:2]) % 97, seen


PROGRAMS: dict[str, Callable[[Rows, Rows], mo.Stream[Any] | mo.KeyedStream[Any, Any]]] = {
    "largest": lambda a, b: pairs(a, b).group_by_max_element(lambda p: p[0][1] % 3, lambda p: p[1][1]),
    "smallest": lambda a, b: pairs(a, b).group_by_min_element(lambda p: p[0][2], lambda p: p[1][1] % 2),
    "first": lambda a, b: pairs(a, b).filter(lambda p: p[1][1] > 1).unique_by(lambda p: (p[0][1], p[1][0])),
    "last": lambda a, b: pairs(a, b).group_by(lambda p: p[0][2]).reduce(lambda x, y: y if y[1][1] >= x[1][1] else x),
    "left": lambda a, b: (
        a.left_join(b, lambda row: row[0], lambda row: row[0])
        .drop_key()
        .group_by_min_element(lambda p: p[0][2], lambda p: p[0][1] % 2)
    ),
    "joined_twice": lambda a, b: (
        pairs(a, b)
        .join(b, lambda p: p[1][1], lambda row: row[1])
        .drop_key()
        .group_by_max_element(lambda p: p[0][0][2], lambda p: p[1][1] + p[0][1][1])
    ),
    "in_python": lambda a, b: (
        pairs(a, b)
        .map(lambda p: (p[0], p[1], complex(p[0][1]).real))
        .group_by(lambda p: p[0][2])
        .rich_map(0, lambda seen, key, p: (seen * 31 % 10_007 + p[1][1] * 7 + p[0][1], (seen, p[2])))
    ),
    "sorted": lambda a, b: (
        pairs(a, b)
        .sorted_by(lambda p: (p[1][2], p[0][1] % 2))
        .group_by(lambda p: p[0][2])
        .map(lambda key, p: p[1][1] * 10 + p[0][1])
        .window(mo.CountWindow.sliding(2, 1))
        .first()
    ),
    "counted": lambda a, b: (
        pairs(a, b).group_by_count(lambda p: p[0][1]).unkey().sorted_by(lambda pair: pair[1]).map(lambda pair: pair[0])
    ),
    "counts_of_counts": lambda a, b: (
        pairs(a, b)
        .group_by_count(lambda p: p[0][1])
        .unkey()
        .group_by_max_element(lambda n: n[1] % 2, lambda n: n[0] % 3)
    ),
    "distinct": lambda a, b: (
        pairs(a, b).map(lambda p: p[0][1:]).unique().group_by_min_element(lambda n: n[1], lambda n: n[0] % 2)
    ),
    "incomplete": lambda a, b: (
        pairs(a, b)
        .group_by(lambda p: p[0][2])
        .map(lambda _, p: p[1][1])
        .window(mo.CountWindow.tumbling(3, exact=False))
        .first()
        .unkey()
        .group_by(lambda pair: pair[0])
        .rich_map(0, lambda seen, _, pair: ((seen * 7 + pair[1]) % 10_007, seen))
    ),
    "windows": lambda a, _: (
        a.add_timestamps(lambda row: row[1])
        .group_by(lambda row: row[2])
        .window(mo.EventTimeWindow.sliding("4ms", "2ms"))
        .count()
        .unkey()
        .window_all(mo.EventTimeWindow.tumbling("4ms"))
        .map(list)
    ),
}
CARRYING = sorted(set(PROGRAMS) - {"first", "incomplete"})


def drawn(chance: random.Random, size: int) -> list[Row]:
    return [(chance.randrange(4), chance.randrange(6), chance.choice("ab\u00e9")) for _ in range(size)]


def test_the_programs_have_order_columns() -> None:
    ctx = mo.StreamContext(engine="reference")
    rows = ctx.stream_iter([(1, 1, "a")])
    for name in CARRYING:
        assert plan_stream(PROGRAMS[name](rows, rows)._node).plan.order.carried, name


@pytest.mark.jvm
@pytest.mark.parametrize("partitions", [3, pytest.param(7, marks=pytest.mark.thorough)])
def test_ties_are_resolved_in_row_order(partitions: int, spark: Any, chance: random.Random) -> None:
    """Most partitions of the filtered streams are empty, and each key and value occurs several times."""
    lists = [drawn(chance, 40) for _ in range(2)]
    found: list[dict[str, list[Any]]] = []
    for ctx in (mo.StreamContext(engine="reference"), mo.StreamContext(spark, config=mo.Config(progress=False))):
        left, right = (ctx.stream_iter(rows).parallelism(partitions) for rows in lists)
        few = right.filter(lambda row: row[1] != 3)
        handles = {name: program(left, few).collect_vec() for name, program in PROGRAMS.items()}
        ctx.execute()
        found.append({name: sorted(handle.get(), key=repr) for name, handle in handles.items()})
    for name in PROGRAMS:
        assert found[1][name] == found[0][name], name
