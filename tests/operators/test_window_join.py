"""Joins of windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import morisot as mo
from tests.operators.engines import Runner
from tests.operators.test_window import in_order

Window = mo.EventTimeWindow
Row = tuple[int, str, Any]
LEFT = [(12, "a", 1), (3, "b", 2), (19, "a", 3), (-4, "b", 4), (31, "a", 5)]
RIGHT = [(15, "a", "x"), (1, "b", "y"), (18, "a", "z"), (22, "a", "u"), (-9, "c", "v")]


def streams(ctx: mo.StreamContext) -> list[mo.Stream[Row]]:
    return [ctx.stream_iter(rows).add_timestamps(lambda row: row[0]) for rows in (LEFT, RIGHT)]


def keyed(ctx: mo.StreamContext) -> list[mo.KeyedStream[str, Any]]:
    return [stream.group_by(lambda row: row[1]).map(lambda _, row: row[2]) for stream in streams(ctx)]


@pytest.mark.partitions
def test_join_of_tumbling_windows_of_each_key(ctx: mo.StreamContext) -> None:
    left, right = keyed(ctx)
    pairs = left.window(Window.tumbling(10)).join(right).with_bounds()
    expected = [("b", (0, 10, (2, "y"))), *(("a", (10, 20, pair)) for pair in [(1, "x"), (1, "z"), (3, "x"), (3, "z")])]
    assert sorted(pairs.collect()) == sorted(expected)
    assert in_order(pairs.map(lambda _, window: window.value).drop_key()).collect() == [
        "(2, 'y') (1, 'x') (1, 'z') (3, 'x') (3, 'z') "
    ]


def test_join_of_sliding_windows_pairs_once_for_each_window(ctx: mo.StreamContext) -> None:
    left, right = keyed(ctx)
    windows = Window.sliding(20, 10)
    pairs = left.window(windows).join(right.window(windows)).unkey()
    assert sorted(pairs.collect()) == sorted(
        [("b", (2, "y"))] * 2
        + [("b", (4, "y"))]
        + [("a", (1, "x")), ("a", (1, "z")), ("a", (3, "x")), ("a", (3, "z"))] * 2
        + [("a", (1, "u")), ("a", (3, "u")), ("a", (5, "u"))]
    )


def test_a_session_is_made_by_both_sides(ctx: mo.StreamContext) -> None:
    left, right = keyed(ctx)
    pairs = left.window(Window.session(4)).join(right).with_bounds()
    bounds = {(window.start, window.end) for _, window in pairs.collect()}
    assert bounds == {(1, 7), (12, 26)}
    assert len(pairs.collect()) == 1 + 2 * 3


def test_join_of_whole_streams_and_of_their_results(ctx: mo.StreamContext) -> None:
    """The pairs have the window's end as timestamp."""
    left, right = (stream.map(lambda row: row[2]) for stream in streams(ctx))
    counts = left.window_all(Window.tumbling(10)).join(right).window_all(Window.tumbling(10)).count().with_bounds()
    assert sorted(counts.collect()) == [(0, 10, 1), (10, 20, 1), (20, 30, 4)]


@pytest.mark.partitions
def test_join_of_count_windows_pairs_the_nth_with_the_nth(ctx: mo.StreamContext) -> None:
    left, right = keyed(ctx)
    pairs = left.window(mo.CountWindow.tumbling(2, exact=False)).join(right)
    assert sorted(pairs.collect()) == [
        ("a", (1, "x")),
        ("a", (1, "z")),
        ("a", (3, "x")),
        ("a", (3, "z")),
        ("a", (5, "u")),
        ("b", (2, "y")),
        ("b", (4, "y")),
    ]


def test_join_of_everything_compares_keys_as_python_does(ctx: mo.StreamContext) -> None:
    left = ctx.stream_iter([1, 2, 3]).group_by(lambda n: n)
    right = ctx.stream_iter([1.0, 2.5, 3.0]).group_by(lambda x: x)
    pairs: mo.KeyedStream[int, Any] = left.window(mo.AllWindow()).join(right)  # type: ignore[arg-type]
    assert sorted(pairs.collect()) == [(1, (1, 1.0)), (3, (3, 3.0))]


@pytest.mark.parametrize(
    "window", [mo.CountWindow.tumbling(2), mo.CountWindow.sliding(2, 1), mo.CountWindow.sliding(1, 3)]
)
def test_count_windows_of_streams_that_come_in_pieces(window: mo.CountWindow, runner: Runner) -> None:
    """One side runs ahead of the other, and what it has waits."""

    def program(left: mo.Stream[Row], right: mo.Stream[Row]) -> mo.Stream[Any]:
        sides = [stream.group_by(lambda row: row[1]).map(lambda _, row: row[2]) for stream in (left, right)]
        return sides[0].window(window).join(sides[1]).unkey()

    def expected(key: str) -> Iterator[tuple[str, Any]]:
        ours, theirs = ([row[2] for row in rows if row[1] == key] for rows in (left, right))
        size, slide = window.size, window.slide
        for first in range(0, min(len(ours), len(theirs)) - size + 1, slide):
            yield from ((key, (n, text)) for n in ours[first : first + size] for text in theirs[first : first + size])

    left, right = [*LEFT, *((0, "a", n) for n in range(6, 12))], [*RIGHT, *((0, "b", text) for text in "klmn")]
    assert sorted(runner.run(program, left, right)) == sorted([*expected("a"), *expected("b")])


def test_count_windows_of_whole_streams_that_come_in_pieces(runner: Runner) -> None:
    def program(left: mo.Stream[int], right: mo.Stream[str]) -> mo.Stream[Any]:
        return left.window_all(mo.CountWindow.tumbling(2)).join(right).rich_map(0, lambda n, pair: (n + 1, (n, pair)))

    result = runner.run(program, [1, 2, 3, 4, 5, 6], ["a", "b", "c", "d"])
    assert result == list(enumerate([(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "c"), (3, "d"), (4, "c"), (4, "d")]))


