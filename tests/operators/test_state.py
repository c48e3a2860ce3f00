"""Operators with a user-defined state."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.types.element import ANY, FLOAT, INT, STR, Keyed
from tests.operators.engines import Runner


class Reading(NamedTuple):
    sensor: str
    value: float


def test_rich_map(runner: Runner) -> None:
    assert runner.run(lambda s: s.rich_map(0, lambda t, n: (t + n, t + n)), [1, 2, 3, 4]) == [1, 3, 6, 10]


def test_rich_map_on_a_keyed_stream_has_a_state_for_each_key(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[int, tuple[int, int]]:
        return stream.group_by(lambda n: n % 2).rich_map(100, lambda state, key, n: (state + n, (key, state)))

    result = runner.run(program, [1, 2, 3, 4])
    assert sorted(result) == [(0, (0, 100)), (0, (0, 102)), (1, (1, 100)), (1, (1, 101))]


def test_rich_map_on_records(runner: Runner) -> None:
    readings = [Reading("a", 1.0), Reading("b", 5.0), Reading("a", 4.0), Reading("b", 4.5)]

    def program(stream: mo.Stream[Reading]) -> mo.KeyedStream[str, str]:
        keyed = stream.group_by(lambda r: r.sensor)
        return keyed.rich_filter_map(
            0.0, lambda last, sensor, r: (r.value, f"{sensor} rose" if r.value > last else None)
        )

    assert sorted(runner.run(program, readings)) == [("a", "a rose"), ("a", "a rose"), ("b", "b rose")]


def test_rich_filter_map_drops_none(runner: Runner) -> None:
    result = runner.run(
        lambda s: s.rich_filter_map(0, lambda t, n: (t + n, t + n if t + n >= 0 else None)), [1, 2, -5, 3, 1]
    )
    assert result == [1, 3, 1, 2]


def test_rich_flat_map(runner: Runner) -> None:
    result = runner.run(
        lambda s: s.rich_flat_map([], lambda seen, y: ([*seen, y], [(x, y) for x in seen])), [0, 1, 2, 3]
    )
    assert result == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]


def test_a_state_that_is_changed_in_place_starts_anew_for_each_key(runner: Runner) -> None:
    def seen(state: list[int], key: int, n: int):  # type: ignore[no-untyped-def]  # its results' type is inferred
        state.append(n)
        return state, len(state)

    result = runner.run(lambda s: s.group_by(lambda n: n % 3).rich_map([], seen), [0, 1, 2, 3, 4, 6])
    assert sorted(result) == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)]


def test_the_state_may_change_its_type(runner: Runner) -> None:
    result = runner.run(lambda s: s.rich_map(None, lambda last, n: (n, (last, n))), [1, 2, 3])
    assert result == [(None, 1), (1, 2), (2, 3)]


def test_types_of_outputs() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1, 2])
    assert numbers.rich_map(0, lambda s, n: (s + n, n / 2)).type == FLOAT
    assert numbers.rich_map(None, lambda s, n: (n, n)).type == ANY
    assert numbers.rich_map(None, lambda s, n: (n, n), returns=int).type == INT
    assert numbers.rich_filter_map(0, lambda s, n: (s, str(n) if n > s else None)).type == STR
    assert numbers.group_by(lambda n: n).rich_map(0, lambda s, k, n: (s, n)).type == Keyed(INT, INT)


def test_a_function_that_gives_no_pair_is_named(runner: Runner) -> None:
    with pytest.raises(mo.ElementError, match=r"rich_map .* element 1: .*must return a pair \(new state, output\)"):
        runner.run(lambda s: s.rich_map(0, lambda state, n: state), [1])


def test_a_failure_names_key_and_value(runner: Runner) -> None:
    with pytest.raises(mo.ElementError) as caught:
        runner.run(lambda s: s.group_by(lambda n: n % 2).rich_map(0, lambda st, k, n: (st, 1 // n)), [1, 0])
    assert caught.value.element == "(0, 0)"


def test_a_function_of_the_wrong_arity_is_refused() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1])
    with pytest.raises(mo.PlanError, match="rich_map is called with two arguments"):
        numbers.rich_map(0, lambda n: n)  # type: ignore[arg-type, misc]
    with pytest.raises(mo.PlanError, match="rich_map is called with 3 arguments"):
        numbers.group_by(lambda n: n).rich_map(0, lambda s, n: (s, n))  # type: ignore[arg-type, misc]


def test_explain_says_why_it_is_python() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([1]).rich_map(0, lambda s, n: (s, n))
    (form,) = stream.forms()
    assert (form.form, form.reason) == ("stage", "it has a state")


def test_an_output_that_is_the_state_is_what_it_was_then(runner: Runner) -> None:
    def gather(seen: list[int], n: int):  # type: ignore[no-untyped-def]  # the type of its results is inferred
        seen.append(n)
        return seen, seen

    assert runner.run(lambda s: s.rich_map([], gather), [1, 2]) == [[1], [1, 2]]


@pytest.mark.partitions
def test_states_one_after_the_other_see_the_order_of_the_stream(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[int, tuple[int, int]]:
        totals = stream.rich_map(0, lambda total, n: (total + n, total + n)).map(lambda n: n * 2)
        return totals.group_by(lambda n: n % 4).rich_map(0, lambda count, key, n: (count + 1, (count, n)))

    assert sorted(runner.run(program, [1, 2, 3, 4])) == [(0, (0, 12)), (0, (1, 20)), (2, (0, 2)), (2, (1, 6))]


@pytest.mark.partitions
def test_many_keys_in_many_micro_batches(runner: Runner) -> None:
    numbers = [n * 7919 % 1000 for n in range(3000)]
    seen: dict[int, int] = {}
    expected = []
    for n in numbers:
        seen[n] = seen.get(n, 0) + 1
        expected.append((n, seen[n]))
    result = runner.run(lambda s: s.group_by(lambda n: n).rich_map(0, lambda c, k, n: (c + 1, c + 1)), numbers)
    assert sorted(result) == sorted(expected)


@pytest.mark.parametrize(
    ("key", "other"),
    [
        (float("nan"), 1.0),
        (0.0, 1.0),
        (None, "b"),
        (("a", None), ("b", 1)),
        (Reading("a", float("nan")), Reading("b", 0.0)),
    ],
)
def test_keys_are_equal_where_python_says_so(runner: Runner, key: Any, other: Any) -> None:
    def program(stream: Any) -> Any:
        return stream.group_by(lambda pair: pair[0]).rich_map(0, lambda count, key, pair: (count + 1, count))

    result = runner.run(program, [(key, 1), (key, 2), (other, 3)])
    assert sorted(count for _, count in result) == [0, 0, 1]
