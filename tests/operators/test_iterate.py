"""Loops on every engine: iterate, replay, delta_iterate."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import morisot as mo
from morisot.engines.spark.emit.loops.loop_files import parts_of
from morisot.physical.choose.iterate import AGGREGATED, FOR_EACH_PARTITION
from morisot.worker.rowwise import kernel_stage


def add(left: Any, right: Any) -> Any:
    return left + right


def always(state: Any) -> bool:
    return True


def same(stream: Any, state: Any) -> Any:
    return stream


class Total(NamedTuple):
    count: int  # type: ignore[assignment]  # a method of tuples
    sum: int


@dataclasses.dataclass(frozen=True)
class Best:
    number: int
    rounds: int


# -- iterate --------------------------------------------------------------------------------------------------


@pytest.mark.partitions
def test_iterate_feeds_elements_back(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([0, 1, 2]).iterate(
        3, 0, lambda s, state: s.map(lambda n: n + 10), add, add, always, delta=0
    )
    assert state.collect() == [189]
    assert elements.collect() == [30, 31, 32]


class RejectedError(Exception):
    """A class has `args`, too, which are no arguments of a call."""


def checked(n: int) -> int:
    if n < 0:
        raise RejectedError(n)
    return n + 10


def plus_value(state: Any, n: int) -> int:
    return n + int(state.value)


def test_functions_that_name_exceptions_can_be_in_a_body(ctx: mo.StreamContext) -> None:
    state, _ = ctx.stream_iter([0, 1]).iterate(2, 0, lambda s, state: s.map(checked), add, add, always, delta=0)
    assert state.collect() == [62]


@pytest.mark.parametrize("by_name", [False, True])
def test_a_partial_function_reads_the_state_of_the_round(ctx: mo.StreamContext, by_name: bool) -> None:
    def body(stream: Any, state: Any) -> Any:
        inner = lambda n: plus_value(state, n)  # noqa: E731
        function = functools.partial(plus_value, state) if by_name else functools.partial(inner)
        return stream.map(function, returns=int)

    state, _ = ctx.stream_iter([0, 1]).iterate(2, 1, body, add, add, always, delta=0)
    assert state.collect() == [15]


def test_iterate_reads_the_state_of_the_round(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter(range(5)).iterate(
        2, 0, lambda s, state: s.map(lambda n: n + state.value), add, add, always, delta=0
    )
    assert state.collect() == [70]
    assert sorted(elements.collect()) == [10, 11, 12, 13, 14]


def test_iterate_ends_when_the_condition_says_so(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([1, 2]).iterate(
        100, 0, lambda s, state: s.map(lambda n: n * 2), add, add, lambda state: state < 1000, delta=0
    )
    assert state.collect() == [1530]
    assert elements.collect() == [256, 512]


def test_iterate_may_drop_and_add_elements(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([1, 8, 5]).iterate(
        2,
        0,
        lambda s, state: s.filter(lambda n: n != 8).flat_map(lambda n: [n, n + 100]),
        lambda delta, n: delta + 1,
        add,
        always,
        delta=0,
    )
    assert state.collect() == [12]
    assert elements.collect() == [1, 101, 101, 201, 5, 105, 105, 205]


def test_iterate_may_change_the_type_of_elements(ctx: mo.StreamContext) -> None:
    numbers: mo.Stream[Any] = ctx.stream_iter([1, 2])
    state, elements = numbers.iterate(
        2, 0, lambda s, state: s.map(lambda n: f"{n}!"), lambda delta, text: delta + len(text), add, always, delta=0
    )
    assert state.collect() == [10]
    assert elements.collect() == ["1!!", "2!!"]


def test_iterate_on_a_keyed_stream(ctx: mo.StreamContext) -> None:
    state, elements = (
        ctx.stream_iter([1, 2, 3])
        .group_by(lambda n: n % 2)
        .iterate(
            2,
            0,
            lambda s, state: s.map(lambda k, n: n * 10 + k),
            lambda delta, pair: delta + pair[1],
            add,
            always,
            delta=0,
        )
    )
    assert state.collect() == [62 + 622]
    assert sorted(elements.collect()) == [(0, 200), (1, 111), (1, 311)]


@pytest.mark.partitions
def test_iterate_with_a_body_that_groups(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([1, 2, 3, 4]).iterate(
        3,
        0,
        lambda s, state: s.group_by_sum(lambda n: n % 2, lambda n: n + state.value).drop_key(),
        add,
        add,
        always,
        delta=0,
    )
    assert state.collect() == [110]
    assert elements.collect() == [70]


# -- the local fold where Spark can do it ----------------------------------------------------------------------


BIG = 2**62
NUMBERS = [5, -7, 3, BIG, BIG, BIG, 12]
"""Their sum is beyond 64 bits."""


def sorted_inside(stream: Any, state: Any) -> Any:
    """A body that makes a job of each round."""
    return stream.sorted_by(lambda n: -n)


def folded_by_loops(stream: Any, delta: Any, local: Any) -> list[Any]:
    """What a round folds, fed back and replayed; the state is a list, so that its type says nothing of the delta."""
    fed, _ = stream.iterate(1, [], sorted_inside, local, lambda _, delta: [delta], always, delta=delta)
    again = stream.replay(1, [], sorted_inside, local, lambda _, delta: [delta], always, delta=delta)
    said = [(record.form, record.reason) for loop in (fed, again) for record in loop.forms()]
    assert {form for form, reason in said if reason == AGGREGATED} == {"column"}
    assert FOR_EACH_PARTITION not in {reason for _, reason in said}
    (one,), (other,) = fed.collect(), again.collect()
    assert repr(one) == repr(other)
    return one  # type: ignore[no-any-return]


@pytest.mark.partitions
@pytest.mark.bounded_thorough(kept=("count", "sum-some", "minus", "any", "tuple", "float"))
@pytest.mark.parametrize(
    ("delta", "local"),
    [
        (7, lambda delta, n: delta),
        (0, lambda delta, n: delta + 1),
        (3, lambda delta, n: delta + 2 if n > 3 else delta),
        (0, lambda delta, n: delta + n),
        (10, lambda delta, n: delta + n if n < 12 else delta),
        (0, lambda delta, n: delta - n),
        (-BIG, lambda delta, n: max(delta, n)),
        (BIG, lambda delta, n: min(delta, n)),
        (False, lambda delta, n: delta or n == 5),
        (True, lambda delta, n: delta and n > 0),
        (1, lambda delta, n: delta ^ n),
        ((0, (5, 0)), lambda delta, n: (delta[0] + n, (delta[1][0], max(delta[1][1], n)))),
        (0.0, lambda delta, n: max(delta, n / 4)),
    ],
    ids=["nothing", "count", "some", "sum", "sum-some", "minus", "max", "min", "any", "all", "bits", "tuple", "float"],
)
def test_a_round_folds_as_a_for_loop_does(ctx: mo.StreamContext, delta: Any, local: Any) -> None:
    expected = functools.reduce(local, NUMBERS, delta)
    numbers = ctx.stream_iter(NUMBERS)
    assert repr(folded_by_loops(numbers, delta, local)) == repr([expected])
    assert folded_by_loops(numbers.filter(lambda n: n == 0), delta, local) == []


@pytest.mark.partitions
@pytest.mark.bounded_thorough(kept=("nan",))
@pytest.mark.parametrize("number", [float("nan"), -0.0, 0.0])
def test_a_round_folds_floats_that_depend_on_the_order(ctx: mo.StreamContext, number: float) -> None:
    folds: list[Callable[[float, float], float]] = [lambda delta, n: max(delta, n), lambda delta, n: max(n, delta)]
    for local in folds:
        assert repr(folded_by_loops(ctx.stream_iter([number]), 0.0, local)) == repr([local(0.0, number)])


def test_a_round_folds_the_pairs_of_a_keyed_stream(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2, 3, 4, 5])
    state, _ = numbers.group_by(lambda n: n % 2).iterate(
        2,
        0,
        lambda s, state: s.reduce_assoc(add),
        lambda delta, pair: delta + 100 * pair[0] + pair[1],
        add,
        always,
        delta=0,
    )
    assert state.collect() == [2 * (100 + 9 + 6)]


@pytest.mark.jvm
def test_the_fold_of_a_round_moves_to_python_when_it_must(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_iter([3, BIG])
    assert folded_by_loops(numbers, 0, lambda delta, n: delta + n * n) == [9 + BIG * BIG]
    assert spark_ctx.metrics()["moved_to_python"]


# -- replay ---------------------------------------------------------------------------------------------------


@pytest.mark.partitions
def test_replay_runs_on_the_same_elements(ctx: mo.StreamContext) -> None:
    state = ctx.stream_iter([1, 2, 3]).replay(
        2, 1, lambda s, state: s.map(lambda n: n * state.value), add, add, always, delta=0
    )
    assert state.collect() == [49]


def test_replay_without_delta_starts_from_none(ctx: mo.StreamContext) -> None:
    state = ctx.stream_iter([3, 1, 2]).replay(
        2,
        0,
        same,
        lambda delta, n: n if delta is None else max(delta, n),
        lambda state, delta: max(state, delta),
        always,
    )
    assert state.collect() == [3]


def test_the_condition_may_change_a_state_that_can_be_changed(ctx: mo.StreamContext) -> None:
    def minus_one(state: list[int]) -> bool:
        state[0] -= 1
        return True

    state = ctx.stream_iter(range(20)).replay(
        5,
        [1],
        lambda s, state: s.map(lambda n: n * state.value[0]),
        add,
        lambda state, delta: [state[0] + delta],
        minus_one,
        delta=0,
    )
    assert state.collect() == [[252857034046]]


@pytest.mark.parametrize(
    ("start", "delta", "local", "combine", "expected"),
    [
        (0.0, 0.0, add, add, 20.0),
        ((0, 1), (0, 0), lambda d, x: (d[0] + 1, d[1] + int(x)), lambda s, d: (s[0] + d[0], s[1] + d[1]), (8, 21)),
        (
            Total(0, 0),
            Total(0, 0),
            lambda d, x: Total(d.count + 1, d.sum + int(x)),
            lambda s, d: Total(s.count + d.count, s.sum + d.sum),
            Total(8, 20),
        ),
        (Best(0, 0), 0.0, max, lambda s, d: Best(max(s.number, int(d)), s.rounds), Best(4, 0)),
        ([], [], lambda d, x: [*d, int(x)], add, [1, 2, 3, 4, 1, 2, 3, 4]),
        ({}, {}, lambda d, x: {**d, str(x): 1}, lambda s, d: {**s, **d}, {"1.0": 1, "2.0": 1, "3.0": 1, "4.0": 1}),
    ],
    ids=["number", "tuple", "record", "dataclass", "list", "dict"],
)
def test_the_state_may_be_of_any_type(
    ctx: mo.StreamContext, start: Any, delta: Any, local: Any, combine: Any, expected: Any
) -> None:
    state = ctx.stream_iter([1.0, 2.0, 3.0, 4.0]).replay(2, start, same, local, combine, always, delta=delta)
    assert state.collect() == [expected]


def test_the_state_may_be_an_array(ctx: mo.StreamContext) -> None:
    def put(delta: Any, n: int) -> Any:
        delta[n % 3] += n
        return delta

    (state,) = ctx.stream_iter(range(10)).replay(3, np.zeros(3), same, put, add, always, delta=np.zeros(3)).collect()
    assert state.tolist() == [54.0, 36.0, 45.0]


def test_items_of_arrays_become_pythons_numbers(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([0, 1]).iterate(
        1,
        (np.array([0.5, 1.5]), 0.0),
        lambda s, state: s.map(lambda n: state.value[0][n]),
        lambda delta, x: (delta[0] + x, 1),
        lambda state, delta: (state[0], state[1] + delta[0]),
        always,
        delta=(0.0, 0),
    )
    ((_, total),) = state.collect()
    assert (type(total), total) == (float, 2.0)
    assert [(type(x), x) for x in elements.collect()] == [(float, 0.5), (float, 1.5)]


def test_the_start_is_not_changed(ctx: mo.StreamContext) -> None:
    start, delta = [0], [0]

    def put(delta: list[int], n: int) -> list[int]:
        delta[0] += n
        return delta

    def take(state: list[int], delta: list[int]) -> list[int]:
        state[0] += delta[0]
        return state

    stream = ctx.stream_iter([1, 2, 3]).replay(2, start, same, put, take, always, delta=delta)
    assert stream.collect() == [[12]]
    assert stream.collect() == [[12]]
    assert (start, delta) == ([0], [0])


# -- edges ----------------------------------------------------------------------------------------------------


def test_a_loop_on_an_empty_stream(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2]).filter(lambda n: n > 5)
    state, elements = numbers.iterate(3, 7, same, add, add, always, delta=0)
    assert state.collect() == [7]
    assert elements.collect() == []
    assert ctx.stream_iter([]).replay(3, 7, same, add, add, always, delta=0).collect() == [7]


def test_a_loop_on_one_element(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([5]).iterate(3, 0, same, add, add, always, delta=0)
    assert (state.collect(), elements.collect()) == ([15], [5])


def test_a_round_that_nothing_leaves_does_not_change_the_state(ctx: mo.StreamContext) -> None:
    state = ctx.stream_iter([1, 2, 3]).replay(
        4, 1, lambda s, state: s.filter(lambda n: n > state.value), lambda delta, n: delta + 1, add, always, delta=0
    )
    assert state.collect() == [3]


def test_a_loop_that_never_converges_ends_after_max_iterations(ctx: mo.StreamContext) -> None:
    state = ctx.stream_iter([1]).replay(50, 0, same, add, add, always, delta=0)
    assert state.collect() == [50]


@pytest.mark.jvm
def test_more_partitions_than_slots(spark_ctx: mo.StreamContext) -> None:
    many = spark_ctx.stream_dataframe(spark_ctx.spark.range(0, 1000, 1, 17)).map(lambda row: row.id)
    state, elements = many.iterate(
        2, 0, lambda s, state: s.map(lambda n: n + state.value % 3), add, add, always, delta=0
    )
    reference = mo.StreamContext(engine="reference").stream_iter(range(1000))
    expected, left = reference.iterate(
        2, 0, lambda s, state: s.map(lambda n: n + state.value % 3), add, add, always, delta=0
    )
    assert state.collect() == expected.collect()
    assert elements.collect() == left.collect()


@pytest.mark.jvm
def test_partitions_are_folded_in_order(spark_ctx: mo.StreamContext) -> None:
    many = spark_ctx.stream_dataframe(spark_ctx.spark.range(0, 40, 1, 5)).map(lambda row: row.id)
    state = many.replay(2, list[int](), same, lambda delta, n: [*delta, n], add, always, delta=list[int]())
    assert state.collect() == [[*range(40), *range(40)]]


# -- plans ----------------------------------------------------------------------------------------------------


def test_loops_in_sequence(ctx: mo.StreamContext) -> None:
    _, doubled = ctx.stream_iter([1, 2]).iterate(
        2, 0, lambda s, state: s.map(lambda n: n * 2), add, add, always, delta=0
    )
    state = doubled.map(lambda n: n + 1).replay(3, 0, same, add, add, always, delta=0)
    assert state.collect() == [(5 + 9) * 3]


def test_loops_side_by_side(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2, 3])
    first = numbers.replay(2, 0, same, add, add, always, delta=0).collect_vec()
    second = numbers.replay(3, 0, same, add, add, always, delta=0).collect_vec()
    ctx.execute()
    assert (first.get(), second.get()) == ([12], [18])


def test_both_results_are_ordinary_streams(ctx: mo.StreamContext) -> None:
    state, elements = ctx.stream_iter([1, 2, 3]).iterate(
        2, 0, lambda s, state: s.map(lambda n: n + 1), add, add, always, delta=0
    )
    results = (
        state.map(lambda n: n * 10).collect_vec(),
        elements.filter(lambda n: n > 3).collect_vec(),
        elements.collect_count(),
    )
    ctx.execute()
    assert [result.get() for result in results] == [[210], [4, 5], 3]


def nested(ctx: mo.StreamContext, reads_outer: bool) -> Any:
    def inner(outer: Any) -> Any:
        return lambda s, state: s.map(lambda n: n + (outer.value % 2 if reads_outer else 0)).reduce_assoc(add)

    return ctx.stream_iter(range(10)).replay(
        2, 0, lambda s, outer: s.replay(2, 0, inner(outer), add, add, always, delta=0), add, add, always, delta=0
    )


@pytest.mark.partitions
def test_a_loop_inside_a_loop(ctx: mo.StreamContext) -> None:
    assert nested(ctx, reads_outer=False).collect() == [180]


def test_a_loop_inside_a_loop_reads_the_state_outside(ctx: mo.StreamContext) -> None:
    assert nested(ctx, reads_outer=True).collect() == [180]


def test_a_loop_inside_a_loop_that_stays_in_its_tasks(ctx: mo.StreamContext) -> None:
    state = ctx.stream_iter([1, 2, 3]).replay(
        3,
        1,
        lambda s, outer: s.replay(
            2, 0, lambda t, inner: t.map(lambda n: n * outer.value + inner.value), add, add, always, delta=0
        ),
        add,
        add,
        always,
        delta=0,
    )
    total = 1
    for _ in range(3):
        inner = 0
        for _ in range(2):
            inner += sum(n * total + inner for n in (1, 2, 3))
        total += inner
    assert state.collect() == [total]


def test_a_body_may_give_a_stream_from_outside(ctx: mo.StreamContext) -> None:
    others = ctx.stream_iter([10, 20]).map(lambda n: n + 1)
    assert ctx.stream_iter([1]).replay(2, 0, lambda s, state: others, add, add, always, delta=0).collect() == [64]


@pytest.mark.bounded_thorough
def test_side_inputs_are_replayed(ctx: mo.StreamContext) -> None:
    others = ctx.stream_iter([10, 20]).map(lambda n: n + 1)
    merged = ctx.stream_iter([1, 2]).replay(3, 0, lambda s, state: s.merge(others), add, add, always, delta=0)
    assert merged.collect() == [(1 + 2 + 11 + 21) * 3]
    state, elements = ctx.stream_iter([1, 2]).iterate(
        3, 0, lambda s, state: s.zip(others).map(lambda pair: pair[0] + pair[1]), add, add, always, delta=0
    )
    assert elements.collect() == [1 + 33, 2 + 63]
    assert state.collect() == [(12 + 23) + (23 + 44) + (34 + 65)]


def test_a_side_input_may_read_the_state(ctx: mo.StreamContext) -> None:
    others = ctx.stream_iter([1, 2, 3, 4])
    state = ctx.stream_iter([0]).replay(
        3,
        0,
        lambda s, state: s.merge(others.filter(lambda n: n > state.value).map(lambda n: 1)),
        add,
        add,
        always,
        delta=0,
    )
    assert state.collect() == [4]


# -- delta_iterate --------------------------------------------------------------------------------------------

NEIGHBOURS = {1: [2], 2: [1, 3], 3: [2], 4: [5], 5: [4], 6: []}


def labels(changed: Any) -> Any:
    sent = changed.unkey().flat_map(lambda pair: [(other, pair[1]) for other in NEIGHBOURS[pair[0]]])
    return sent.group_by(lambda pair: pair[0]).map(lambda node, pair: pair[1])


@pytest.mark.partitions
@pytest.mark.bounded_thorough
def test_delta_iterate_until_nothing_changes(ctx: mo.StreamContext) -> None:
    nodes = ctx.stream_iter(sorted(NEIGHBOURS)).group_by(lambda n: n)
    result = nodes.delta_iterate(
        20,
        lambda node, label, delta: min(label, delta),
        lambda node, label: label,
        lambda node, label: (node, label),
        lambda delta: True,
        labels,
    )
    assert sorted(result.collect()) == [
        (n, (n, label)) for n, label in zip(range(1, 7), [1, 1, 1, 4, 4, 6], strict=True)
    ]


def test_delta_iterate_takes_at_most_max_iterations_rounds(ctx: mo.StreamContext) -> None:
    nodes = ctx.stream_iter(sorted(NEIGHBOURS)).group_by(lambda n: n)
    result = nodes.delta_iterate(
        1, lambda k, label, delta: min(label, delta), lambda k, v: v, lambda k, v: v, lambda delta: True, labels
    )
    assert sorted(result.collect()) == [(1, 1), (2, 1), (3, 2), (4, 4), (5, 4), (6, 6)]


def test_delta_iterate_only_sends_what_changed(ctx: mo.StreamContext) -> None:
    """A key whose deltas are refused, or change nothing, sends nothing in the next round."""
    counters = ctx.stream_iter([0, 10]).group_by(lambda n: n)
    result = counters.delta_iterate(
        5, lambda k, value, delta: value + delta, lambda k, v: k, lambda k, v: v, lambda delta: delta > 0, lambda c: c
    )
    assert sorted(result.collect()) == [(0, 0), (10, 60)]


def test_delta_iterate_makes_entries_for_new_keys(ctx: mo.StreamContext) -> None:
    ones = ctx.stream_iter([1]).group_by(lambda n: n)
    result = ones.delta_iterate(
        4,
        lambda key, value, delta: delta if value is None else value,  # type: ignore[redundant-expr]
        lambda key, value: key,
        lambda key, value: value,
        lambda delta: True,
        lambda changed: changed.drop_key().map(lambda key: key + 1, returns=int).group_by(lambda key: key),
    )
    assert sorted(result.collect()) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]


EDGES = [(1, 2), (2, 1), (2, 3), (3, 2), (4, 5), (5, 4), (7, 8), (8, 9)]


def least_labels(ctx: mo.StreamContext, rounds: int = 20, **functions: Any) -> Any:
    """Labels that spread along edges; the body ends with one delta for each key."""
    edges = ctx.stream_iter(EDGES)
    nodes = ctx.stream_iter([1, 2, 3, 4, 5, 6, 7]).group_by(lambda n: n)

    def body(changed: Any) -> Any:
        met = changed.unkey().join(edges, lambda pair: pair[0], lambda edge: edge[0])
        return (
            met.drop_key()
            .map(lambda pair: (pair[1][1], pair[0][1]))
            .group_by_reduce(lambda pair: pair[0], lambda one, other: one if one[1] < other[1] else other)
            .map(lambda node, pair: pair[1])
        )

    process = functions.get("process", lambda node, label, delta: delta if label is None else min(label, delta))
    output = functions.get("output", lambda node, label: label)
    condition = functions.get("condition", lambda delta: delta > 0)
    return nodes.delta_iterate(rounds, process, lambda node, label: label, output, condition, body)


def test_delta_iterate_where_spark_joins(ctx: mo.StreamContext) -> None:
    """Keys 8 and 9 have no value at first."""
    labels = [(1, 1), (2, 1), (3, 1), (4, 4), (5, 4), (6, 6), (7, 7), (8, 7), (9, 7)]
    pairs = least_labels(ctx, output=lambda node, label: (label, node)).collect()
    assert sorted(pairs) == [(node, (label, node)) for node, label in labels]
    assert sorted(least_labels(ctx, 1).collect()) == [(1, 1), (2, 1), (3, 2), *labels[3:8]]


@pytest.mark.bounded_thorough
def test_delta_iterate_where_spark_joins_and_tells_what_changed(ctx: mo.StreamContext) -> None:
    assert sorted(least_labels(ctx, condition=lambda delta: delta > 1).collect())[:2] == [(1, 1), (2, 2)]


class AboveOne(NamedTuple):
    n: int

    def __bool__(self) -> bool:
        return self.n > 1


@pytest.mark.bounded_thorough
def test_a_condition_whose_truth_only_python_knows(ctx: mo.StreamContext) -> None:
    assert sorted(least_labels(ctx, condition=lambda delta: AboveOne(delta)).collect())[:2] == [(1, 1), (2, 2)]


def test_delta_iterate_of_floats_that_never_settle(ctx: mo.StreamContext) -> None:
    """NaN differs from itself: its key goes round until the end."""
    ones = ctx.stream_iter([(1, 1.0), (2, float("nan"))]).group_by(lambda p: p[0]).map(lambda k, p: p[1])
    result = ones.delta_iterate(
        3,
        lambda key, value, delta: (0.0 if value is None else value) + delta,  # type: ignore[redundant-expr]
        lambda key, value: 0.0 if value < 2.0 else value,
        lambda key, value: value,
        lambda delta: delta != 5.0,
        lambda changed: changed.unkey().group_by_sum(lambda pair: pair[0], lambda pair: pair[1]),  # type: ignore[arg-type, return-value]
    )
    assert sorted(map(repr, result.collect())) == ["(1, 1.0)", "(2, nan)"]


@pytest.mark.jvm
def test_delta_iterate_as_columns_moves_to_python_when_it_must(spark_ctx: mo.StreamContext) -> None:
    """Python computes a sum that exceeds 64 bits on the way."""
    result = least_labels(
        spark_ctx,
        process=lambda node, label, delta: delta if label is None else min(label * 2**62 - label * (2**62 - 1), delta),
    )
    assert {form.form for form in result.forms() if form.operator == "delta_iterate"} == {"column"}
    assert sorted(result.collect())[:3] == [(1, 1), (2, 1), (3, 1)]
    assert spark_ctx.metrics()["moved_to_python"]


# -- failures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loop", "element"),
    [
        (lambda s: s.replay(3, 0, lambda t, state: t.map(lambda n: 1 // n), add, add, always, delta=0), "0"),
        (lambda s: s.replay(3, 0, same, lambda delta, n: 1 // n, add, always, delta=0), "0"),
        (lambda s: s.replay(3, 0, same, add, lambda state, delta: 1 // 0, always, delta=0), "(0, 3)"),
        (lambda s: s.replay(3, 7, same, add, lambda state, delta: state, lambda state: 1 // 0, delta=0), "7"),
        (lambda s: s.map(lambda n: [1 // n][0]).replay(3, 0, same, add, add, always, delta=0), "0"),
    ],
    ids=["body", "local_fold", "global_fold", "condition", "before"],
)
def test_a_function_that_fails(ctx: mo.StreamContext, loop: Any, element: str) -> None:
    threads = threading.active_count()
    numbers = (
        ctx.stream_iter([0, 1, 2])
        if ctx.config.engine == "reference"
        else ctx.stream_par_iter(lambda i, n: range(3) if i == 0 else [])
    )
    with pytest.raises(mo.ElementError) as caught:
        loop(numbers).collect()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.element == element
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert threading.active_count() <= threads
    assert numbers.replay(2, 0, same, add, add, always, delta=0).collect() == [6]


@pytest.mark.parametrize("method", ["iterate", "replay"])
def test_unbounded_input_is_refused(spark_ctx: mo.StreamContext, method: str) -> None:
    ticks = spark_ctx.stream_rate(5)
    with pytest.raises(mo.PlanError, match=f"{method} cannot run on unbounded input.*test_iterate.py"):
        getattr(ticks, method)(3, 0, same, add, add, always)


def test_an_unbounded_side_input_is_refused(spark_ctx: mo.StreamContext) -> None:
    ticks = spark_ctx.stream_rate(5)
    with pytest.raises(mo.PlanError, match="reads an unbounded stream"):
        spark_ctx.stream_iter([1]).replay(3, 0, lambda s, state: ticks, add, add, always)


def test_what_cannot_be_a_loop_is_refused() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([1])
    for rounds in (0, -1, 2.5, True):
        with pytest.raises(mo.PlanError, match="cannot run .* rounds"):
            stream.replay(rounds, 0, same, add, add, always)  # type: ignore[arg-type]
    with pytest.raises(mo.PlanError, match="returned int and not a stream"):
        stream.replay(3, 0, lambda s, state: 5, add, add, always)
    with pytest.raises(mo.PlanError, match="replay as body is called with two arguments"):
        stream.replay(3, 0, lambda s: s, add, add, always)  # type: ignore[arg-type, misc]
    with pytest.raises(mo.PlanError, match="replay as condition is called with one argument"):
        stream.replay(3, 0, same, add, add, lambda: True)  # type: ignore[arg-type, misc]
    with pytest.raises(mo.PlanError, match="exists only while the loop runs"):
        stream.replay(3, 0, lambda s, state: s.limit(state.value), add, add, always)
    with pytest.raises(mo.PlanError, match="makes a keyed stream of a plain stream"):
        stream.iterate(3, 0, lambda s, state: s.group_by(lambda n: n), add, add, always)  # type: ignore[arg-type, return-value]
    other = mo.StreamContext(engine="reference").stream_iter([1])
    with pytest.raises(mo.PlanError, match="another context"):
        stream.replay(3, 0, lambda s, state: other, add, add, always)
    with pytest.raises(mo.PlanError, match="a delta belongs to a key"):
        stream.group_by(lambda n: n).delta_iterate(
            3,
            lambda k, v, d: v,
            lambda k, v: v,
            lambda k, v: v,
            lambda d: True,
            lambda c: c.drop_key(),  # type: ignore[arg-type, return-value]
        )


# -- seeing ---------------------------------------------------------------------------------------------------


def test_explain_says_which_way_a_loop_runs(capsys: pytest.CaptureFixture[str]) -> None:
    ctx = mo.StreamContext(engine="reference")
    ctx.stream_iter([1]).replay(3, 0, lambda s, state: s.map(lambda n: n + state.value), add, add, always).explain()
    text = capsys.readouterr().out
    assert "one job — the body is row-wise" in text
    assert "body: map" in text
    ctx.stream_iter([1]).replay(3, 0, lambda s, state: s.count(), add, add, always).explain()
    text = capsys.readouterr().out
    assert "a job for each round — count" in text


def test_forms_has_the_functions_of_the_body() -> None:
    ctx = mo.StreamContext(engine="reference")
    stream = ctx.stream_iter([1]).replay(3, 0, lambda s, state: s.map(lambda n: n + state.value), add, add, always)
    assert [record.operator for record in stream.forms()] == ["map", "replay", "replay", "replay"]


@pytest.mark.jvm
def test_metrics_tell_how_the_loops_went(spark_ctx: mo.StreamContext) -> None:
    spark_ctx.stream_iter([1, 2, 3]).replay(4, 0, same, add, add, lambda state: state < 12, delta=0).collect()
    (loop,) = spark_ctx.metrics()["loops"]
    assert loop["rounds"] == 2
    assert loop["elements"] == 3
    assert loop["condition"] is False
    assert loop["seconds"] > 0
    assert loop["loop"].startswith("replay (")


# -- machine code --------------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops are compiled before their first round."""
    monkeypatch.setattr(kernel_stage, "PATIENCE", 0.0)


