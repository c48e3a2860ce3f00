"""Windows of time."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.engines import Runner
from tests.operators.test_window import everything, in_order, listed

Window = mo.EventTimeWindow


class Click(NamedTuple):
    at: int
    user: str
    n: int


CLICKS = [
    Click(12, "ann", 1),
    Click(3, "bob", 2),
    Click(-1, "ann", 3),
    Click(29, "ann", 4),
    Click(-10, "bob", 5),
    Click(10, "ann", 6),
    Click(19, "bob", 7),
]


def timed(stream: mo.Stream[Click]) -> mo.Stream[int]:
    return stream.add_timestamps(lambda click: click.at).map(lambda click: click.n)


def by_user(stream: mo.Stream[Click]) -> mo.KeyedStream[str, int]:
    return (
        stream.add_timestamps(lambda click: click.at).group_by(lambda click: click.user).map(lambda _, click: click.n)
    )


def test_tumbling_windows_are_aligned_to_the_epoch_also_before_it(bounded_runner: Runner) -> None:
    result = bounded_runner.run(
        lambda s: in_order(timed(s).window_all(Window.tumbling(10)).sum().with_bounds().map(tuple, returns=object)),
        CLICKS,
    )
    assert result == ["(-10, 0, 8) (0, 10, 2) (10, 20, 14) (20, 30, 4) "]


def test_windows_are_collected_in_the_order_of_their_ends(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> Any:
        windows = stream.add_timestamps(lambda n: n).group_by(lambda n: n % 3).window(mo.EventTimeWindow.tumbling(10))
        bounded: Any = windows.with_bounds().count()
        return bounded.map(lambda key, found: (found.end, key, found.value))

    found = bounded_runner.run(program, [95, *range(90)])
    ends = [end for _, (end, _, _) in found]
    assert ends == sorted(ends)
    assert len(ends) == 28


def test_tumbling_with_an_offset(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return in_order(
            listed(timed(stream).window_all(Window.tumbling(10, offset=-7))).with_bounds().map(tuple, returns=object)
        )

    assert bounded_runner.run(program, CLICKS) == [
        "(-17, -7, [5]) (-7, 3, [3]) (3, 13, [1, 2, 6]) (13, 23, [7]) (23, 33, [4]) "
    ]


def test_sliding_windows_of_each_key(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        windows = by_user(stream).window(Window.sliding(20, 10))
        return in_order(windows.sum().with_bounds().unkey().map(lambda pair: (pair[0], pair[1].end, pair[1].value)))

    expected = (
        "('ann', 0, 3) ('bob', 0, 5) ('bob', 10, 7) ('ann', 10, 3) ('ann', 20, 7) ('bob', 20, 9) "
        "('ann', 30, 11) ('bob', 30, 7) ('ann', 40, 4) "
    )
    assert bounded_runner.run(program, CLICKS) == [expected]


def test_sliding_windows_in_python_have_the_content_in_stream_order(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        return in_order(listed(by_user(stream).window(Window.sliding(20, 10))).unkey())

    expected = (
        "('ann', [3]) ('bob', [5]) ('bob', [2, 5]) ('ann', [3]) ('ann', [1, 6]) ('bob', [2, 7]) ('ann', [1, 4, 6]) "
        "('bob', [7]) ('ann', [4]) "
    )
    assert bounded_runner.run(program, CLICKS) == [expected]


def test_windows_with_gaps_between_them(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: timed(s).window_all(Window.sliding(5, 20)).count().with_bounds(), CLICKS)
    assert result == [(0, 5, 1)]
    result = bounded_runner.run(lambda s: listed(timed(s).window_all(Window.sliding(5, 20))).with_bounds(), CLICKS)
    assert result == [(0, 5, [2])]


def test_every_aggregate_of_a_sliding_window_is_put_together_from_panes(bounded_runner: Runner) -> None:
    rows = bounded_runner.run(lambda s: everything(timed(s).window_all(Window.sliding(45, 15))), CLICKS)
    full = (28, 7, 1, 7, 1, 7, 4.0, 12, (3, 1), 7)
    assert max(rows) == full


def test_sessions(bounded_runner: Runner) -> None:
    """A session continues while the time between two elements is at most the gap."""

    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        windows = by_user(stream).window(Window.session(11))
        return in_order(windows.sum().with_bounds().unkey().map(lambda pair: (pair[0], *pair[1])))

    assert bounded_runner.run(program, CLICKS) == [
        "('bob', -10, 1, 5) ('bob', 3, 14, 2) ('ann', -1, 23, 10) ('bob', 19, 30, 7) ('ann', 29, 40, 4) "
    ]


def test_sessions_in_python(bounded_runner: Runner) -> None:
    result = bounded_runner.run(lambda s: in_order(listed(timed(s).window_all(Window.session(7)))), CLICKS)
    assert result == ["[5] [1, 2, 3, 6, 7] [4] "]


def test_datetimes(bounded_runner: Runner) -> None:
    start = datetime.datetime(1969, 12, 31, 23, 59)
    times = [start + datetime.timedelta(seconds=20 * n) for n in range(7)]

    def program(stream: mo.Stream[datetime.datetime]) -> mo.Stream[mo.Windowed[Any, int]]:
        return stream.add_timestamps(lambda t: t).window_all(Window.tumbling("1m")).count().with_bounds()

    epoch, minute = datetime.datetime(1970, 1, 1), datetime.timedelta(minutes=1)
    expected = [(epoch - minute, epoch, 3), (epoch, epoch + minute, 3), (epoch + minute, epoch + 2 * minute, 1)]
    assert sorted(bounded_runner.run(program, times)) == expected


def test_the_result_of_a_window_can_be_windowed_again(bounded_runner: Runner) -> None:
    """Its timestamp is the window's end."""

    def program(stream: mo.Stream[Click]) -> mo.Stream[str]:
        sums = by_user(stream).window(Window.tumbling(10)).sum()
        return in_order(sums.drop_key().window_all(Window.tumbling(20)).max().with_bounds().map(tuple, returns=object))

    assert bounded_runner.run(program, CLICKS) == ["(0, 20, 5) (20, 40, 7) "]


def test_processing_time_is_one_instant_of_a_bounded_run(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.KeyedStream[str, int]:
        return by_user(stream).window(mo.ProcessingTimeWindow.session("1ms")).sum()

    assert sorted(bounded_runner.run(program, CLICKS)) == [("ann", 14), ("bob", 14)]


def test_processing_time_with_a_clock_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 999, 1000, 5000, 5001])
    monkeypatch.setattr("morisot.engines.reference.window.clock_of_run", lambda: lambda: next(ticks))
    windows = (
        mo.StreamContext(engine="reference").stream_iter("abcde").window_all(mo.ProcessingTimeWindow.tumbling("1ms"))
    )
    first, second, third = windows.map("".join).with_bounds().collect()
    assert [window.value for window in (first, second, third)] == ["ab", "c", "de"]
    assert second.start == datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)


def test_fold_in_python(bounded_runner: Runner) -> None:
    def program(stream: mo.Stream[Click]) -> mo.KeyedStream[str, str]:
        return by_user(stream).window(Window.tumbling(100, offset=50)).fold("", lambda text, n: text + str(n))

    assert sorted(bounded_runner.run(program, CLICKS)) == [("ann", "1346"), ("bob", "257")]
