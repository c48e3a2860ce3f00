"""Elements on which a function fails: left out, counted once, and passed to the function that asks for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.operators.engines import Runner

Program = Callable[[Any], Any]


def whole(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"no number: {text}")
    return len(text) * 0 + int(text)


def items(text: str) -> Any:
    yield text
    if text == "x":
        raise ValueError("after the first item")
    yield text


async def fetched(text: str) -> int:
    return whole(text)


TEXTS = ["1", "x", "22", "", "3"]

PROGRAMS: dict[str, tuple[Program, list[Any], int]] = {
    "map in Python": (lambda s: s.map(whole, on_error="skip"), [1, 22, 3], 2),
    "map as a column": (lambda s: s.map(lambda t: 6 // len(t), on_error="skip"), [6, 6, 3, 6], 1),
    "map that cannot fail": (lambda s: s.map(lambda t: t + "!", on_error="skip"), [t + "!" for t in TEXTS], 0),
    "filter": (lambda s: s.filter(lambda t: whole(t) > 2, on_error="skip"), ["22", "3"], 2),
    "filter as a column": (lambda s: s.filter(lambda t: 2 // len(t) == 1, on_error="skip"), ["22"], 1),
    "flat_map, whole elements": (
        lambda s: s.flat_map(items, on_error="skip", returns=str),
        [t for t in TEXTS if t != "x" for _ in "ab"],
        1,
    ),
    "filter_map": (lambda s: s.filter_map(lambda t: whole(t) if t != "3" else None, on_error="skip"), [1, 22], 2),
    "inspect": (lambda s: s.inspect(lambda t: whole(t), on_error="skip"), ["1", "22", "3"], 2),
    "map_memo": (lambda s: s.map_memo(whole, on_error="skip"), [1, 22, 3], 2),
    "map_memo_by": (lambda s: s.map_memo_by(lambda t: t * 2, whole, on_error="skip"), ["11", "2222", "33"], 2),
    "map_async": (lambda s: s.map_async(fetched, on_error="skip"), [1, 22, 3], 2),
    "group_by": (lambda s: s.group_by(whole, on_error="skip"), [(1, "1"), (22, "22"), (3, "3")], 2),
    "key_by as a column": (
        lambda s: s.key_by(lambda t: 4 // len(t), on_error="skip"),
        [(4, "1"), (4, "x"), (2, "22"), (4, "3")],
        1,
    ),
    "values of windows": (
        lambda s: s.window_all(mo.CountWindow.tumbling(2)).sum(whole, on_error="skip"),
        [23],
        2,
    ),
    "values of windows of keys": (
        lambda s: s.key_by(lambda _: "all").window(mo.CountWindow.tumbling(1)).max(whole, on_error="skip"),
        [("all", 1), ("all", 22), ("all", 3)],
        2,
    ),
    "whole windows": (
        lambda s: s.window_all(mo.CountWindow.tumbling(1)).map(lambda texts: whole(texts[0]), on_error="skip"),
        [1, 22, 3],
        2,
    ),
    "whole windows with bounds": (
        lambda s: (
            s.key_by(lambda _: "all")
            .window(mo.CountWindow.tumbling(1))
            .with_bounds()
            .map(lambda texts: whole(texts[0]), on_error="skip")
            .map(lambda _, window: window.value)
        ),
        [("all", 1), ("all", 22), ("all", 3)],
        2,
    ),
    "keyed map": (lambda s: s.key_by(len).map(lambda k, t: whole(t), on_error="skip"), [(1, 1), (2, 22), (1, 3)], 2),
    "keyed flat_map": (
        lambda s: s.key_by(len).flat_map(lambda k, t: [whole(t)], on_error="skip"),
        [(1, 1), (2, 22), (1, 3)],
        2,
    ),
    "several in one pass": (
        lambda s: (
            s.map(whole, on_error="skip")
            .map(lambda n: math.isqrt(n - 2), on_error="skip")
            .filter(lambda n: 1 // (n - 1) == 0, on_error="skip")
        ),
        [4],
        4,
    ),
    "wrong type": (lambda s: s.map(lambda t: t if t == "x" else len(t), returns=int, on_error="skip"), [1, 2, 0, 1], 1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_skipped_elements_are_counted(runner: Runner, name: str) -> None:
    program, expected, count = PROGRAMS[name]
    assert runner.run(program, TEXTS) == expected
    assert sum(runner.metrics["skipped"].values()) == count
    assert runner.metrics["diverted"] == {}


AGGREGATES: dict[str, tuple[Program, list[Any], int]] = {
    "key of group_by_count": (lambda s: s.group_by_count(lambda t: whole(t) % 2, on_error="skip"), [(0, 1), (1, 2)], 2),
    "group_by_sum": (lambda s: s.group_by_sum(len, whole, on_error="skip"), [(1, 4), (2, 22)], 2),
    "group_by_sum as columns": (
        lambda s: s.group_by_sum(lambda t: t < "2", lambda t: 6 // len(t), on_error="skip"),
        [(False, 15), (True, 6)],
        1,
    ),
    "group_by_avg": (lambda s: s.group_by_avg(len, whole, on_error="skip"), [(1, 2.0), (2, 22.0)], 2),
    "group_by_min_element": (lambda s: s.group_by_min_element(lambda t: 0, whole, on_error="skip"), [(0, "1")], 2),
    "group_by_max_element": (lambda s: s.group_by_max_element(lambda t: 0, whole, on_error="skip"), [(0, "22")], 2),
    "group_by_fold": (
        lambda s: s.group_by_fold(len, 0, lambda a, t: a + whole(t), lambda a, b: a + b, on_error="skip"),
        [(1, 4), (2, 22)],
        2,
    ),
    "fold_assoc": (lambda s: s.fold_assoc(0, lambda a, t: a + whole(t), lambda a, b: a + b, on_error="skip"), [26], 2),
    "fold_assoc as columns": (
        lambda s: s.fold_assoc(0, lambda a, t: a + 6 // len(t), lambda a, b: a + b, on_error="skip"),
        [21],
        1,
    ),
    "keyed fold": (
        lambda s: s.group_by(len).fold("", lambda a, t: f"{a},{whole(t)}", on_error="skip"),
        [(1, ",1,3"), (2, ",22")],
        2,
    ),
    "keyed rich_map": (
        lambda s: s.group_by(len).rich_map(0, lambda a, k, t: (a + whole(t), a + whole(t)), on_error="skip"),
        [(1, 1), (1, 4), (2, 22)],
        2,
    ),
    "unique_by": (lambda s: s.unique_by(lambda t: whole(t) % 2, on_error="skip"), ["1", "22"], 2),
    "nothing is left": (
        lambda s: s.fold_assoc(0, lambda a, t: a + whole(t + "?"), lambda a, b: a + b, on_error="skip"),
        [],
        5,
    ),
    "before an aggregate": (
        lambda s: s.map(whole, returns=int, on_error="skip").group_by_sum(lambda n: 0, lambda n: n),
        [(0, 26)],
        2,
    ),
}


IN_ORDER: dict[str, tuple[Program, list[Any], int]] = {
    "fold": (lambda s: s.fold("", lambda a, t: f"{a},{whole(t)}", on_error="skip"), [",1,22,3"], 2),
    "fold as columns": (lambda s: s.fold(0, lambda a, t: a + 6 // len(t), on_error="skip"), [21], 1),
    "fold of nothing": (lambda s: s.fold("", lambda a, t: a + str(whole(t + "?")), on_error="skip"), [], 5),
    "reduce": (lambda s: s.reduce(lambda a, t: a + str(whole(t)), on_error="skip"), ["1223"], 2),
    "fold_scan": (
        lambda s: s.fold_scan("", lambda a, t: f"{a}{whole(t)}", on_error="skip"),
        [(t, "1223") for t in TEXTS],
        2,
    ),
    "rich_map": (lambda s: s.rich_map(0, lambda a, t: (a + whole(t), a), on_error="skip", returns=int), [0, 1, 23], 2),
    "rich_filter_map": (
        lambda s: s.rich_filter_map(0, lambda a, t: (whole(t), whole(t) if a else None), on_error="skip"),
        [22, 3],
        2,
    ),
    "rich_flat_map, whole elements": (
        lambda s: s.rich_flat_map(0, lambda a, t: (a + 1, [a, *items(t)]), on_error="skip"),
        [0, "1", "1", 1, "22", "22", 2, "", "", 3, "3", "3"],
        1,
    ),
    "sorted_by": (lambda s: s.sorted_by(whole, on_error="skip"), ["1", "3", "22"], 2),
    "sorted_by as a column": (
        lambda s: s.sorted_by(lambda t: -(6 // len(t)), on_error="skip"),
        ["1", "x", "3", "22"],
        1,
    ),
    "sorted_limit_by": (lambda s: s.sorted_limit_by(lambda t: -whole(t), 2, on_error="skip"), ["22", "3"], 2),
    "add_timestamps": (
        lambda s: s.add_timestamps(lambda t: -whole(t), returns=int, on_error="skip").reorder(),
        ["22", "3", "1"],
        2,
    ),
    "split_by": (lambda s: s.split_by(lambda t: whole(t) % 2, 2, on_error="skip")[1], ["1", "3"], 2),
    "route": (lambda s: s.route(lambda t: len(t) == 0, lambda t: whole(t) > 1, on_error="skip")[1], ["22", "3"], 1),
    "keyed route": (
        lambda s: s.key_by(len).route(lambda k, t: whole(t) > 1, on_error="skip")[0],
        [(2, "22"), (1, "3")],
        2,
    ),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_operators_that_see_the_order_skip_elements(bounded_runner: Runner, name: str) -> None:
    program, expected, count = IN_ORDER[name]
    assert bounded_runner.run(program, TEXTS) == expected
    assert sum(bounded_runner.metrics["skipped"].values()) == count


UNBOUNDED = (
    "group_by_sum",
    "keyed fold",
    "keyed rich_map",
    "nothing is left",
    "group_by_avg",
    "group_by_max_element",
    "group_by_fold",
    "reduce",
    "rich_flat_map, whole elements",
)


@pytest.mark.parametrize("name", UNBOUNDED)
def test_running_values_and_states_are_those_of_the_other_elements(unbounded_runner: Runner, name: str) -> None:
    program, expected, count = (AGGREGATES | IN_ORDER)[name]
    outcome = unbounded_runner.observe(program, [TEXTS[:3], TEXTS[3:]])
    assert sorted(outcome.results, key=repr) == sorted(expected, key=repr)
    assert sum(outcome.metrics["skipped"].values()) == count


def test_handler_of_an_aggregate(runner: Runner) -> None:
    failures: list[mo.ElementError] = []
    runner.run(lambda s: s.group_by(len).fold(0, lambda a, t: a + whole(t), on_error=failures.append), TEXTS)
    runner.run(lambda s: s.group_by_sum(len, whole, on_error=failures.append), TEXTS)
    assert [sorted(error.value for error in some) for some in (failures[:2], failures[2:])] == [["", "x"], ["", "x"]]
    assert all("in whole" in error.original_traceback for error in failures)
    assert sum(runner.metrics["diverted"].values()) == 2


def test_handler_of_an_operator_with_a_state(runner: Runner) -> None:
    failures: list[mo.ElementError] = []
    program = lambda s: s.group_by(len).rich_map(  # noqa: E731
        0, lambda a, k, t: (a + whole(t), a), on_error=failures.append
    )
    runner.run(program, TEXTS)
    assert sorted(error.value for error in failures) == [(0, ""), (1, "x")]


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_skip_elements_on_which_their_function_fails(bounded_runner: Runner, name: str) -> None:
    program, expected, count = AGGREGATES[name]
    assert sorted(bounded_runner.run(program, TEXTS)) == expected
    assert sum(bounded_runner.metrics["skipped"].values()) == count


def test_what_is_no_element_s_failure_stops_the_job(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError, match="TypeError"):
        ctx.stream_iter(["a", "b"]).group_by_sum(lambda x: 0, lambda x: x, on_error="skip").collect()


def test_another_operator_s_failure_stops_the_job(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(TEXTS).map(whole).map(lambda n: math.isqrt(n), on_error="skip")
    with pytest.raises(mo.ElementError, match="no number"):
        stream.collect()


def test_handler_gets_every_failure(runner: Runner) -> None:
    failures: list[mo.ElementError] = []
    program = lambda s: s.map(whole, on_error=failures.append).map(lambda n: n + 1)  # noqa: E731
    assert runner.run(program, TEXTS) == [2, 23, 4]
    assert sorted(error.value for error in failures) == ["", "x"]
    assert sorted(error.element for error in failures) == ["''", "'x'"]
    for error in failures:
        assert error.operator == "map"
        assert error.location is not None
        assert error.location.file == __file__
        assert isinstance(error.__cause__, ValueError)
        assert "in whole" in error.original_traceback
        assert "morisot/worker" not in error.original_traceback
    assert list(runner.metrics["diverted"].values()) == [2]
    assert runner.metrics["skipped"] == {}


def test_handler_gets_failures_in_the_order_of_the_stream(ctx: mo.StreamContext) -> None:
    failures: list[Any] = []
    stream = ctx.stream_iter(range(50)).map(lambda n: 1 // (n % 5), on_error=lambda error: failures.append(error.value))
    assert stream.collect_count() is not None
    ctx.execute()
    assert failures == list(range(0, 50, 5))


def test_handler_that_fails(ctx: mo.StreamContext) -> None:
    def handle(error: mo.ElementError) -> None:
        raise OSError("disk full")

    with pytest.raises(
        mo.ElementError, match=r"map at .* failed on the element 'x': its handler handle raised OSError"
    ):
        ctx.stream_iter(TEXTS).map(whole, on_error=handle).collect()


def test_stream_that_two_sinks_read_is_counted_once(ctx: mo.StreamContext, tmp_path: Path) -> None:
    failures: list[Any] = []
    numbers = ctx.stream_iter(TEXTS).map(whole, on_error="skip", returns=int)
    kept = numbers.filter(lambda n: 1 // (n - 3) or True, on_error=failures.append)
    everything, doubled = kept.collect_vec(), kept.map(lambda n: 2 * n).collect_vec()
    numbers.write_text  # noqa: B018 - read by three sinks
    numbers.map(lambda n: str(n)).write_text(tmp_path / "numbers")
    ctx.execute()
    assert (everything.get(), doubled.get()) == ([1, 22], [2, 44])
    assert list(ctx.metrics()["skipped"].values()) == [2]
    assert len(failures) == 1


@pytest.mark.jvm
def test_second_run_after_a_demotion_is_counted_once(spark_ctx: mo.StreamContext) -> None:
    failures: list[Any] = []
    stream = (
        spark_ctx.stream_iter([str(2**62), "x", "1"])
        .map(whole, returns=int, on_error=failures.append)
        .map(lambda n: n * 4 - n * 3)
    )
    assert stream.collect() == [2**62, 1]
    assert len(failures) == 1
    assert list(spark_ctx.metrics()["diverted"].values()) == [1]
    assert len(spark_ctx.metrics()["moved_to_python"]) == 1


@pytest.mark.jvm
def test_demotion_between_two_sinks_is_counted_once(spark_ctx: mo.StreamContext) -> None:
    failures: list[Any] = []
    numbers = spark_ctx.stream_iter([str(2**62), "x", "1"]).map(whole, returns=int, on_error=failures.append)
    plain, changed = numbers.collect_vec(), numbers.map(lambda n: n * 4 - n * 3).collect_vec()
    spark_ctx.execute()
    assert plain.get() == changed.get() == [2**62, 1]
    assert len(failures) == 1


@pytest.mark.jvm
def test_tasks_that_run_twice_are_counted_once(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    """Ordering by a range of values computes its input once for a sample; a retried task computes it again."""
    calls = tmp_path / "calls"

    def logged(n: int) -> int:
        with calls.open("a") as log:
            log.write("x")
        return 10 // (n % 4)

    stream = spark_ctx.stream_iter(range(40)).map(logged, returns=int, on_error="skip")
    frame = stream.to_dataframe()
    assert frame.repartitionByRange(3, "value").sortWithinPartitions("value").count() == 30
    assert frame.orderBy("value").collect()[0].value == 3
    assert len(calls.read_text()) > 40
    assert list(spark_ctx.metrics()["skipped"].values()) == [10]


def test_counts_are_of_the_last_run(ctx: mo.StreamContext) -> None:
    stream = ctx.stream_iter(TEXTS).map(whole, on_error="skip")
    assert stream.collect() == stream.collect() == [1, 22, 3]
    assert ctx.metrics()["skipped"] == {f"map ({stream._node.location})": 2}


def test_report(ctx: mo.StreamContext, capfd: pytest.CaptureFixture[str]) -> None:
    stream = ctx.stream_iter(TEXTS).map(whole, on_error="skip").name("numbers")
    stream.collect()
    assert (
        capfd.readouterr().err == f"numbers ({stream._node.location}): 2 elements skipped (ValueError: no number: x)\n"
    )
    ctx.stream_iter(["1"]).map(whole, on_error="skip").collect()
    assert capfd.readouterr().err == ""


@pytest.mark.jvm
def test_report_of_what_was_moved_to_python(spark_ctx: mo.StreamContext, capfd: pytest.CaptureFixture[str]) -> None:
    stream = spark_ctx.stream_iter([2**62]).map(lambda n: n * 4 - n * 3)
    stream.collect()
    told = capfd.readouterr().err
    assert told.startswith(f"map ({stream._node.location}): moved to Python at run time")
    stream.collect()
    assert capfd.readouterr().err == ""


def test_quiet_config(make_context: Any, capfd: pytest.CaptureFixture[str]) -> None:
    for engine in ("reference", "bounded"):
        context = make_context(engine)
        context.config = mo.Config(engine=context.config.engine, report=False)
        context.stream_iter(TEXTS).map(whole, on_error="skip").collect()
        assert capfd.readouterr().err == ""
        assert list(context.metrics()["skipped"].values()) == [2]


@pytest.mark.jvm
def test_forms_say_why(spark_ctx: mo.StreamContext) -> None:
    numbers = spark_ctx.stream_iter([1, 0])
    (division,) = numbers.map(lambda n: 1 // n, on_error="skip").forms()
    assert (division.form, division.reason) == ("stage", "on_error needs the outcome of each element")
    assert numbers.map(lambda n: n == 1, on_error="skip").forms()[0].form == "column"
    assert numbers.map(lambda n: math.log(n), on_error="skip").forms()[0].form == "kernel"
    _, value = numbers.group_by_sum(lambda n: n > 0, lambda n: 1 // n, on_error="skip").forms()
    assert (value.form, value.reason) == ("stage", "on_error needs the outcome of each element")
    local, _ = numbers.fold_assoc(0, lambda a, n: a + 1 // n, lambda a, b: a + b, on_error="skip").forms()
    assert (local.form, local.reason) == ("stage", "on_error needs the outcome of each element")


@pytest.mark.jvm
def test_kernel_leaves_out_the_rows_that_fail_in_python(
    spark_ctx: mo.StreamContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("morisot.worker.rowwise.kernel_stage.PATIENCE", 0.0)
    stream = spark_ctx.stream_iter(range(-2, 4)).map(lambda n: math.log(n), on_error="skip").filter(lambda x: x > 0.5)
    assert stream.collect() == [math.log(2), math.log(3)]
    assert list(spark_ctx.metrics()["skipped"].values()) == [3]


@pytest.mark.parametrize(
    ("on_error", "message"),
    [
        ("ignore", "map does not support on_error='ignore'"),
        (lambda: None, "on_error of map is called with one argument"),
    ],
    ids=["no such word", "wrong arity"],
)
def test_anything_else_is_refused(ctx: mo.StreamContext, on_error: Any, message: str) -> None:
    with pytest.raises(mo.PlanError, match=re.escape(message)):
        ctx.stream_iter([1]).map(lambda n: n, on_error=on_error)


@pytest.mark.jvm
def test_refused_where_it_would_change_running_values(spark_ctx: mo.StreamContext) -> None:
    counts = spark_ctx.stream_rate(5).group_by_count(lambda n: n % 2)
    with pytest.raises(mo.PlanError, match="map cannot follow an aggregate on unbounded input"):
        counts.map(lambda k, n: 1 // n, on_error="skip")


def test_refused_in_the_body_of_a_loop(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="map skips elements in the body of replay"):
        ctx.stream_iter([1]).replay(
            3, 0, lambda s, _: s.map(lambda n: 1 // n, on_error="skip"), lambda d, n: n, lambda s, d: d, lambda s: True
        )


def test_before_a_loop(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter(TEXTS).map(whole, returns=int, on_error="skip")
    total = numbers.replay(2, 0, lambda s, _: s, lambda d, n: d + n, lambda s, d: s + d, lambda s: True, delta=0)
    assert total.collect() == [52]
    assert list(ctx.metrics()["skipped"].values()) == [2]


@pytest.mark.jvm
def test_dataframe_cannot_divert(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_iter(TEXTS).map(whole, on_error=print)
    with pytest.raises(mo.PlanError, match="it is unknown when a DataFrame has been computed"):
        stream.to_dataframe()