def nearest(point: tuple[float, float], centres: Any) -> int:
    best, least = 0, 1e300
    for place in range(len(centres)):
        across, up = point[0] - centres[place, 0], point[1] - centres[place, 1]
        if across * across + up * up < least:
            best, least = place, across * across + up * up
    return best


def put_point(sums: Any, assigned: tuple[int, tuple[float, float]]) -> Any:
    place, point = assigned
    sums[place, 0] += point[0]
    sums[place, 1] += point[1]
    sums[place, 2] += 1.0
    return sums


def move_centres(state: tuple[Any, Any]) -> bool:
    centres, sums = state
    used = sums[:, 2] > 0
    centres[used] = sums[used, :2] / sums[used, 2:]
    sums[:] = 0.0
    return True


@pytest.mark.partitions
def test_k_means_in_machine_code(ctx: mo.StreamContext, impatient: None) -> None:
    """Coordinates are whole numbers, so that sums do not depend on how the points are cut into partitions."""
    points = [(float(n * 37 % 101), float(n * 53 % 97)) for n in range(400)]
    centres = np.array([[10.0, 10.0], [50.0, 50.0], [90.0, 90.0]])
    stream = ctx.stream_iter(points).replay(
        6,
        (centres, np.zeros((3, 3))),
        lambda s, state: s.map(lambda p: (nearest(p, state.value[0]), p)),
        put_point,
        lambda state, delta: (state[0], state[1] + delta),
        move_centres,
        delta=np.zeros((3, 3)),
    )
    assert {record.form for record in stream.forms() if record.operator == "map"} == {"kernel"}
    ((found, _),) = stream.collect()
    expected = centres.copy()
    for _ in range(6):
        labels = [nearest(point, expected) for point in points]
        expected = np.array(
            [np.mean([p for p, at in zip(points, labels, strict=True) if at == k], axis=0) for k in range(3)]
        )
    assert found.tolist() == expected.tolist()


