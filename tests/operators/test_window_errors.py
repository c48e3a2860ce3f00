"""Windows that cannot be: each is refused when the plan is built, with the line and what to do."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable

import pytest

import morisot as mo
from morisot.types.element import ANY

CTX = mo.StreamContext(engine="reference")
NUMBERS = CTX.stream_iter([1, 2, 3])
TIMED = NUMBERS.add_timestamps(lambda n: n)
KEYED = NUMBERS.group_by(lambda n: n % 2)
TEXTS = CTX.stream_iter(["a", "b"])
PAIRS = mo.CountWindow.tumbling(2)

REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "no timestamps": (
        lambda: NUMBERS.window_all(mo.EventTimeWindow.tumbling("10s")),
        "window_all with an event-time window needs elements with timestamps, and these have none",
        "call add_timestamps(lambda element: …) before it",
    ),
    "size 0": (
        lambda: mo.CountWindow.tumbling(0),
        "the size of a window counts elements, so it is an int of at least 1, not 0",
        "",
    ),
    "negative size": (lambda: mo.CountWindow.sliding(-3, 1), "the size of a window counts elements", ""),
    "slide 0": (lambda: mo.CountWindow.sliding(3, 0), "the slide of a window counts elements", ""),
    "no int": (lambda: mo.CountWindow.tumbling("10s"), "not '10s'", "for windows of time use EventTimeWindow"),  # type: ignore[arg-type]
    "a float": (lambda: mo.CountWindow.tumbling(2.0), "not 2.0", "for windows of time use EventTimeWindow"),  # type: ignore[arg-type]
    "a bool": (lambda: mo.LastK(True), "k of a window counts elements, so it is an int of at least 1, not True", ""),
    "no duration": (lambda: mo.EventTimeWindow.tumbling("soon"), "the size of a window: 'soon' is no duration", ""),
    "duration of nothing": (
        lambda: mo.EventTimeWindow.tumbling("0s"),
        "the size of a window must be positive, not '0s'",
        "",
    ),
    "negative duration": (
        lambda: mo.EventTimeWindow.sliding(10, datetime.timedelta(seconds=-1)),
        "the slide of a window must be positive",
        "",
    ),
    "no gap": (lambda: mo.EventTimeWindow.session(0), "the gap of a window must be positive, not 0", ""),
    "finer than milliseconds": (
        lambda: TIMED.window_all(mo.EventTimeWindow.tumbling(datetime.timedelta(microseconds=1500))),
        "the size: datetime.timedelta(microseconds=1500) is not a whole number of milliseconds",
        "",
    ),
    "sum of texts": (
        lambda: TEXTS.window_all(PAIRS).sum(),
        "window_all.sum adds numbers, and these are str",
        "select a number: sum(lambda element: …)",
    ),
    "mean of texts": (
        lambda: TEXTS.window_all(PAIRS).mean(),
        "window_all.mean adds numbers, and these are str",
        "mean(lambda element: …)",
    ),
    "sum of named texts": (
        lambda: TEXTS.window_all(PAIRS).aggregate(total=mo.agg.sum(lambda text: text + "!")),
        "window_all.aggregate adds numbers, and these are str",
        "",
    ),
    "fold with one argument": (
        lambda: KEYED.window(PAIRS).fold(0, lambda n: n),  # type: ignore[arg-type, misc]
        "the function given to window.fold is called with two arguments",
        "fold(init, function) calls function(accumulator, element)",
    ),
    "reduce with one argument": (
        lambda: KEYED.window(PAIRS).reduce(lambda n: n),  # type: ignore[arg-type, misc]
        "the function given to window.reduce is called with two arguments",
        "reduce(function) calls function(accumulator, element)",
    ),
    "map of nothing": (
        lambda: KEYED.window(PAIRS).map(None),  # type: ignore[arg-type]
        "window.map needs a function, not None",
        "pass a lambda or a def",
    ),
    "map with two arguments": (
        lambda: KEYED.window(PAIRS).map(lambda key, window: window),  # type: ignore[arg-type, misc]
        "the function given to window.map is called with one argument",
        "map(function) calls the function with the list of a window's elements",
    ),
    "window on a plain stream": (
        lambda: NUMBERS.window(PAIRS),  # type: ignore[attr-defined]
        "window assigns the elements of each key to windows, and this stream has no keys",
        "give it keys with group_by(…) first, or use window_all(…)",
    ),
    "window_all on a keyed stream": (
        lambda: KEYED.window_all(PAIRS),  # type: ignore[attr-defined]
        "window_all assigns the elements of a whole stream to windows, and this one has keys",
        "use window(…) for windows of each key",
    ),
    "no description": (
        lambda: NUMBERS.window_all(3),  # type: ignore[arg-type]
        "window_all needs a description of windows, not 3",
        "for example CountWindow.tumbling(10)",
    ),
    "a class": (lambda: NUMBERS.window_all(mo.CountWindow), "window_all needs a description of windows", ""),  # type: ignore[arg-type]
    "no verdict": (lambda: mo.TransactionWindow("commit"), "TransactionWindow needs a function, not 'commit'", ""),  # type: ignore[arg-type]
    "no aggregate": (
        lambda: NUMBERS.window_all(PAIRS).aggregate(),
        "window_all.aggregate takes one accumulator, or aggregates with names",
        "aggregate(total=mo.agg.sum(), n=mo.agg.count())",
    ),
    "a hidden name": (
        lambda: NUMBERS.window_all(PAIRS).aggregate(_total=mo.agg.sum()),
        "window_all.aggregate cannot name a result '_total'",
        "use a plain name without a leading underscore",
    ),
    "a function as aggregate": (
        lambda: NUMBERS.window_all(PAIRS).aggregate(total=sum),
        "window_all.aggregate takes aggregates, not <built-in function sum>",
        "aggregate(total=mo.agg.sum(), n=mo.agg.count())",
    ),
    "bounds of no window": (
        lambda: NUMBERS.with_bounds(),
        "with_bounds adds the bounds of windows, and stream_iter has none",
        "window(…).sum().with_bounds()",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    program, what, advice = REFUSED[name]
    with pytest.raises(mo.PlanError, match=re.escape(what)) as caught:
        program()
    assert "test_window_errors.py:" in str(caught.value)
    assert advice in str(caught.value)


def test_what_may_be_numbers_is_let_through() -> None:
    mixed = CTX.stream_iter([1, 2.5])
    assert mixed.type == ANY
    assert mixed.window_all(PAIRS).sum().collect() == [3.5]


def test_a_window_that_only_the_end_completes_is_refused_on_unbounded_input() -> None:
    with pytest.raises(mo.PlanError, match="window_all.count cannot run on unbounded input"):
        mo.StreamContext().stream_rate(10).window_all(mo.AllWindow()).count()
