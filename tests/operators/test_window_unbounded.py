"""Windows and timestamps on unbounded input: the bounded answer, once time has moved on; and what comes too late."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.engines import Runner
from tests.operators.test_window import Rising, everything, in_order, listed
from tests.operators.test_window_time import CLICKS, Click

Window = mo.EventTimeWindow


END = Click(10**9, "end", 0)
"""Its windows stay open on unbounded input."""


def timed(stream: mo.Stream[Click]) -> mo.Stream[Click]:
    return stream.add_timestamps(lambda click: click.at, delay=50)


def numbers(stream: mo.Stream[Click]) -> mo.Stream[int]:
    return timed(stream).map(lambda click: click.n)


def by_user(stream: mo.Stream[Click]) -> mo.KeyedStream[str, int]:
    return timed(stream).group_by(lambda click: click.user).map(lambda _, click: click.n)


def triples(windows: mo.KeyedStream[str, Any]) -> mo.Stream[Any]:
    return windows.with_bounds().unkey().map(lambda pair: (pair[0], *pair[1]), returns=object)


# -- windows of event time ---------------------------------------------------------------------------------------------


@pytest.mark.partitions
def test_tumbling_windows_in_their_order_also_before_the_epoch(runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        windows = numbers(stream).window_all(Window.tumbling(10, offset=-7))
        return in_order(listed(windows).with_bounds().map(tuple, returns=object))

    assert runner.run_to_end(program, CLICKS, END) == [
        "(-17, -7, [5]) (-7, 3, [3]) (3, 13, [1, 2, 6]) (13, 23, [7]) (23, 33, [4]) "
    ]


@pytest.mark.partitions
def test_sliding_windows_of_each_key(runner: Runner) -> None:
    result = runner.run_to_end(
        lambda s: in_order(triples(by_user(s).window(Window.sliding(20, 10)).sum())), CLICKS, END
    )
    expected = (
        "('ann', -20, 0, 3) ('bob', -20, 0, 5) ('bob', -10, 10, 7) ('ann', -10, 10, 3) ('ann', 0, 20, 7) "
        "('bob', 0, 20, 9) ('ann', 10, 30, 11) ('bob', 10, 30, 7) ('ann', 20, 40, 4) "
    )
    assert result == [expected]


def test_sessions_that_turn_out_to_be_one(runner: Runner) -> None:
    result = runner.run_to_end(lambda s: triples(listed(by_user(s).window(Window.session(11)))), CLICKS, END)
    assert sorted(result) == [
        ("ann", -1, 23, [1, 3, 6]),
        ("ann", 29, 40, [4]),
        ("bob", -10, 1, [5]),
        ("bob", 3, 14, [2]),
        ("bob", 19, 30, [7]),
    ]


def test_windows_of_windows_with_an_operator_with_a_state_between_them(runner: Runner) -> None:
    """What the first windows give has their end as timestamp, and comes when the watermark passes it: not too late."""

    def program(stream: mo.Stream[Click]) -> mo.Stream[mo.Windowed[Any, list[int]]]:
        sums = by_user(stream).window(Window.tumbling(10)).sum()
        numbered = sums.drop_key().rich_map(0, lambda n, total: (n + 1, total * 10))
        return numbered.window_all(Window.tumbling(20)).map(sorted).with_bounds()

    steps = [Click(at, "ab"[at % 2], at) for at in range(1, 100, 3)]
    result = runner.run_to_end(program, steps, END)
    sums = [
        (end, sum(n for at, _, n in steps if at // 10 == end // 10 - 1 and at % 2 == odd))
        for end in range(10, 110, 10)
        for odd in (0, 1)
    ]
    expected = [
        (start, start + 20, sorted(total * 10 for end, total in sums if start <= end < start + 20 and total))
        for start in range(0, 120, 20)
    ]
    assert sorted(result) == expected
    assert not any(runner.metrics["late"].values())


def test_every_aggregate(runner: Runner) -> None:
    rows = runner.run_to_end(lambda s: everything(numbers(s).window_all(Window.sliding(45, 15))), CLICKS, END)
    assert max(rows) == (28, 7, 1, 7, 1, 7, 4.0, 12, (3, 1), 7)


def test_datetimes_to_the_microsecond(runner: Runner) -> None:
    epoch, second = datetime.datetime(2024, 1, 1), datetime.timedelta(seconds=1)
    tick = datetime.timedelta(microseconds=1)
    times = [epoch, epoch + second - tick, epoch + second, epoch + 3 * second]

    def program(stream: mo.Stream[datetime.datetime]) -> mo.Stream[mo.Windowed[Any, int]]:
        timed = stream.add_timestamps(lambda t: t, watermark=lambda t: t - datetime.timedelta(seconds=10))
        return timed.window_all(Window.tumbling("1s")).count().with_bounds()

    result = runner.run_to_end(program, times, datetime.datetime(2025, 1, 1))
    assert sorted(result) == [
        (epoch, epoch + second, 2),
        (epoch + second, epoch + 2 * second, 1),
        (epoch + 3 * second, epoch + 4 * second, 1),
    ]


# -- late elements -----------------------------------------------------------------------------------------------------


def test_late_elements_are_counted_and_diverted_and_change_nothing(unbounded_runner: Runner) -> None:
    late: list[tuple[str, int]] = []

    def program(stream: mo.Stream[Click]) -> mo.Stream[Any]:
        keyed = stream.add_timestamps(lambda click: click.at, delay=5).group_by(lambda click: click.user)
        return triples(
            listed(keyed.map(lambda _, c: c.n).window(Window.sliding(20, 10), late=lambda k, n: late.append((k, n))))
        )

    batches = [
        [Click(5, "a", 1), Click(30, "b", 2)],
        [Click(4, "a", 3), Click(15, "a", 4), Click(25, "b", 5), Click(7, "c", 6)],  # all up to 24 had come
        [Click(1000, "z", 0)],
    ]
    outcome = unbounded_runner.observe(program, batches)
    assert sorted(outcome.results) == [
        ("a", -10, 10, [1]),
        ("a", 0, 20, [1]),
        ("a", 10, 30, [4]),
        ("b", 10, 30, [5]),
        ("b", 20, 40, [2, 5]),
        ("b", 30, 50, [2]),
    ]
    assert sorted(late) == [("a", 3), ("c", 6)]
    assert list(outcome.metrics["late"].values()) == [2]


def test_elements_that_are_filtered_out_move_time_on(unbounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[mo.Windowed[Any, int]]:
        timed = stream.add_timestamps(lambda click: click.at, delay=0).filter(lambda click: click.user == "ann")
        return timed.window_all(Window.tumbling(10)).count().with_bounds()

    outcome = unbounded_runner.observe(program, [[CLICKS[0]], [Click(100, "bob", 1)]])
    assert outcome.results == [(10, 20, 1)]


def test_a_stream_waits_for_the_slower_of_two(unbounded_runner: Runner) -> None:
    def program(left: mo.Stream[Click], right: mo.Stream[Click]) -> mo.Stream[mo.Windowed[Any, int]]:
        both = [side.add_timestamps(lambda click: click.at, delay=0) for side in (left, right)]
        return both[0].merge(both[1]).window_all(Window.tumbling(10)).count().with_bounds()

    ahead, behind = [[Click(1, "a", 1)], [Click(95, "a", 1)]], [[Click(2, "b", 1)], [Click(31, "b", 1)]]
    outcome = unbounded_runner.observe(program, ahead, behind)
    assert outcome.results == [(0, 10, 2)]


# -- windows in the order of the stream --------------------------------------------------------------------------------


class Spell(NamedTuple):
    """Windows that a test asks for, and what they give."""

    description: Any
    expected: list[Any]


SPELLS = {
    "count": Spell(mo.CountWindow.sliding(3, 2), [("even", [4, 2, 6]), ("odd", [3, 1, 1]), ("odd", [1, 5, 9])]),
    "last": Spell(mo.LastK(1), [("even", [n]) for n in (2, 4, 6)] + [("odd", [n]) for n in (1, 1, 3, 5, 9)]),
    "transaction": Spell(
        mo.TransactionWindow(lambda n: mo.Tx.COMMIT if n > 4 else mo.Tx.DISCARD if n == 3 else mo.Tx.NONE),
        [("even", [4, 2, 6]), ("odd", [1, 1, 5]), ("odd", [9])],
    ),
}


@pytest.mark.parametrize("name", SPELLS)
def test_windows_of_each_key_that_elements_complete(runner: Runner, name: str) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[str, list[int]]:
        keyed = stream.group_by(lambda n: "odd" if n % 2 else "even")
        return keyed.window(SPELLS[name].description).map(lambda window: window)

    assert sorted(runner.run(program, [3, 1, 4, 1, 5, 9, 2, 6])) == sorted(SPELLS[name].expected)


def test_windows_of_ones_own_without_keys(runner: Runner) -> None:
    """The last one is complete only when the stream ends."""
    result = runner.run(lambda s: listed(s.window_all(Rising())).with_bounds(), [3, 1, 4, 1, 5, 9, 2])
    assert [window for window in result if window.end < 7] == [(0, 1, [3]), (1, 3, [1, 4]), (3, 6, [1, 5, 9])]


def test_count_windows_have_the_timestamp_of_their_newest_element(runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[mo.Windowed[Any, int]]:
        pairs = numbers(stream).window_all(mo.CountWindow.tumbling(2)).sum()
        return pairs.window_all(Window.tumbling(10)).sum().with_bounds()

    # pairs: (12, 3), (-1, 29), (-10, 10); the last click waits for the end
    result = runner.run_to_end(program, CLICKS, END)
    assert sorted(result) == [(10, 20, 14), (20, 30, 7)]


# -- reorder -----------------------------------------------------------------------------------------------------------


def test_reorder_is_stable(runner: Runner) -> None:
    clicks = [*CLICKS, Click(12, "eve", 8), Click(-10, "ann", 9)]
    result = runner.run_to_end(lambda s: in_order(numbers(s).reorder()), clicks, END)
    assert result == ["5 9 3 2 6 1 8 7 4 "]


def test_reorder_of_keyed_elements_and_its_late_ones(unbounded_runner: Runner) -> None:
    late: list[Any] = []

    def program(stream: mo.Stream[Click]) -> mo.Stream[tuple[str, int]]:
        keyed = stream.add_timestamps(lambda click: click.at, delay=0).group_by(lambda click: click.user)
        return keyed.map(lambda _, c: c.n).reorder(late=lambda k, n: late.append((k, n))).unkey()

    batches = [[Click(9, "a", 1), Click(5, "b", 2)], [Click(8, "c", 3), Click(9, "d", 4), Click(20, "e", 5)]]
    outcome = unbounded_runner.observe(program, batches)
    assert outcome.results == [("b", 2), ("a", 1), ("d", 4)]
    assert late == [("c", 3)]
    assert list(outcome.metrics["late"].values()) == [1]


# -- timestamps --------------------------------------------------------------------------------------------------------


def test_timestamps_and_watermarks_that_are_no_columns(runner: Runner) -> None:
    def at(click: Click) -> int:
        return int(str(click.at))

    def known(click: Click) -> int | None:
        return None if click.user == "bob" else int(str(click.at)) - 50

    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return in_order(stream.add_timestamps(at, watermark=known).reorder().map(lambda click: click.n))

    assert runner.run_to_end(program, CLICKS, END) == ["5 3 2 6 1 7 4 "]


# -- processing time ---------------------------------------------------------------------------------------------------


def test_windows_of_processing_time_close_by_themselves(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a\nb\na\n")
    seen: list[Any] = []
    lines = spark_ctx.stream_file(tmp_path, unbounded=True).group_by(lambda text: text)
    lines.window(mo.ProcessingTimeWindow.tumbling("100ms")).count().with_bounds().for_each(
        lambda *pair: seen.append(pair)
    )
    job = spark_ctx.start()
    try:
        deadline = time.monotonic() + 120
        while len(seen) < 2 and time.monotonic() < deadline:
            job.wait(0.1)
    finally:
        job.stop()
    assert sorted((key, window.value) for key, window in seen) == [("a", 2), ("b", 1)]
    bounds = {(window.start, window.end) for _, window in seen}
    ((start, end),) = bounds
    assert end - start == datetime.timedelta(milliseconds=100)
    assert start.microsecond % 100_000 == 0


# -- idle inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.jvm
def test_a_stream_that_is_silent_holds_nothing_up_and_may_come_back(make_context: Any) -> None:
    late: list[int] = []
    ctx = make_context("spark")
    (steady_in, steady), (silent_in, silent), (_, mute) = (ctx.stream_channel(int) for _ in range(3))
    steady = steady.add_timestamps(lambda n: n, delay=0)
    silent, mute = (stream.add_timestamps(lambda n: n, delay=0, idle="200ms") for stream in (silent, mute))
    merged = steady.merge(silent, mute)
    windows = merged.window_all(Window.tumbling(10), late=late.append).sum().collect_channel()
    steady_in.send_all([1, 12])
    silent_in.send(3)
    for inlet in (steady_in, silent_in):
        inlet.flush()  # both are there when the job begins to read
    job = ctx.start()
    try:
        assert windows.get(timeout=120) == 1 + 3
        silent_in.send_all([5, 14])
        silent_in.flush()
        steady_in.send(25)
        assert windows.get(timeout=120) == 12 + 14
        assert late == [5]
        assert list(job.metrics()["late"].values()) == [1]
    finally:
        job.stop()


# -- refused -----------------------------------------------------------------------------------------------------------


def test_what_never_ends_is_refused(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_rate(1)
    with pytest.raises(mo.PlanError, match=r"a window with all elements is complete when the stream ends(.|\n)*LastK"):
        numbers.window_all(mo.AllWindow()).sum()
    with pytest.raises(mo.PlanError, match=r"needs to know how long to wait(.|\n)*delay=0 if elements arrive in"):
        numbers.add_timestamps(lambda n: n)
    timed = numbers.add_timestamps(lambda n: n, delay=0)
    with pytest.raises(mo.PlanError, match=r"the stream has timestamps already(.|\n)*once"):
        timed.drop_timestamps().add_timestamps(lambda n: n, delay=0)


def test_watermarks_and_handlers_that_do_not_fit_are_refused() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter(CLICKS)
    with pytest.raises(
        mo.PlanError, match="the watermark given to add_timestamps has the type str, and the timestamps are int"
    ):
        stream.add_timestamps(lambda c: c.at, watermark=lambda c: c.user)
    with pytest.raises(mo.PlanError, match="idle is negative: -1"):
        stream.add_timestamps(lambda c: c.at, idle=-1)
    with pytest.raises(mo.PlanError, match=r"CountWindow.sliding\(2, 2\) has no late elements"):
        stream.window_all(mo.CountWindow.tumbling(2), late=print)
    with pytest.raises(mo.PlanError, match="the function given to late of window is called with two arguments"):
        timed(stream).group_by(lambda c: c.user).window(Window.tumbling(2), late=lambda click: None)  # type: ignore[arg-type, misc]


def test_explain_says_where_open_windows_are(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_rate(1).window_all(mo.CountWindow.tumbling(2)).sum(lambda n: n + 1)
    (form,) = stream.forms()
    assert (form.form, "a state in Python" in form.reason) == ("stage", True)
