"""What Renoir gives for windows with timestamps; where Morisot decided otherwise, the test says so."""

from __future__ import annotations

from typing import Any

import pytest

import morisot as mo
from tests.cases.test_renoir import CASES, OF_TIME, ctx, listed

assert ctx is not None, "the fixture is shared"
Window = mo.EventTimeWindow


def timed(context: mo.StreamContext, rows: list[dict[str, Any]]) -> Any:
    """The elements of a case that are no watermarks, with their timestamps."""
    pairs = [(row["v"], row["ts"]) for row in rows if "v" in row]
    return context.stream_iter(pairs).add_timestamps(lambda pair: pair[1]).map(lambda pair: pair[0])


def with_ends(windows: Any) -> list[dict[str, Any]]:
    """The windows' contents with their ends, which are the results' timestamps."""
    return [{"v": window.value, "ts": window.end} for window in listed(windows).with_bounds().collect()]


def expected(name: str) -> Any:
    return CASES[name]["expected"]


def test_count_window_timestamps(ctx: mo.StreamContext) -> None:
    """A result has the timestamp of its newest element: seen through a window of one millisecond around each."""
    case = CASES["count_window_timestamps"]
    sums = (
        timed(ctx, case["input"])
        .window_all(mo.CountWindow.sliding(case["params"]["size"], case["params"]["slide"]))
        .sum()
    )
    found = {
        (window.start, window.value) for window in sums.window_all(Window.tumbling(1)).sum().with_bounds().collect()
    }
    assert found == {(window["ts"], sum(window["v"])) for window in case["expected"]}


@pytest.mark.parametrize(
    ("name", "windows"), [("event_tumbling3_first_0", Window.tumbling(3)), ("event_hopping_2_5", Window.sliding(2, 5))]
)
def test_event_windows(name: str, windows: Any, ctx: mo.StreamContext) -> None:
    assert sorted(with_ends(timed(ctx, CASES[name]["input"]).window_all(windows)), key=str) == sorted(
        expected(name), key=str
    )


def test_event_window_5_4(ctx: mo.StreamContext) -> None:
    """Decided otherwise: windows are aligned to the epoch, so [-4, 1) is one too; Renoir's begin at an element."""
    case = CASES["event_window_5_4"]
    found = listed(timed(ctx, case["input"]).window_all(Window.sliding(5, 4))).collect()
    assert sorted(found) == sorted([list(range(1, 10)), *case["expected"]])


def test_event_late_after_recycle(ctx: mo.StreamContext) -> None:
    """Decided otherwise: bounded input has no late elements, and windows are aligned to the epoch."""
    case = CASES["event_late_after_recycle"]
    assert with_ends(timed(ctx, case["input"]).window_all(Window.tumbling(10))) == [{"v": [5, 7], "ts": 10}]


def test_event_close_is_strict(ctx: mo.StreamContext) -> None:
    """Decided otherwise: the window is [0, 10) and not [5, 15); a bounded run shows no watermarks."""
    case = CASES["event_close_is_strict"]
    assert with_ends(timed(ctx, case["input"]).window_all(Window.tumbling(10))) == [{"v": [5], "ts": 10}]


def test_event_untimestamped(ctx: mo.StreamContext) -> None:
    case = CASES["event_untimestamped"]
    assert case["expected"] == {"error": True}
    with pytest.raises(mo.PlanError, match="needs elements with timestamps"):
        ctx.stream_iter(case["input"]).window_all(Window.tumbling(case["params"]["size"]))


def test_session_window_processing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that pauses where the case does; Spark runs bounded input at one instant, so this is the reference's."""
    case = CASES["session_window_processing_time"]
    pauses = {33, 80}
    times, now = [], 0
    for n in range(100):
        now += 11_000 if n in pauses else 1
        times.append(now)
    ticks = iter(times)
    monkeypatch.setattr("morisot.engines.reference.window.clock_of_run", lambda: lambda: next(ticks))
    windows = mo.ProcessingTimeWindow.session(case["params"]["gap_ms"])
    numbers = mo.StreamContext(engine="reference").stream_iter(range(100))
    assert listed(numbers.window_all(windows)).collect() == case["expected"]


def test_transaction_commit_discard(ctx: mo.StreamContext) -> None:
    case = CASES["transaction_commit_discard"]

    def verdict(n: int) -> mo.Tx:
        return mo.Tx.COMMIT if n % 10 == 0 else mo.Tx.DISCARD if n % 7 == 0 else mo.Tx.NONE

    results = listed(timed(ctx, case["input"]).window_all(mo.TransactionWindow(verdict)))
    assert results.collect() == case["expected"]
    assert results._node.time is None, "results carry no timestamp"


def test_transaction_commit_after_end(ctx: mo.StreamContext) -> None:
    case = CASES["transaction_commit_after_end"]
    windows: mo.TransactionWindow[int] = mo.TransactionWindow(
        lambda n: mo.Tx.commit_after(50) if n == 3 else mo.Tx.NONE
    )
    assert listed(timed(ctx, case["input"]).window_all(windows)).collect() == case["expected"]


def test_window_all_join_aligned_disabled(ctx: mo.StreamContext) -> None:
    case = CASES["window_all_join_aligned_disabled"]
    left, right = (timed(ctx, case["input"][side]) for side in ("left", "right"))
    pairs = left.window_all(Window.tumbling(case["params"]["size"])).join(right).collect()
    assert sorted(map(list, pairs)) == sorted(case["expected"])


def test_window_join_one_side_empty(ctx: mo.StreamContext) -> None:
    case = CASES["window_join_one_side_empty"]
    left = ctx.stream_iter(case["input"]["left"])
    right = ctx.stream_iter([0]).filter(lambda n: n in case["input"]["right"])
    assert left.window_all(mo.AllWindow()).join(right).collect() == case["expected"]


def test_every_case_has_a_test() -> None:
    tests = " ".join(name for name in globals() if name.startswith("test_"))
    assert [
        name for name in OF_TIME if name not in tests and name not in ("event_tumbling3_first_0", "event_hopping_2_5")
    ] == []
