"""Many neighbouring operators: they are told to Spark together and still mean what they mean one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import morisot as mo
from tests.operators.engines import Runner

NUMBERS = [0, 1, 7, -3, 250]
TEXTS = ["a`b", "${x} {0}", "it's", "\x00 null", "é\\n"]


def repeated(times: int, add: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def program(stream: Any) -> Any:
        for _ in range(times):
            stream = add(stream)
        return stream

    return program


PROGRAMS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "maps": (repeated(60, lambda s: s.map(lambda n: n * 3 % 1009 + 1)), NUMBERS),
    "doublings": (repeated(100, lambda s: s.map(lambda n: n % 97 + n % 97)), NUMBERS),
    "filters": (repeated(40, lambda s: s.filter(lambda n: n != 7)), NUMBERS),
    "maps and filters": (repeated(25, lambda s: s.map(lambda n: n + 1).filter(lambda n: n % 31 != 5)), NUMBERS),
    "pairs that swap": (
        lambda s: repeated(15, lambda p: p.map(lambda p: (p[1], p[0] + 1)))(s.map(lambda n: (n, -n))),
        NUMBERS,
    ),
    "part of a pair is dropped": (
        lambda s: s.map(lambda n: (n, n + 1)).map(lambda p: p[1]).map(lambda n: n * n),
        NUMBERS,
    ),
    "value used in a comprehension": (
        lambda s: (
            s.map(lambda n: n % 5 + 1).map(lambda n: [n * k for k in [1, 2, 3]]).map(lambda v: [x + len(v) for x in v])
        ),
        NUMBERS,
    ),
    "shared values": (
        lambda s: s.map(lambda n: n + 1).map(lambda n: (m := n * n) + m * m).filter(lambda n: (k := n % 7) * k < 30),
        NUMBERS,
    ),
    "a filter protects what follows": (
        lambda s: (
            s.filter(lambda n: n != 0).map(lambda n: 1000 // n).filter(lambda n: n > 3).map(lambda n: 60 // (n - 3))
        ),
        NUMBERS,
    ),
    "keys": (
        lambda s: (
            s.map(lambda n: n + 1)
            .group_by(lambda n: n % 3)
            .map(lambda k, n: n * 10 + k)
            .filter(lambda k, n: n != 11)
            .map(lambda k, n: (n, k))
            .unkey()
            .map(lambda p: p[1][0] + p[0])
        ),
        NUMBERS,
    ),
    "any text": (
        lambda s: s.map(lambda t: t + "`{0}` ${y} \\0 \x00").filter(lambda t: t != "'").map(lambda t: "<" + t + ">"),
        TEXTS,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_chain(runner: Runner, name: str, make_context: Any) -> None:
    program, elements = PROGRAMS[name]
    expected = program(make_context("reference").stream_iter(elements)).collect()
    assert runner.run(program, elements) == expected


@pytest.mark.jvm
def test_neighbours_are_one_select(spark_ctx: mo.StreamContext) -> None:
    stream = repeated(10, lambda s: s.map(lambda n: n + 1))(spark_ctx.stream_par_iter(range(5)))
    analysed = spark_ctx.engine.spark_plan(stream._node).split("== Analyzed Logical Plan ==")[1].split("== Opt")[0]
    assert len(re.findall("Project", analysed)) <= 3


def test_branches_of_a_chain_do_not_see_each_other(ctx: mo.StreamContext) -> None:
    base = ctx.stream_iter(NUMBERS).map(lambda n: n + 1).filter(lambda n: n > 0)
    left, right = base.map(lambda n: n * 2).collect_vec(), base.filter(lambda n: n > 5).collect_vec()
    ctx.execute()
    assert (left.get(), right.get()) == ([2, 4, 16, 502], [8, 251])
