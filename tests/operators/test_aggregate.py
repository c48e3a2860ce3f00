"""Aggregates on every engine they run on."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.engines import Runner, last_by_key


class Sale(NamedTuple):
    shop: str
    amount: int


@dataclass(frozen=True)
class Place:
    x: int


SALES = [Sale("a", 3), Sale("b", 5), Sale("a", 1), Sale("b", 5), Sale("c", -2)]


def test_group_by_count(runner: Runner) -> None:
    result = runner.run(lambda s: s.group_by_count(lambda sale: sale.shop), SALES)
    assert sorted(last_by_key(result)) == [("a", 2), ("b", 2), ("c", 1)]


def test_group_by_count_of_an_untyped_key(runner: Runner) -> None:
    result = runner.run(lambda s: s.group_by_count(lambda n: Place(math.floor(n))), [1, 2, 1])
    assert sorted((place.x, n) for place, n in last_by_key(result)) == [(1, 2), (2, 1)]


def test_equal_keys_of_different_types_are_one_key(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_count(lambda x: x), [1, 1.0, True, "1"])
    assert sorted(n for _, n in result) == [1, 3]


def test_none_is_a_key(bounded_runner: Runner) -> None:
    assert set(bounded_runner.run(lambda s: s.group_by_count(lambda x: x), [None, 1, None])) == {(None, 2), (1, 1)}


def test_count_after_group_by(runner: Runner) -> None:
    result = runner.run(lambda s: s.group_by(lambda n: n % 2).count(), [1, 2, 3])
    assert sorted(last_by_key(result)) == [(0, 1), (1, 2)]


def test_count(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.count(), [5, 6, 7]) == [3]


def test_count_running_on_unbounded_input(runner: Runner) -> None:
    assert runner.run(lambda s: s.count(), [5, 6, 7])[-1] == 3


def test_aggregates_of_an_empty_stream_give_nothing(bounded_runner: Runner) -> None:
    empty: Callable[[Any], Any] = lambda s: s.filter(lambda n: n > 9)  # noqa: E731
    for program in (
        lambda s: empty(s).count(),
        lambda s: empty(s).reduce_assoc(lambda a, b: a + b),
        lambda s: empty(s).fold_assoc(0, lambda a, n: a + n, lambda a, b: a + b),
        lambda s: empty(s).group_by_sum(lambda n: n, lambda n: n),
        lambda s: empty(s).unique(),
        lambda s: empty(s).limit(3),
    ):
        assert bounded_runner.run(program, [1, 2]) == []


def test_group_by_sum(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_sum(lambda sale: sale.shop, lambda sale: sale.amount), SALES)
    assert sorted(result) == [("a", 4), ("b", 10), ("c", -2)]


def test_group_by_sum_of_bools_counts(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_sum(lambda n: "all", lambda n: n > 1), [1, 2, 3])
    assert result == [("all", 2)]
    assert type(result[0][1]) is int


def test_group_by_sum_beyond_64_bits_on_the_way(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.group_by_sum(lambda n: 0, lambda n: n), [2**62] * 3 + [-(2**62)] * 2) == [
        (0, 2**62)
    ]


def test_group_by_sum_stage(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_sum(lambda n: n % 2, lambda n: math.floor(n)), [1, 2, 3])
    assert sorted(result) == [(0, 2), (1, 4)]


def test_group_by_avg(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_avg(lambda n: n % 2, lambda n: n), [1, 2, 3, 5])
    assert sorted(result) == [(0, 2.0), (1, 3.0)]


def test_group_by_avg_of_large_ints_is_exact(bounded_runner: Runner) -> None:
    values = [2**60 + 1, 2**60 + 2, 7]
    assert bounded_runner.run(lambda s: s.group_by_avg(lambda n: 0, lambda n: n), values) == [(0, sum(values) / 3)]


def test_group_by_min_and_max_element_ties_are_the_first(bounded_runner: Runner) -> None:
    values = [(1, "x"), (0, "y"), (0, "z"), (1, "w")]
    least = lambda s: s.group_by_min_element(lambda p: "k", lambda p: p[0])  # noqa: E731
    most = lambda s: s.group_by_max_element(lambda p: "k", lambda p: p[0])  # noqa: E731
    assert bounded_runner.run(least, values) == [("k", (0, "y"))]
    assert bounded_runner.run(most, values) == [("k", (1, "x"))]


def test_group_by_min_element_stage_ties_are_the_first(bounded_runner: Runner) -> None:
    least = lambda s: s.group_by_min_element(lambda n: 0, lambda n: math.floor(n / 10))  # noqa: E731
    assert bounded_runner.run(least, [25, 12, 11, 30]) == [(0, 12)]


class Lot(NamedTuple):
    id: int
    kind: int | None
    open: bool


LOTS = [Lot(1, 7, True), Lot(2, None, False), Lot(3, 8, True)]
OFFERS = [(1, 5), (2, 6), (1, 9), (2, 6), (3, 1), (1, 9)]


@pytest.mark.parametrize("more", [[], [Lot(2, 4, False), Lot(1, 7, True), Lot(3, 8, False)]], ids=["once", "again"])
def test_columns_of_the_first_of_several_best_pairs(more: list[Lot], bounded_runner: Runner) -> None:
    """The guard of a rung fails if an id occurs again with other values, also with None beside a value."""

    def best(lots: mo.Stream[Lot]) -> mo.Stream[tuple[int, int | None, bool, int]]:
        offers = lots._context.stream_iter(OFFERS)
        pairs = lots.join(offers, lambda lot: lot.id, lambda offer: offer[0]).drop_key()
        largest = pairs.group_by_max_element(lambda pair: pair[0].id, lambda pair: pair[1][1]).drop_key()
        return largest.map(lambda pair: (pair[0].id, pair[0].kind, pair[0].open, pair[1][1]))

    assert sorted(bounded_runner.run(best, LOTS + more)) == [(1, 7, True, 9), (2, None, False, 6), (3, 8, True, 1)]


def test_group_by_max_element_with_nan_is_pythons(bounded_runner: Runner) -> None:
    nan = float("nan")
    result = bounded_runner.run(lambda s: s.group_by_max_element(lambda x: 0, lambda x: x), [1.0, nan, 3.0])
    assert result == [(0, 3.0)]


def test_max_and_min_elements(bounded_runner: Runner) -> None:
    pairs = [("a", 3), ("b", 5), ("c", 1), ("d", 5), ("e", 1)]
    assert bounded_runner.run(lambda s: s.max_elements(lambda p: p[1]), pairs) == [("b", 5), ("d", 5)]
    assert bounded_runner.run(lambda s: s.min_elements(lambda p: p[1]).count(), pairs) == [2]
    of_key = lambda s: s.group_by(lambda p: p[1] > 2).max_elements(lambda p: p[1]).unkey()  # noqa: E731
    assert sorted(bounded_runner.run(of_key, pairs)) == [
        (False, ("c", 1)), (False, ("e", 1)), (True, ("b", 5)), (True, ("d", 5)),
    ]  # fmt: skip


def test_max_elements_of_floats_and_of_failing_functions(bounded_runner: Runner) -> None:
    nan = float("nan")
    assert bounded_runner.run(lambda s: s.max_elements(lambda x: x), [2.5, nan, 1.0, 2.5]) == [2.5, 2.5]
    assert bounded_runner.run(lambda s: s.max_elements(lambda x: x), []) == []
    skipped = lambda s: s.max_elements(lambda n: 6 // n, on_error="skip")  # noqa: E731
    assert bounded_runner.run(skipped, [3, 0, 2, 2]) == [2, 2]
    with pytest.raises(mo.ElementError, match="ZeroDivisionError") as caught:
        bounded_runner.run(lambda s: s.max_elements(lambda n: 6 // n), [3, 0, 2])
    assert (caught.value.operator, caught.value.element) == ("max_elements", "0")


def test_max_elements_of_an_unbounded_stream_is_refused(tmp_path: Path) -> None:
    stream = mo.StreamContext(engine="reference").stream_file(tmp_path, unbounded=True).map(len)
    with pytest.raises(mo.PlanError, match=r"max_elements cannot run on unbounded input: .* at the end") as caught:
        stream.max_elements(lambda n: n % 7)
    assert caught.value.location is not None


def test_group_by_reduce(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_reduce(lambda n: n % 2, lambda a, b: a * b), [1, 2, 3, 4])
    assert sorted(result) == [(0, 8), (1, 3)]


def test_group_by_reduce_in_order(bounded_runner: Runner) -> None:
    words = [chr(97 + n) for n in range(26)]
    result = bounded_runner.run(lambda s: s.group_by_reduce(lambda w: "k", lambda a, b: a + b), words)
    assert result == [("k", "".join(words))]


def test_group_by_fold_with_a_list_as_start(bounded_runner: Runner) -> None:
    program = lambda s: s.group_by_fold(lambda n: n % 2, [], lambda acc, n: [*acc, n], lambda a, b: a + b)  # noqa: E731
    assert sorted(bounded_runner.run(program, list(range(6)))) == [(0, [0, 2, 4]), (1, [1, 3, 5])]


def test_mutating_fold_does_not_share_its_start(bounded_runner: Runner) -> None:
    def push(acc: list[int], n: int) -> list[int]:
        acc.append(n)
        return acc

    program = lambda s: s.group_by_fold(lambda n: n % 2, [], push, lambda a, b: a + b)  # noqa: E731
    assert sorted(bounded_runner.run(program, list(range(4)))) == [(0, [0, 2]), (1, [1, 3])]


def test_reduce_assoc(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.reduce_assoc(lambda a, b: max(a, b)), [3, 9, 4]) == [9]


def test_reduce_assoc_may_change_the_type(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.reduce_assoc(lambda a, b: a + b / 2), [1, 2]) == [2.0]


def test_fold_assoc(bounded_runner: Runner) -> None:
    program = lambda s: s.fold_assoc(0, lambda acc, n: acc + n, lambda a, b: a + b)  # noqa: E731
    assert bounded_runner.run(program, [1, 2, 3]) == [6]


def test_limit_is_global_and_in_order(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.limit(20, offset=40), list(range(80))) == list(range(40, 60))
    assert bounded_runner.run(lambda s: s.limit(10, offset=9), [1, 2, 3]) == []
    assert bounded_runner.run(lambda s: s.limit(0), [1, 2, 3]) == []
    assert bounded_runner.run(lambda s: s.limit(2).map(lambda n: n + 1), [1, 2, 3]) == [2, 3]


@pytest.mark.partitions
def test_limit_of_a_keyed_stream_is_global(runner: Runner) -> None:
    result = runner.run(lambda s: s.key_by(lambda n: n % 2).limit(3, offset=2), [1, 2, 3, 4, 5, 6])
    assert result == [(1, 3), (0, 4), (1, 5)]


@pytest.mark.partitions
def test_limit_of_distinct_elements(runner: Runner) -> None:
    """They are in the order of the stream."""
    result = runner.run(lambda s: s.unique().limit(4, offset=1), [5, 3, 5, 1, 9, 8, 7, 2, 5, 3])
    assert result == [3, 1, 9, 8]


def test_unique_of_pairs(runner: Runner) -> None:
    pairs = [(1, "a"), (1, "b"), None, (1, "a"), None, (2, "a")]
    assert sorted(runner.run(lambda s: s.unique(), pairs), key=repr) == [(1, "a"), (1, "b"), (2, "a"), None]


def test_unique(runner: Runner) -> None:
    assert sorted(runner.run(lambda s: s.unique(), [1, 1, 2, 3, 2, 1])) == [1, 2, 3]


def test_unique_untyped(runner: Runner) -> None:
    result = runner.run(lambda s: s.map(lambda n: frozenset({n, n % 2})).unique(), [1, 3, 1])
    assert sorted(map(sorted, result)) == [[1], [1, 3]]


PAYMENTS = [("a", 0), ("b", 2), ("a", 5), (None, 3), ("a", 12), ("b", 30), ("a", 9), (None, 13), ("a", 22), ("b", 21)]


def payments(stream: Any) -> Any:
    return stream.add_timestamps(lambda payment: payment[1], delay=50)


def test_unique_by_within_a_time_compares_with_what_was_kept(runner: Runner) -> None:
    """In row order, and within the time distance on either side; operators that depend on the row order may follow."""

    def program(stream: Any) -> Any:
        apart = payments(stream).unique_by(lambda payment: payment[0], within=10)
        return apart.rich_map(0, lambda n, payment: (n + 1, (n, *payment)))

    kept = [("a", 0), ("b", 2), (None, 3), ("a", 12), ("b", 30), (None, 13), ("a", 22)]
    assert runner.run(program, PAYMENTS) == [(n, *payment) for n, payment in enumerate(kept)]


def test_unique_within_a_time_of_elements_and_of_keys_with_values(runner: Runner) -> None:
    def program(stream: Any) -> Any:
        keyed = payments(stream).key_by(lambda payment: payment[0] or "").map(lambda key, payment: key * 2)
        return keyed.unique(within="8ms").unkey().unique(within="18ms")

    kept = [("a", "aa"), ("b", "bb"), ("", ""), ("b", "bb"), ("a", "aa")]
    assert sorted(runner.run(program, PAYMENTS)) == sorted(kept)


def test_unique_within_a_time_counts_and_diverts_what_comes_too_late(unbounded_runner: Runner) -> None:
    late: list[Any] = []

    def program(stream: Any) -> Any:
        return stream.add_timestamps(lambda n: n, delay=0).unique_by(lambda n: n % 2, within=5, late=late.append)

    outcome = unbounded_runner.observe(program, [[1, 3, 4], [20, 21], [3, 22, 26]])
    assert sorted(outcome.results) == [1, 4, 20, 21, 26]
    assert late == [3]
    assert list(outcome.metrics["late"].values()) == [1]


def test_unique_within_a_time_remembers_what_the_next_element_may_be_near(unbounded_runner: Runner) -> None:
    """The watermark is 4 after the first micro-batch: the next element may be at 5, less than 3 after the first one."""

    def program(stream: Any) -> Any:
        return stream.add_timestamps(lambda pair: pair[1], delay=0).unique_by(lambda pair: pair[0], within=3)

    outcome = unbounded_runner.observe(program, [[("a", 3), ("b", 5)], [("a", 5)], [("a", 5)], [("a", 6)]])
    assert sorted(outcome.results) == [("a", 3), ("a", 6), ("b", 5)]


def test_unique_within_a_time_is_refused_where_it_means_nothing() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1])
    with pytest.raises(mo.PlanError, match="unique with within= needs elements with timestamps"):
        numbers.unique(within=3)
    timed = numbers.add_timestamps(lambda n: n)
    with pytest.raises(mo.PlanError, match="unique would drop no element: no time distance is less than 0"):
        timed.unique(within=0)
    with pytest.raises(mo.PlanError, match="unique_by has no timers"):
        timed.unique_by(lambda n: n, late=print)
    with pytest.raises(mo.PlanError, match="given to late of unique is called with two arguments"):
        timed.key_by(lambda n: n).unique(within=3, late=lambda n: None)  # type: ignore[arg-type, misc]


def test_unique_of_lists_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="which Python cannot hash"):
        ctx.stream_iter([[1], [1]]).unique()


@pytest.mark.jvm
def test_limit_reads_no_more_of_a_partition_than_it_needs(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_par_iter(range(1000)).map(lambda n: n * 2)
    stream = numbers.limit(3, offset=2)
    plan = spark_ctx.engine.spark_plan(stream._node).split("== Physical Plan ==")[1]
    assert "LocalLimit 5" in plan
    assert stream.collect() == [4, 6, 8]
    assert numbers.filter(lambda n: n % 500 == 0).limit(2, offset=1).collect() == [500, 1000]


def test_limit_after_an_operator_that_counts_reads_all(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(range(40)).map(lambda n: 10 // (n % 4), on_error="skip").limit(2)
    assert stream.collect() == [10, 5]
    assert list(ctx.metrics()["skipped"].values()) == [10]


def test_negative_limit_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="negative"):
        ctx.stream_iter([1]).limit(-1)


def test_what_has_no_rule_for_unbounded_input_is_refused_when_built(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_rate(10)
    with pytest.raises(mo.PlanError, match=r"sorted_by cannot run on unbounded input.*test_aggregate.py") as caught:
        numbers.sorted_by(lambda n: -n)
    assert "the first element of the order may arrive later" in str(caught.value)
    assert "What to do" in str(caught.value)
    with pytest.raises(mo.PlanError, match="fold_scan cannot run on unbounded input: the final result is known only"):
        numbers.fold_scan(0, lambda total, n: total + n)


NATIVE_FOLDS: list[Callable[[Any], Any]] = [
    lambda s: s.group_by_fold(lambda n: n % 2, 0, lambda a, n: a + n, lambda a, b: a + b),
    lambda s: s.group_by_fold(lambda n: n % 2, 0, lambda a, n: a - n, lambda a, b: a + b),
    lambda s: s.group_by_fold(
        lambda n: n % 3, (0, 0), lambda a, n: (a[0] + 1, a[1] + n), lambda a, b: (a[0] + b[0], a[1] + b[1])
    ),
    lambda s: s.fold_assoc(0, lambda a, n: a + n if n > 2 else a, lambda a, b: a + b),
    lambda s: s.fold_assoc(0, lambda a, n: a if n > 99 else a + 1, lambda a, b: a + b),
    lambda s: s.fold_assoc(4, lambda a, n: max(a, n), lambda a, b: max(a, b)),
    lambda s: s.fold_assoc(4, lambda a, n: min(a, n), lambda a, b: min(a, b)),
    lambda s: s.fold_assoc(False, lambda a, n: a or n > 3, lambda a, b: a or b),
    lambda s: s.reduce_assoc(lambda a, b: a + b),
    lambda s: s.reduce_assoc(lambda a, b: max(a, b)),
    lambda s: s.map(lambda n: (n, -n, n)).reduce_assoc(lambda a, b: (a[0] + b[0], max(a[1], b[1]), a[2] ^ b[2])),
    lambda s: s.map(lambda n: str(n)).reduce_assoc(lambda a, b: min(a, b)),
    lambda s: s.fold_assoc(0, lambda a, n: a + (1 if n > 2 else 0), lambda a, b: a + b),
    lambda s: s.fold_assoc(True, lambda a, n: a and n > 3, lambda a, b: a and b),
    lambda s: s.fold_assoc(8, lambda a, n: a | n, lambda a, b: a | b),
    lambda s: s.fold_assoc(7, lambda a, n: a & n, lambda a, b: a & b),
    lambda s: s.fold_assoc(0, lambda a, n: a ^ n, lambda a, b: a ^ b),
    lambda s: s.fold_assoc(2, lambda a, n: max(a, n * 2), lambda a, b: max(b, a)),
    lambda s: s.fold_assoc(0, lambda a, n: max(a, n) if n < 5 else a, lambda a, b: max(a, b)),
    lambda s: s.fold_assoc(2.5, lambda a, n: max(a, n / 4), lambda a, b: max(a, b)),
    lambda s: s.map(lambda n: n / 4).reduce_assoc(lambda a, b: min(a, b)),
    lambda s: s.fold_assoc(
        (0, 0.5), lambda a, n: (a[0] + 1, min(a[1], n / 4)), lambda a, b: (a[0] + b[0], min(a[1], b[1]))
    ),
    lambda s: s.map(lambda n: (n % 3, str(n))).reduce_assoc(lambda a, b: a if a[0] >= b[0] else b),
    lambda s: s.map(lambda n: (n % 3, str(n))).reduce_assoc(lambda a, b: a if a[0] > b[0] else b),
    lambda s: s.map(lambda n: (n % 3, str(n))).reduce_assoc(lambda a, b: b if b[0] < a[0] else a),
    lambda s: s.map(lambda n: (n % 3, str(n))).reduce_assoc(lambda a, b: b if a[0] >= b[0] else a),
    lambda s: s.map(lambda n: (n / 3, str(n))).reduce_assoc(lambda a, b: a if a[0] >= b[0] else b),
    lambda s: s.map(lambda n: str(n * n)).reduce_assoc(lambda a, b: a if len(a) <= len(b) else b),
    lambda s: s.map(lambda n: (n, str(n))).fold_assoc(
        (4, "start"), lambda a, x: a if a[0] >= x[0] else x, lambda a, b: a if a[0] >= b[0] else b
    ),
    lambda s: s.map(lambda n: (n, str(n))).fold((99, "start"), lambda a, x: x if x[0] > a[0] else a),
    lambda s: s.key_by(lambda n: n % 2).map(lambda _, n: (n % 3, str(n))).reduce_assoc(
        lambda a, b: a if a[0] >= b[0] else b
    ),
    lambda s: s.key_by(lambda n: n % 2).map(lambda _, n: (n % 3, str(n))).fold_assoc(
        (1, "start"), lambda a, x: a if a[0] > x[0] else x, lambda a, b: a if a[0] > b[0] else b
    ),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(NATIVE_FOLDS)))
def test_folds_that_are_native_aggregates(bounded_runner: Runner, place: int) -> None:
    program = NATIVE_FOLDS[place]
    values = [5, 1, 4, 2, 3, 10]
    expected = list(program(mo.StreamContext(engine="reference").stream_iter(values)).collect())
    assert sorted(bounded_runner.run(program, values)) == sorted(expected)
    stream = program(mo.StreamContext(engine="reference").stream_iter(values))
    assert {record.form for record in stream.forms()} == {"column"}


FOLDS_IN_PYTHON: list[tuple[Callable[[Any], Any], str]] = [
    (lambda s: s.fold_assoc(1, lambda a, n: a + n, lambda a, b: a + b - 1), "is not the operation of the fold"),
    (lambda s: s.fold_assoc(7, lambda a, n: a + n, lambda a, b: a + b), "every partition would count again"),
    (lambda s: s.map(lambda n: n / 4).reduce_assoc(lambda a, b: a + b), "not a sum, minimum"),
    (lambda s: s.reduce_assoc(lambda a, b: a * 31 + b), "not a sum, minimum"),
    (lambda s: s.reduce_assoc(lambda a, b: a), "not a sum, minimum"),
    (lambda s: s.map(lambda n: (n, n)).reduce_assoc(lambda a, b: a if a[0] >= b[1] else b), "nor the element with"),
    (lambda s: s.map(lambda n: (n, n)).reduce_assoc(lambda a, b: a if a[0] >= 3 else b), "nor the element with"),
    (lambda s: s.fold_assoc(0, lambda a, n: a + n if a < 5 else a, lambda a, b: a + b), "not a sum, minimum"),
]


@pytest.mark.parametrize("place", range(len(FOLDS_IN_PYTHON)))
def test_folds_that_stay_in_python_say_why(place: int) -> None:
    program, reason = FOLDS_IN_PYTHON[place]
    *_, record = program(mo.StreamContext(engine="reference").stream_iter([5, 1])).forms()
    assert record.form == "stage"
    assert reason in record.reason


@pytest.mark.parametrize(
    ("program", "values"),
    [
        (lambda s: s.reduce(lambda a, b: max(a, b)), [1.0, math.nan, 2.0]),
        (lambda s: s.reduce_assoc(lambda a, b: max(a, b)), [math.nan, 1.0, 2.0]),
        (lambda s: s.reduce_assoc(lambda a, b: min(a, b)), [0.0, -0.0, 1.0]),
        (lambda s: s.reduce_assoc(lambda a, b: min(a, b)), [-0.0, 0.0]),
        (lambda s: s.fold_assoc(0.0, lambda a, x: max(a, x), lambda a, b: max(a, b)), [-0.0, -1.0]),
        (lambda s: s.reduce_assoc(lambda a, b: a if a[0] >= b[0] else b), [(0.0, "a"), (-0.0, "b")]),
        (lambda s: s.reduce_assoc(lambda a, b: a if a[0] >= b[0] else b), [(1.0, "a"), (math.nan, "b"), (3.0, "c")]),
        (
            lambda s: s.fold_assoc(
                (math.nan, "s"), lambda a, x: x if x[0] > a[0] else a, lambda a, b: b if b[0] > a[0] else a
            ),
            [(1.0, "a"), (2.0, "b")],
        ),
    ],
)
def test_folds_of_nan_and_of_both_zeros(bounded_runner: Runner, program: Any, values: list[Any]) -> None:
    """Which of them stays depends on the order: Python does those."""
    expected = program(mo.StreamContext(engine="reference").stream_iter(values)).collect()
    assert repr(bounded_runner.run(program, values)) == repr(expected)


def test_fold_that_overflows_on_the_way_is_repaired(bounded_runner: Runner) -> None:
    values = [2**62, 2**62, -(2**62), 5]
    assert bounded_runner.run(lambda s: s.reduce_assoc(lambda a, b: a + b), values) == [2**62 + 5]


class Colour(enum.StrEnum):
    RED = "red"


def test_the_first_of_equal_keys_stands_for_all(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by_count(lambda x: x), ["red", Colour.RED, 1.0, 1, True])
    assert sorted(result, key=str) == [("red", 2), (1.0, 3)]
    assert {type(key) for key, _ in result} == {str, float}


def test_fold_is_sequential(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.fold(1, lambda a, n: a * 31 + n), [1, 2, 3]) == [((31 + 1) * 31 + 2) * 31 + 3]


def test_fold_of_a_list_starts_anew_for_each_key(bounded_runner: Runner) -> None:
    def gather(seen: list[int], n: int):  # type: ignore[no-untyped-def]  # the type of its result is inferred
        seen.append(n)
        return seen

    result = bounded_runner.run(lambda s: s.group_by(lambda n: n % 2).fold([], gather), [1, 2, 3, 4, 5])
    assert sorted(result) == [(0, [2, 4]), (1, [1, 3, 5])]


def test_fold_as_a_native_aggregate_counts_its_start_once(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.fold(100, lambda a, n: a + n), [1, 2, 3]) == [106]
    assert bounded_runner.run(lambda s: s.group_by(lambda n: n % 2).fold(5, lambda a, n: max(a, n)), [1, 9]) == [(1, 9)]


def test_fold_of_an_empty_stream_gives_nothing(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.filter(lambda n: n > 9).fold(0, lambda a, n: a + n), [1]) == []
    assert bounded_runner.run(lambda s: s.filter(lambda n: n > 9).fold(0, lambda a, n: a * 2 + n), [1]) == []


def test_float_sums_are_sequential(bounded_runner: Runner) -> None:
    values = [1e16, 1.0, -1e16, 1.0] * 25
    total = 0.0
    for value in values:
        total += value
    assert bounded_runner.run(lambda s: s.fold(0.0, lambda a, x: a + x), values) == [total]


def test_reduce_is_sequential(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.reduce(lambda a, b: a - b), [10, 1, 2]) == [7]
    result = bounded_runner.run(lambda s: s.group_by(lambda n: n % 2).reduce(lambda a, b: a - b), [9, 4, 1, 2])
    assert sorted(result) == [(0, 2), (1, 8)]


def test_reduce_gives_nothing_for_an_empty_stream(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.filter(lambda n: n > 9).reduce(lambda a, b: a - b), [1]) == []


@pytest.mark.parametrize("key", [float("nan"), 0.0, -0.0, None, (1, None), "x"])
def test_keys_of_sequential_folds_are_equal_where_python_says_so(bounded_runner: Runner, key: Any) -> None:
    other = -key if key == 0 else key
    result = bounded_runner.run(
        lambda s: s.group_by(lambda pair: pair[0]).fold("", lambda a, pair: a + pair[1]), [(key, "a"), (other, "b")]
    )
    assert [text for _, text in result] == ["ab"]


def test_both_zeros_are_one_key_beside_none(bounded_runner: Runner) -> None:
    pairs = [(0.0, "a"), (None, "n"), (-0.0, "b"), (1.0, "c")]
    result = bounded_runner.run(lambda s: s.group_by(lambda p: p[0]).fold("", lambda a, p: a + p[1]), pairs)
    assert sorted(text for _, text in result) == ["ab", "c", "n"]


def test_a_failing_fold_names_the_element(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError) as caught:
        bounded_runner.run(lambda s: s.fold([], lambda a, n: [*a, 1 // n]), [1, 0])
    assert "fold at" in str(caught.value)
    assert caught.value.element == "0"


def test_fold_scan(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.fold_scan(0, lambda a, n: a + n), [1, 2, 3]) == [(1, 6), (2, 6), (3, 6)]


def test_fold_scan_of_each_key(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.group_by(lambda n: n % 2).fold_scan("", lambda a, n: a + str(n)), [1, 2, 3])
    assert sorted(result) == [(0, (2, "2")), (1, (1, "13")), (1, (3, "13"))]


def test_fold_scan_of_untyped_keys(bounded_runner: Runner) -> None:
    result = bounded_runner.run(
        lambda s: s.group_by(lambda n: Place(math.floor(n) % 2)).fold_scan(0, lambda a, n: a + n), [1, 2, 3]
    )
    assert sorted((place.x, pair) for place, pair in result) == [(0, (2, 2)), (1, (1, 4)), (1, (3, 4))]


def test_reduce_scan(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.reduce_scan(lambda a, b: max(a, b)), [1, 5, 2]) == [(1, 5), (5, 5), (2, 5)]
    assert bounded_runner.run(lambda s: s.filter(lambda n: n > 9).reduce_scan(lambda a, b: a), [1]) == []


def test_sorted_by_is_stable(bounded_runner: Runner) -> None:
    words = ["bb", "a", "cc", "ddd", "e"]
    assert bounded_runner.run(lambda s: s.sorted_by(lambda w: len(w)), words) == sorted(words, key=len)
    assert bounded_runner.run(lambda s: s.sorted_by(lambda w: (-len(w), w)), words) == ["ddd", "bb", "cc", "a", "e"]


def test_sorted_by_a_key_only_python_compares(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.sorted_by(lambda n: [n % 3, n]), [5, 3, 4, 1]) == [3, 1, 4, 5]


def test_sorted_by_with_a_nan_is_what_python_makes_of_it(bounded_runner: Runner) -> None:
    values = [3.0, float("nan"), 1.0, 2.0]
    assert str(bounded_runner.run(lambda s: s.sorted_by(lambda x: x), values)) == str(sorted(values))


def test_keys_that_cannot_be_compared_fail_as_in_python(bounded_runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match="not supported between"):
        bounded_runner.run(lambda s: s.sorted_by(lambda x: x), [1, None, 2])


def test_sorted_limit_by(bounded_runner: Runner) -> None:
    assert bounded_runner.run(lambda s: s.sorted_limit_by(lambda n: n, 2, offset=3), [5, 4, 3, 2, 1]) == [4, 5]
    assert bounded_runner.run(lambda s: s.sorted_limit_by(lambda n: [-n], 2), [5, 4, 3, 2, 1]) == [5, 4]
    assert bounded_runner.run(lambda s: s.sorted_limit_by(lambda n: n, 0), [2, 1]) == []


def test_sorted_by_of_a_keyed_stream_is_global(bounded_runner: Runner) -> None:
    result = bounded_runner.run(
        lambda s: s.group_by_count(lambda n: n % 3).sorted_by(lambda k, n: (-n, k)), [1, 4, 2, 0]
    )
    assert result == [(1, 2), (0, 1), (2, 1)]


@pytest.mark.parametrize("n", [-1, 1.5, "2", True])
def test_numbers_of_elements_that_cannot_be_are_refused(n: Any) -> None:
    with pytest.raises(mo.PlanError, match="sorted_limit_by needs a whole number of elements"):
        mo.StreamContext(engine="reference").stream_iter([1]).sorted_limit_by(lambda x: x, n)
