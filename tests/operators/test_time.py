"""Timestamps."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.types.element import DATETIME, INT
from tests.operators.engines import Runner


class Click(NamedTuple):
    at: int
    page: str


CLICKS = [Click(30, "c"), Click(10, "a"), Click(20, "b"), Click(10, "aa")]


def test_reorder_is_by_timestamp_and_stable(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: s.add_timestamps(lambda c: c.at).reorder().map(lambda c: c.page), CLICKS)
    assert result == ["a", "aa", "b", "c"]


def test_timestamps_travel_through_row_wise_operators(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return (
            stream.add_timestamps(lambda c: c.at)
            .filter(lambda c: c.page != "b")
            .flat_map(lambda c: [c.page, c.page.upper()])
            .map(lambda p: p + "!")
            .filter_map(lambda p: p if p != "C!" else None)
            .reorder()
        )

    assert bounded_runner.run(program, CLICKS) == ["a!", "A!", "aa!", "AA!", "c!"]


def test_timestamps_travel_through_a_stage(bounded_runner: Runner) -> None:
    async def shout(text: str) -> str:
        return text + "!"

    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return (
            stream.add_timestamps(lambda c: c.at)
            .map(lambda c: (math.floor(c.at), c.page))
            .filter(lambda pair: hash(pair) is not None)
            .flat_map(lambda pair: [pair[1]] * 2 if pair[1] == "b" else [pair[1]])
            .map_async(shout)
            .reorder()
        )

    assert bounded_runner.run(program, CLICKS) == ["a!", "aa!", "b!", "b!", "c!"]


def test_timestamps_travel_with_keys(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[tuple[int, str]]:
        keyed = stream.add_timestamps(lambda c: c.at).group_by(lambda c: len(c.page))
        return keyed.map(lambda k, c: c.page * k).reorder().unkey()

    assert bounded_runner.run(program, CLICKS) == [(1, "a"), (2, "aaaa"), (1, "b"), (1, "c")]


def test_timestamps_of_outputs_with_state(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return stream.add_timestamps(lambda c: c.at).rich_map(0, lambda n, c: (n + 1, f"{n}{c.page}")).reorder()

    assert bounded_runner.run(program, CLICKS) == ["1a", "3aa", "2b", "0c"]


def test_timestamps_travel_through_sorting_and_unique(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        timed = stream.add_timestamps(lambda c: c.at)
        return timed.sorted_limit_by(lambda c: c.page, 3).unique().reorder().map(lambda c: c.page)

    assert bounded_runner.run(program, CLICKS) == ["a", "aa", "b"]


def test_datetimes(bounded_runner: Runner) -> None:
    days = [datetime.datetime(2024, 1, 3), datetime.datetime(1960, 1, 1, 0, 0, 0, 1), datetime.datetime(1960, 1, 1)]
    result = bounded_runner.run(lambda s: s.add_timestamps(lambda t: t).reorder(), days)
    assert result == sorted(days)


def test_a_timestamp_function_that_is_no_column(bounded_runner: Runner) -> None:
    def at(click: Click) -> int:
        return int(math.copysign(click.at, hash(click.page) % 1 + 1))

    result = bounded_runner.run(lambda s: s.add_timestamps(at).reorder().map(lambda c: c.page), CLICKS)
    assert result == ["a", "aa", "b", "c"]


def test_drop_timestamps() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter(CLICKS).add_timestamps(lambda c: c.at)
    assert stream._node.time == INT
    assert stream.drop_timestamps()._node.time is None
    with pytest.raises(mo.PlanError, match="reorder needs elements with timestamps"):
        stream.drop_timestamps().reorder()


def test_timestamps_may_be_dropped_again(runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        timed = stream.add_timestamps(lambda c: c.at, delay=9)
        return timed.map(lambda c: c.page).drop_timestamps().map(lambda page: page * 2)

    assert runner.run(program, CLICKS) == [click.page * 2 for click in CLICKS]


def test_the_kind_of_timestamp_is_known() -> None:
    ctx = mo.StreamContext(engine="reference")
    stream = ctx.stream_iter([datetime.datetime(2024, 1, 1)])
    assert stream.add_timestamps(lambda t: t)._node.time == DATETIME


@pytest.mark.parametrize(
    ("function", "type_"), [(lambda c: c.page, "str"), (lambda c: float(c.at), "float"), (lambda c: None, "object")]
)
def test_what_is_no_timestamp_is_refused(function: Callable[[Click], Any], type_: str) -> None:
    stream = mo.StreamContext(engine="reference").stream_iter(CLICKS)
    with pytest.raises(mo.PlanError, match=f"add_timestamps have the type {type_}; they must be int"):
        stream.add_timestamps(function)


def test_a_delay_that_is_no_duration_is_refused() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter(CLICKS)
    with pytest.raises(mo.PlanError, match="the delay: 'soon' is no duration"):
        stream.add_timestamps(lambda c: c.at, delay="soon")
    with pytest.raises(mo.PlanError, match="a delay or a watermark function, not both"):
        stream.add_timestamps(lambda c: c.at, delay="1s", watermark=lambda c: c.at)


def test_timestamps_travel_through_machine_code(bounded_runner: Runner) -> None:
    def steps(click: Click):  # type: ignore[no-untyped-def]  # the type of its result is inferred
        n, count = click.at, 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    def program(stream: mo.Stream[Click]) -> mo.Stream[int]:
        return stream.add_timestamps(lambda c: c.at).map(steps).filter(lambda n: n != 7).reorder()

    clicks = [Click(n * 7919 % 500 + 1, "p") for n in range(500)]
    expected = [steps(click) for click in sorted(clicks, key=lambda click: click.at)]
    assert bounded_runner.run(program, clicks) == [n for n in expected if n != 7]
