"""Elements on which the function of a window's fold fails: left out of that window, and counted for it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.types.element import INT, STR, Keyed
from tests.operators.engines import Runner

Program = Callable[[Any], Any]

TEXTS = ["1", "x", "22", "", "3"]


def whole(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"no number: {text}")
    return int(text)


def listed(windows: Any, on_error: Any = "skip") -> Any:
    return windows.fold("", lambda a, t: f"{a},{whole(t)}", on_error=on_error)


def added(windows: Any, on_error: Any = "skip") -> Any:
    return windows.fold(0, lambda a, t: a + whole(t), on_error=on_error)


def joined(windows: Any) -> Any:
    return windows.reduce(lambda a, t: a + str(whole(t)), on_error="skip")


def kept(held: list[str], text: str) -> list[str]:
    held.append(text)
    whole(text)
    return held


def ends_with(*ends: str) -> mo.TransactionWindow[str]:
    return mo.TransactionWindow(lambda t: mo.Tx.COMMIT if t in ends else mo.Tx.DISCARD if t == "22" else mo.Tx.NONE)


class Pairs(mo.CustomWindow[str, int]):
    """Two by two, in a description of one's own."""

    def start(self) -> int:
        return 0

    def assign(self, state: int, element: str, time: object) -> mo.Assigned:
        return mo.Assigned(state + 1, into=[state // 2], close=[state // 2] if state % 2 else [])


BY_ORDER: dict[str, tuple[Program, list[Any], int]] = {
    "tumbling": (lambda s: listed(s.window_all(mo.CountWindow.tumbling(2))), [",1", ",22"], 2),
    "an incomplete window is not given, and does not count": (
        lambda s: listed(s.window_all(mo.CountWindow.tumbling(3))),
        [",1,22"],
        1,
    ),
    "sliding, once for each window": (
        lambda s: listed(s.window_all(mo.CountWindow.sliding(3, 1))),
        [",1,22", ",22", ",22,3"],
        4,
    ),
    "a window of which nothing is left is its start": (
        lambda s: listed(s.window_all(mo.CountWindow.tumbling(1))),
        [",1", "", ",22", "", ",3"],
        2,
    ),
    "as a column": (
        lambda s: s.window_all(mo.CountWindow.tumbling(5)).fold(0, lambda a, t: a + 6 // len(t), on_error="skip"),
        [21],
        1,
    ),
    "nothing fails": (
        lambda s: s.window_all(mo.CountWindow.tumbling(5)).fold(0, lambda a, t: a + len(t), on_error="skip"),
        [5],
        0,
    ),
    "changed in place": (
        lambda s: s.window_all(mo.CountWindow.tumbling(5)).fold([], kept, on_error="skip"),
        [TEXTS],
        2,
    ),
    "reduce": (lambda s: joined(s.window_all(mo.CountWindow.tumbling(2))), ["1", "22"], 2),
    "reduce, from the first element on": (
        lambda s: joined(s.window_all(mo.CountWindow.sliding(2, 1))),
        ["1", "x22", "22", "3"],
        2,
    ),
    "the last few": (lambda s: listed(s.window_all(mo.LastK(2))), [",1", ",1", ",22", ",22", ",3"], 4),
    "transactions": (lambda s: listed(s.window_all(ends_with("x", "3"))), [",1", ",3"], 2),
    "a transaction that is discarded does not count": (
        lambda s: listed(s.window_all(ends_with("3"))),
        [",3"],
        1,
    ),
    "windows of one's own": (lambda s: listed(s.window_all(Pairs())), [",1", ",22"], 2),
    "bounds before": (
        lambda s: added(s.window_all(mo.CountWindow.tumbling(2)).with_bounds()),
        [(0, 2, 1), (2, 4, 22)],
        2,
    ),
    "bounds after": (
        lambda s: added(s.window_all(mo.CountWindow.tumbling(2))).with_bounds(),
        [(0, 2, 1), (2, 4, 22)],
        2,
    ),
    "keys": (
        lambda s: listed(s.group_by(lambda t: t < "2").window(mo.CountWindow.sliding(2, 1))),
        [(False, ",22"), (False, ",22,3"), (True, ",1")],
        2,
    ),
    "keys, reduced, with bounds": (
        lambda s: joined(s.group_by(lambda t: t < "2").window(mo.CountWindow.tumbling(2)).with_bounds()).map(
            lambda _, window: tuple(window)
        ),
        [(False, (0, 2, "x22")), (True, (0, 2, "1"))],
        1,
    ),
    "an operator after it": (
        lambda s: listed(s.window_all(mo.CountWindow.tumbling(2))).map(lambda text: whole(text[1:]) + 1),
        [2, 23],
        2,
    ),
}


@pytest.mark.parametrize("name", BY_ORDER)
def test_folds_of_windows_that_elements_complete(runner: Runner, name: str) -> None:
    program, expected, count = BY_ORDER[name]
    found = runner.run(program, TEXTS)
    assert (sorted(found) if isinstance(expected[0], tuple) else found) == expected
    assert sum(runner.metrics["skipped"].values()) == count
    assert runner.metrics["diverted"] == {}


AT_THE_END: dict[str, tuple[Program, list[Any], int]] = {
    "everything": (lambda s: listed(s.window_all(mo.AllWindow())), [",1,22,3"], 2),
    "a count that is not exact": (
        lambda s: listed(s.window_all(mo.CountWindow.tumbling(4, exact=False))),
        [",1,22", ",3"],
        2,
    ),
    "one instant": (lambda s: added(s.window_all(mo.ProcessingTimeWindow.tumbling("1h"))), [26], 2),
    "sessions of one instant": (
        lambda s: added(s.key_by(lambda t: t < "2").window(mo.ProcessingTimeWindow.session("1s"))),
        [(False, 25), (True, 1)],
        2,
    ),
}


@pytest.mark.parametrize("name", AT_THE_END)
def test_folds_of_windows_that_the_end_completes(bounded_runner: Runner, name: str) -> None:
    program, expected, count = AT_THE_END[name]
    assert sorted(bounded_runner.run(program, TEXTS)) == expected
    assert sum(bounded_runner.metrics["skipped"].values()) == count


TIMED = [(1, "1"), (12, "x"), (5, "22"), (14, "3"), (27, "")]


def texts(stream: Any) -> Any:
    return stream.add_timestamps(lambda pair: pair[0], delay=100).map(lambda pair: pair[1])


BY_TIME: dict[str, tuple[Program, list[Any], int]] = {
    "tumbling": (
        lambda s: added(texts(s).window_all(mo.EventTimeWindow.tumbling(10))).with_bounds(),
        [(0, 10, 23), (10, 20, 3), (20, 30, 0)],
        2,
    ),
    "sliding, once for each window": (
        lambda s: added(texts(s).window_all(mo.EventTimeWindow.sliding(20, 10))).with_bounds(),
        [(-10, 10, 23), (0, 20, 26), (10, 30, 3), (20, 40, 0)],
        4,
    ),
    "sliding, of each key": (
        lambda s: listed(texts(s).group_by(lambda t: t < "2").window(mo.EventTimeWindow.sliding(20, 10))),
        [(False, ",22"), (False, ",22,3"), (False, ",3"), (True, ""), (True, ""), (True, ",1"), (True, ",1")],
        4,
    ),
    "sessions": (
        lambda s: joined(texts(s).window_all(mo.EventTimeWindow.session(5)).with_bounds()),
        [(1, 10, "122"), (12, 19, "x3"), (27, 32, "")],
        0,
    ),
    "sessions of each key": (
        lambda s: listed(texts(s).group_by(lambda t: t < "2").window(mo.EventTimeWindow.session(5))),
        [(False, ",22"), (False, ",3"), (True, ""), (True, ",1")],
        2,
    ),
    "windows of what they give": (
        lambda s: added(
            added(texts(s).window_all(mo.EventTimeWindow.tumbling(10)))
            .map(lambda n: str(n) if n else "-")
            .window_all(mo.EventTimeWindow.tumbling(100))
        ),
        [26],
        3,
    ),
}


@pytest.mark.parametrize("name", BY_TIME)
def test_folds_of_windows_of_time(runner: Runner, name: str) -> None:
    program, expected, count = BY_TIME[name]
    assert sorted(runner.run_until(1000, program, TIMED)) == expected
    assert sum(runner.metrics["skipped"].values()) == count


def test_late_elements_and_those_that_fail_are_counted_apart(unbounded_runner: Runner) -> None:
    late: list[Any] = []
    failures: list[Any] = []

    def program(stream: mo.Stream[tuple[int, str]]) -> Any:
        timed = stream.add_timestamps(lambda pair: pair[0], delay=0).map(lambda pair: pair[1])
        windows = timed.window_all(mo.EventTimeWindow.tumbling(10), late=late.append)
        return added(windows, lambda error: failures.append(error.value))

    batches = [[(1, "1"), (2, "x")], [(12, "y"), (13, "3")], [(4, "z"), (25, "5")], [(40, "0")]]
    outcome = unbounded_runner.observe(program, batches)
    assert (list(outcome.results), late, failures) == ([1, 3, 5], ["z"], ["x", "y"])
    assert [list(outcome.metrics[kind].values()) for kind in ("late", "skipped", "diverted")] == [[1], [], [2]]


def test_what_an_open_window_left_out_outlives_a_crash(unbounded_runner: Runner) -> None:
    failures: list[Any] = []

    def program(stream: mo.Stream[str]) -> Any:
        return added(stream.window_all(mo.CountWindow.sliding(3, 1)), lambda error: failures.append(error.value))

    outcome = unbounded_runner.observe(program, [["1", "x"], mo.testing.CRASH, ["22"], [""]])
    assert (list(outcome.results), failures) == ([23, 22], ["x", "x", ""])


@pytest.mark.jvm
def test_windows_of_processing_time_on_unbounded_input(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1\nx\n22\n")
    seen: list[Any] = []
    lines = spark_ctx.stream_file(tmp_path, unbounded=True)
    added(lines.window_all(mo.ProcessingTimeWindow.tumbling("100ms"))).for_each(seen.append)
    job = spark_ctx.start()
    try:
        deadline = time.monotonic() + 120
        while not (seen and sum(job.metrics()["skipped"].values())) and time.monotonic() < deadline:
            job.wait(0.1)
        assert (seen, list(job.metrics()["skipped"].values())) == ([23], [1])
    finally:
        job.stop()


def test_handler_gets_each_failure_once_for_each_window(runner: Runner) -> None:
    failures: list[mo.ElementError] = []
    program = lambda s: listed(s.window_all(mo.CountWindow.sliding(2, 1)), failures.append)  # noqa: E731
    assert runner.run(program, TEXTS) == [",1", ",22", ",22", ",3"]
    assert [error.value for error in failures] == ["x", "x", "", ""]
    for error in failures:
        assert error.operator == "window_all.fold"
        assert error.location is not None
        assert error.location.file == __file__
        assert isinstance(error.__cause__, ValueError)
        assert "in whole" in error.original_traceback
        assert "morisot/" not in error.original_traceback
    assert list(runner.metrics["diverted"].values()) == [4]
    assert runner.metrics["skipped"] == {}


def test_result_that_does_not_fit_stops_the_job(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([2**62, 0, 2**62]).window_all(mo.CountWindow.tumbling(3))
    with pytest.raises(mo.ElementError, match=r"window_all\.fold .*beyond 64 bits"):
        numbers.fold(0, lambda a, n: a + n if 1 // n or True else a, on_error="skip").collect()  # type: ignore[redundant-expr]


def test_another_function_of_the_window_stops_the_job(ctx: mo.StreamContext) -> None:
    committed: mo.TransactionWindow[str] = mo.TransactionWindow(lambda t: mo.Tx.COMMIT if whole(t) else mo.Tx.NONE)
    with pytest.raises(mo.ElementError, match="no number: x"):
        listed(ctx.stream_iter(TEXTS).window_all(committed)).collect()


def test_report_and_metrics_name_the_operator(ctx: mo.StreamContext, capfd: pytest.CaptureFixture[str]) -> None:
    stream = added(ctx.stream_iter(TEXTS).window_all(mo.CountWindow.tumbling(5)))
    where = f"window_all.fold ({stream._node.location})"
    assert stream.collect() == stream.collect() == [26]
    assert ctx.metrics()["skipped"] == {where: 2}
    assert capfd.readouterr().err == f"{where}: 2 elements skipped (ValueError: no number: x)\n" * 2


def test_types_and_forms(capsys: pytest.CaptureFixture[str]) -> None:
    texts = mo.StreamContext(engine="reference").stream_iter(TEXTS)
    windows = texts.group_by(lambda t: t).window(mo.CountWindow.tumbling(2))
    counted = windows.fold(0, lambda a, t: a + len(t), on_error="skip")
    assert counted.type == Keyed(STR, INT)
    assert counted.with_bounds().type == windows.with_bounds().fold(0, lambda a, t: a + len(t)).type
    assert windows.reduce(lambda a, t: a + t, on_error=print).type == Keyed(STR, STR)
    form = counted.forms()[-1]
    assert (form.form, form.reason) == ("stage", "on_error needs the outcome of each element")
    counted.explain()
    shown = capsys.readouterr().out
    assert "window.fold(on_error='skip')  : str → int" in shown
    assert "function: stage — on_error needs the outcome of each element" in shown
    assert windows.fold(0, lambda a, t: a + len(t), on_error="raise").forms()[-1].form == "column"


@pytest.mark.parametrize(
    ("on_error", "message"),
    [
        ("ignore", "window_all.fold does not support on_error='ignore'"),
        (lambda: None, "on_error of window_all.fold is called with one argument"),
    ],
    ids=["no such word", "wrong arity"],
)
def test_anything_else_is_refused(on_error: Any, message: str) -> None:
    windows = mo.StreamContext(engine="reference").stream_iter(TEXTS).window_all(mo.CountWindow.tumbling(2))
    with pytest.raises(mo.PlanError, match=re.escape(message)):
        windows.fold(0, lambda a, t: a + len(t), on_error=on_error)


def test_refused_in_the_body_of_a_loop(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"window_all\.fold skips elements in the body of replay"):
        ctx.stream_iter([1]).replay(
            3,
            0,
            lambda s, _: s.window_all(mo.AllWindow()).fold(0, lambda a, n: a + 1 // n, on_error="skip"),
            lambda d, n: n,
            lambda s, d: d,
            lambda s: True,
        )
