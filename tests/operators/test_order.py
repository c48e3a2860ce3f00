"""The order of a stream, where an operator after a shuffle depends on it: what a loop over the source would see."""

from __future__ import annotations

import math
from typing import Any

import pytest

import morisot as mo
from tests.operators.engines import Runner

NUMBERS = [5, 3, 8, 3, 1, 8, 9, 2]


def texts(stream: mo.Stream[Any]) -> mo.Stream[str]:
    return stream.fold("", lambda text, element: text + str(element) + " ")


def test_keys_come_in_the_order_of_their_first_elements(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: texts(s.group_by_count(lambda n: n % 5).unkey()), NUMBERS)
    assert result == ["(0, 1) (3, 4) (1, 1) (4, 1) (2, 1) "]


def test_keys_of_a_fold_in_python_come_in_that_order_too(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        return texts(stream.group_by_reduce(lambda n: n % 5, lambda a, b: a + math.floor(b)).keys())

    assert bounded_runner.run(program, NUMBERS) == ["0 3 1 4 2 "]


def test_the_largest_of_each_key_in_the_order_of_the_keys(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: texts(s.group_by_max_element(lambda n: n % 5, lambda n: n).unkey()), NUMBERS)
    assert result == ["(0, 5) (3, 8) (1, 1) (4, 9) (2, 2) "]


def test_keyed_outputs_follow_their_inputs(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        keyed = stream.group_by(lambda n: n % 2).rich_map(0, lambda count, key, n: (count + 1, n * 10 + count))
        return texts(keyed.drop_key())

    assert bounded_runner.run(program, NUMBERS) == ["50 31 80 32 13 81 94 22 "]


def test_unique_keeps_the_first(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: texts(s.unique()), NUMBERS) == ["5 3 8 1 9 2 "]


def test_unique_by_keeps_the_first_of_each_key(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: texts(s.unique_by(lambda n: n % 5)), NUMBERS) == ["5 3 1 9 2 "]


def test_with_aggregate_keeps_the_order(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[str]:
        return texts(stream.group_by(lambda n: n % 2).fold_scan(0, lambda a, n: a + n).drop_key())

    sums = {0: 18, 1: 21}
    expected = "".join(f"({n}, {sums[n % 2]}) " for n in NUMBERS)
    assert bounded_runner.run(program, NUMBERS) == [expected]


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_a_fold_sees_every_partition_in_turn(bounded_runner: Runner, count: int) -> None:
    result = bounded_runner.run(lambda s: s.fold([], lambda seen, n: [*seen, n]), range(count))
    assert result == [list(range(count))]