@pytest.mark.partitions
def test_feedback_in_machine_code(ctx: mo.StreamContext, impatient: None) -> None:
    state, elements = ctx.stream_iter(range(1, 300)).iterate(
        9,
        0,
        lambda s, state: s.map(lambda n: n // 2 if n % 2 == 0 else 3 * n + 1 + state.value * 0).filter(
            lambda n: n != 1
        ),
        lambda delta, n: delta + 1,
        add,
        always,
        delta=0,
    )
    numbers, total = list(range(1, 300)), 0
    for _ in range(9):
        numbers = [m for n in numbers if (m := n // 2 if n % 2 == 0 else 3 * n + 1) != 1]
        total += len(numbers)
    assert state.collect() == [total]
    assert elements.collect() == numbers


def test_odd_elements_in_machine_code(ctx: mo.StreamContext, impatient: None) -> None:
    numbers = [1, 2**62, 3, -(2**63), 5]
    state = ctx.stream_iter(numbers).replay(
        2, 1, lambda s, state: s.map(lambda n: n * 4 * state.value % 1009), add, add, always, delta=0
    )
    total = 1
    for _ in range(2):
        total += sum(n * 4 * total % 1009 for n in numbers)
    assert state.collect() == [total]


def test_a_state_that_outgrows_machine_code(ctx: mo.StreamContext, impatient: None) -> None:
    state = ctx.stream_iter([3, 5]).replay(
        40, 1, lambda s, state: s.map(lambda n: n * state.value), add, add, always, delta=0
    )
    assert state.collect() == [9**40]


def test_a_function_that_fails_in_machine_code(ctx: mo.StreamContext, impatient: None) -> None:
    stream = ctx.stream_iter([4, 2, 0, 1]).replay(
        3, 100, lambda s, state: s.map(lambda n: state.value // n), add, add, always, delta=0
    )
    with pytest.raises(mo.ElementError, match="map.*failed on the element 0: ZeroDivisionError"):
        stream.collect()


def test_a_range_is_generated_in_the_tasks(ctx: mo.StreamContext, impatient: None) -> None:
    def steps(n: int) -> tuple[int, int]:
        count, start = 0, n
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count, start

    def longer(best: tuple[int, int], found: tuple[int, int]) -> tuple[int, int]:
        return found if found[0] > best[0] else best

    longest = ctx.stream_par_iter(range(1, 5000)).replay(
        1, (0, 0), lambda s, state: s.map(steps), longer, longer, always, delta=(0, 0)
    )
    assert longest.collect() == [(237, 3711)]


def test_a_state_that_is_a_datetime_comes_back_as_it_is(ctx: mo.StreamContext) -> None:
    day = datetime.datetime(2024, 1, 1)
    numbers = ctx.stream_iter([1, 2])
    state = numbers.replay(2, day, lambda s, _: s, lambda d, n: n, lambda d, _: d, lambda d: True, delta=0)
    assert state.collect() == [day]


# -- files that the tasks read themselves ---------------------------------------------------------------------


class Reading(NamedTuple):
    place: int
    value: float
    good: bool


def table(first: int, last: int, **columns: Any) -> pa.Table:
    numbers = range(first, last)
    return pa.table(
        {
            # in another order than the record's fields
            "good": pa.array([number % 3 == 0 for number in numbers], pa.bool_()),
            "value": pa.array([number / 2 for number in numbers], pa.float32()),
            "Place": pa.array(numbers, pa.int32()),
            "more": pa.array(["unread"] * len(numbers), pa.string()),
            **columns,
        }
    )


def total(ctx: mo.StreamContext, path: Path, record: type = Reading) -> Any:
    (state,) = (
        ctx.stream_parquet(str(path), record)
        .replay(
            3,
            0.0,
            lambda readings, state: readings.filter(lambda reading: reading.good),
            lambda delta, reading: delta + reading.place + reading.value,
            add,
            always,
            delta=0.0,
        )
        .collect()
    )
    return state


def test_loops_over_parquet_files(ctx: mo.StreamContext, tmp_path: Path) -> None:
    for name, first, last in (("a", 0, 10), ("b", 10, 10), ("c", 10, 1000)):
        pq.write_table(table(first, last), tmp_path / f"{name}.parquet", row_group_size=64)
    assert total(ctx, tmp_path) == 3 * sum(number * 1.5 for number in range(0, 1000, 3))


@pytest.mark.partitions
def test_loops_keep_the_order_of_files(ctx: mo.StreamContext, tmp_path: Path) -> None:
    for name, first, last in (("a", 0, 100), ("b", 100, 105), ("c", 105, 300)):
        pq.write_table(table(first, last), tmp_path / f"{name}.parquet", row_group_size=20)
    _, elements = ctx.stream_parquet(str(tmp_path), Reading).iterate(1, 0, same, add_count, add, always, delta=0)
    assert [reading.place for reading in elements.collect()] == list(range(300))


def add_count(delta: int, reading: Reading) -> int:
    return delta + 1


def test_a_loop_over_a_file_without_a_value_says_so(ctx: mo.StreamContext, tmp_path: Path) -> None:
    pq.write_table(table(0, 2, value=pa.array([1.0, None], pa.float64())), tmp_path / "a.parquet")
    with pytest.raises(mo.SourceError, match=r"a row has no value for .?value|field value: there is no value"):
        total(ctx, tmp_path)


def test_a_loop_over_a_file_without_a_column_says_so(ctx: mo.StreamContext, tmp_path: Path) -> None:
    pq.write_table(table(0, 2).drop_columns(["value"]), tmp_path / "a.parquet")
    with pytest.raises(mo.SourceError, match="the field value, which the table has not"):
        total(ctx, tmp_path)


def test_files_are_cut_into_parts_of_about_as_many_rows(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a", "b")]
    for file, rows in zip(files, (100, 30), strict=True):
        pq.write_table(table(0, rows), file, row_group_size=10)
    assert parts_of(files, 2) == (((files[0], 0, 6),), ((files[0], 6, 10), (files[1], 0, 3)))
    spread = parts_of(files, 20)
    assert len(spread) == 20
    assert sum(groups.last - groups.first for part in spread for groups in part) == 13


def test_a_body_whose_function_raises_an_error_of_its_own_class() -> None:
    """Classes of errors have an attribute `args`, as partial functions have, which holds no values."""

    class RefusedError(Exception):
        pass

    def refuse(n: int) -> int:
        if n < 0:
            raise RefusedError
        return n + 1

    ctx = mo.StreamContext(engine="reference")
    add = lambda a, b: a + b  # noqa: E731
    total = ctx.stream_iter(range(3)).replay(1, 0, lambda s, state: s.map(refuse), add, add, lambda _: True, delta=0)
    assert total.collect() == [6]