def by_key(stream: mo.Stream[Row], delay: int = 50) -> mo.KeyedStream[str, Any]:
    timed = stream.add_timestamps(lambda row: row[0], delay=delay)
    return timed.group_by(lambda row: row[1]).map(lambda _, row: row[2])


def test_join_of_windows_of_streams_that_come_in_pieces(runner: Runner) -> None:
    def program(left: mo.Stream[Row], right: mo.Stream[Row]) -> mo.Stream[str]:
        pairs = by_key(left).window(Window.sliding(20, 10)).join(by_key(right)).with_bounds()
        return in_order(pairs.map(lambda _, window: (window.end, window.value)).drop_key())

    in_windows = [
        (10, [(2, "y"), (4, "y")]),
        (20, [(1, "x"), (1, "z"), (2, "y"), (3, "x"), (3, "z")]),
        (30, [(1, "x"), (1, "z"), (1, "u"), (3, "x"), (3, "z"), (3, "u")]),
        (40, [(5, "u")]),
    ]
    expected = " ".join(str((end, pair)) for end, pairs in in_windows for pair in pairs) + " "
    assert runner.run_until(1000, program, LEFT, RIGHT) == [expected]


def test_sessions_of_both_sides_of_streams_that_come_in_pieces(runner: Runner) -> None:
    def program(left: mo.Stream[Row], right: mo.Stream[Row]) -> mo.Stream[Any]:
        return by_key(left).window(Window.session(4)).join(by_key(right)).with_bounds().unkey()

    result = runner.run_until(1000, program, LEFT, RIGHT)
    expected = [("b", (1, 7, (2, "y")))]
    expected += [("a", (12, 26, (n, text))) for n in (1, 3) for text in ("x", "z", "u")]
    assert sorted(result) == sorted(expected)


def test_late_elements_of_both_sides_go_to_one_handler(unbounded_runner: Runner) -> None:
    def program(left: mo.Stream[Row], right: mo.Stream[Row]) -> mo.Stream[Any]:
        windows = by_key(left, delay=0).window(Window.tumbling(10))
        return windows.join(by_key(right, delay=0), late=lambda key, pair: late.append((key, pair))).unkey()

    late: list[object] = []
    left = [[(1, "a", 1)], [(25, "a", 2)], [(4, "a", 3), (26, "a", 4)]]
    right = [[(2, "a", "x")], [(27, "a", "y")], [(9, "b", "z"), (21, "a", "u")]]
    outcome = unbounded_runner.observe(program, left, right)
    assert outcome.results == [("a", (1, "x"))]
    assert sorted(late, key=repr) == [("a", (3, None)), ("b", (None, "z"))]
    assert list(outcome.metrics["late"].values()) == [2]


@pytest.mark.jvm
def test_windows_that_are_never_complete_on_both_sides(spark_ctx: mo.StreamContext) -> None:
    ticks = spark_ctx.stream_rate(10).add_timestamps(lambda n: n, delay=0)
    with pytest.raises(
        mo.PlanError, match="window_all.join cannot run on unbounded input: one window with all elements"
    ):
        ticks.window_all(mo.AllWindow()).join(ticks)
    with pytest.raises(mo.PlanError, match="which window stays incomplete is known only"):
        ticks.window_all(mo.CountWindow.tumbling(2, exact=False)).join(ticks)
    numbered = ticks.group_by(lambda n: n % 2).window(mo.CountWindow.tumbling(2)).join(ticks.group_by(lambda n: n % 2))
    with pytest.raises(mo.PlanError, match=r"rich_map cannot follow window.join .* on unbounded input"):
        numbered.drop_key().rich_map(0, lambda n, pair: (n + 1, n))
    assert numbered.rich_map(0, lambda n, key, pair: (n + 1, n)) is not None, "those of a key come in their order"


def test_refusals() -> None:
    ctx = mo.StreamContext(engine="reference")
    left, right = keyed(ctx)
    with pytest.raises(mo.PlanError, match=r"window.join joins windows of one kind, and these are EventTimeWindow"):
        left.window(Window.tumbling(10)).join(right.window(Window.tumbling(20)))
    with pytest.raises(mo.PlanError, match="joins two streams with keys, or two without"):
        left.window(Window.tumbling(10)).join(right.unkey())  # type: ignore[arg-type]
    with pytest.raises(mo.PlanError, match=r"which LastK\(2\) of two streams are the same is not defined"):
        left.window(mo.LastK(2)).join(right)
    with pytest.raises(mo.PlanError, match="the same kind of timestamps on both sides, and these are int and None"):
        left.window(Window.tumbling(10)).join(right.drop_timestamps())
    with pytest.raises(mo.PlanError, match="each side has positions of its own"):
        left.window(mo.AllWindow()).join(right).with_bounds()
    with pytest.raises(mo.PlanError, match=r"window.join takes late= itself.*\n.*pass it to join, not to window"):
        left.window(Window.tumbling(10), late=print).join(right)
    with pytest.raises(mo.PlanError, match="window.join takes late= itself"):
        left.window(Window.tumbling(10)).join(right.window(Window.tumbling(10), late=print))
    with pytest.raises(mo.PlanError, match=r"window.join: AllWindow\(\) has no late elements"):
        left.window(mo.AllWindow()).join(right, late=print)
    with pytest.raises(mo.PlanError, match="window.join needs a stream or its windows, not 3"):
        left.window(Window.tumbling(10)).join(3)  # type: ignore[arg-type]
