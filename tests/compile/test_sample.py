"""The type of a function without source text is that of its results for a few elements in memory."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import morisot as mo


def without_text(text: str, **names: Any) -> Callable[..., Any]:
    """A function as a program that is piped to Python has it."""
    function: Callable[..., Any] = eval(text, {"__name__": "__main__", **names})
    return function


@pytest.fixture
def ctx() -> mo.StreamContext:
    return mo.StreamContext(engine="reference")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("lambda n: n + 1", "int"),
        ("lambda n: (n, str(n), n / 2)", "tuple[int, str, float]"),
        ("lambda n: None if n % 2 else [n]", "list[int] | None"),
        ("lambda n: n if n % 2 else 0.5", "object"),
        ("lambda n: None", "object"),
        ("lambda n: 10 // n", "int"),
        ("lambda n: 10 // 0", "object"),
    ],
)
def test_map(ctx: mo.StreamContext, text: str, type_: str) -> None:
    assert str(ctx.stream_iter([0, 1, 2, 3]).map(without_text(text)).type) == type_


def test_word_count(ctx: mo.StreamContext) -> None:
    words = ctx.stream_iter(["a b", "", "a"]).flat_map(without_text("lambda line: line.split()"))
    counts = words.filter(without_text("lambda w: w != 'c'")).group_by_count(without_text("lambda w: w"))
    assert [str(words.type), str(counts.type)] == ["str", "str → int"]
    assert counts.collect() == [("a", 2), ("b", 1)]


def test_keyed_streams_and_aggregates(ctx: mo.StreamContext) -> None:
    keyed = ctx.stream_iter(range(10)).group_by(without_text("lambda n: str(n % 3)"))
    mapped = keyed.map(without_text("lambda k, n: (k, n)"))
    assert str(mapped.type) == "str → tuple[str, int]"
    assert str(mapped.drop_key().type) == "tuple[str, int]"
    assert str(mapped.unkey().map(without_text("lambda pair: pair[1][1]")).type) == "int"
    sums = mapped.drop_key().group_by_sum(without_text("lambda p: p[0]"), without_text("lambda p: p[1] + 0.5"))
    assert str(sums.type) == "str → float"
    assert str(ctx.stream_iter([1, 2]).filter_map(without_text("lambda n: str(n) if n > 1 else None")).type) == "str"
    assert str(ctx.stream_iter([[1], [2]]).flatten().map_memo(without_text("lambda n: n < 2")).type) == "bool"
    timed = ctx.stream_iter([5]).add_timestamps(without_text("lambda n: n * 2"))
    windows = timed.window_all(mo.EventTimeWindow.tumbling(10))
    assert str(windows.sum(without_text("lambda n: n + 0.5")).type) == "float"


def test_at_most_five_elements_once(ctx: mo.StreamContext) -> None:
    output = io.StringIO()
    with redirect_stdout(output):
        stream = ctx.stream_iter(range(100)).map(without_text("lambda n: print(n) or n"))
        stream.map(without_text("lambda n: n + 1")).filter(without_text("lambda n: n > 2")).map(without_text("str"))
    assert output.getvalue().split() == ["0", "1", "2", "3", "4"]


def test_inspect_and_sinks_do_not_run(ctx: mo.StreamContext) -> None:
    output = io.StringIO()
    with redirect_stdout(output):
        shown = ctx.stream_iter([1]).inspect(without_text("lambda n: print(n)"))
        assert str(shown.map(without_text("lambda n: n + 1")).type) == "int"
        ctx.stream_iter([1]).for_each(without_text("lambda n: print(n)"))
        ctx.stream_iter([1]).fold(0, without_text("lambda a, n: print(n) or a"))
        ctx.stream_iter([1]).group_by(lambda n: n).rich_map(0, without_text("lambda s, k, n: print(n) or (s, n)"))
    assert output.getvalue() == ""


def test_the_sample_changes_nothing(ctx: mo.StreamContext) -> None:
    """Captured objects and elements are copied: otherwise the filter would drop the elements of the sample."""
    seen: set[int] = set()
    lists = [[1], [2]]
    unique = ctx.stream_iter([1, 1, 2]).filter(without_text("lambda n: n not in seen and not seen.add(n)", seen=seen))
    longer = ctx.stream_iter(lists).map(without_text("lambda each: each.append(3) or each"))
    assert (str(unique.map(without_text("lambda n: n")).type), seen) == ("int", set())
    assert (str(longer.type), lists) == ("list[int]", [[1], [2]])
    random.seed(1)
    expected = random.random()
    random.seed(1)
    assert str(ctx.stream_iter([1]).map(without_text("lambda n: random.random()", random=random)).type) == "float"
    assert random.random() == expected
    assert unique.collect() == [1, 2]


def test_captured_functions_are_copied(ctx: mo.StreamContext) -> None:
    names: dict[str, Any] = {"calls": []}
    exec("def called(n):\n    calls.append(n)\n    return called(n - 1) if n else 0", names)
    assert str(ctx.stream_iter([2]).map(without_text("lambda n: called(n)", **names)).type) == "int"
    assert names["calls"] == []


@pytest.mark.parametrize(
    "text",
    [
        "def f(n):\n    global count\n    count += 1\n    return count",
        "def f(n):\n    box.value = n\n    return n",
        "async def f(n):\n    return n",
        "def g(n):\n    box.value = n\n    return n\ndef f(n): return g(n)",
        "def f(n): return next(numbers)",
    ],
)
def test_functions_with_effects_do_not_run(ctx: mo.StreamContext, text: str) -> None:
    names: dict[str, Any] = {"count": 0, "box": type("Box", (), {"value": 0}), "numbers": (n for n in range(9))}
    exec(text, names)
    assert str(ctx.stream_iter([1]).map(names["f"]).type) == "object"
    assert (names["count"], names["box"].value, next(names["numbers"])) == (0, 0, 0)


def test_only_elements_in_memory(ctx: mo.StreamContext, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("a\n")
    function = without_text("lambda s: s.upper()")
    assert str(ctx.stream_file(tmp_path / "lines").map(function).type) == "object"
    assert str(ctx.stream_iter([]).map(function).type) == "object"
    assert str(ctx.stream_iter(["b", "a"]).sorted_by(without_text("lambda s: s")).map(function).type) == "object"


def test_sampling_is_switched_off_or_unneeded() -> None:
    off = mo.StreamContext(config=mo.Config(engine="reference", sample=False)).stream_iter([1])
    on = mo.StreamContext(engine="reference").stream_iter([1])
    function = without_text("lambda n: n + 1")
    assert str(off.map(function).type) == "object"
    assert str(on.map(function, returns=object).type) == "object"
    assert str(on.map(function, returns=float).type) == "float"
    assert str(on.map(lambda n: eval("n")).type) == "object"  # it has a text


def test_explain_says_where_the_type_comes_from(ctx: mo.StreamContext) -> None:
    (form,) = ctx.stream_iter([1, 2]).map(without_text("lambda n: n + 1")).forms()
    assert form.reason == "there is no source text for <lambda>; its type is that of its results for 2 elements"
    (form,) = ctx.stream_iter([]).map(without_text("lambda n: n + 1")).forms()
    assert form.reason == "there is no source text for <lambda>"
    assert "pass returns=" in form.advice


def test_results_are_tested(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(range(9)).map(without_text("lambda n: n if n < 7 else None"))
    with pytest.raises(mo.ElementError, match=r"element 7.* the first elements.* returns=object"):
        stream.collect()
