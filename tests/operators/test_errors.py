"""A failing function: what the user reads."""

from __future__ import annotations

import math

import pytest

import morisot as mo


def fails_deep_down(n: int) -> float:
    return math.log(n - 2)


@pytest.mark.parametrize("build", ["column", "stage", "keyed", "fold", "key", "generator"])
def test_element_error(ctx: mo.StreamContext, build: str) -> None:
    numbers = ctx.stream_iter([3, 2, 5])
    stream, operator, original = {
        "column": lambda: (numbers.map(lambda n: 10 // (n - 2)), "map", ZeroDivisionError),
        "stage": lambda: (numbers.map(fails_deep_down), "map", ValueError),
        "keyed": lambda: (numbers.group_by(lambda n: n).filter(lambda k, n: math.log(n - 2)), "filter", ValueError),
        "fold": lambda: (
            numbers.group_by_fold(lambda n: 0, 0, lambda a, n: a + {3: 1, 5: 1}[n], lambda a, b: a + b),
            "group_by_fold",
            KeyError,
        ),
        "key": lambda: (numbers.group_by_count(lambda n: 1 // (n - 2)), "group_by_count", ZeroDivisionError),
        "generator": lambda: (
            numbers.flat_map(lambda n: (1 // (n - 2) for _ in range(2))),
            "flat_map",
            ZeroDivisionError,
        ),
    }[build]()
    with pytest.raises(mo.ElementError) as caught:
        stream.collect()
    error = caught.value
    assert error.operator == operator
    assert error.location is not None
    assert error.location.file == __file__
    assert "2" in error.element
    assert isinstance(error.__cause__, original)
    assert original.__name__ in str(error)
    assert "test_errors.py" in error.original_traceback
    shown = str(error) + "".join(error.__notes__)
    assert "py4j" not in shown.lower()
    assert "org.apache" not in shown


def test_traceback_shows_the_users_frames_only(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError) as caught:
        ctx.stream_iter([2]).map(fails_deep_down).collect()
    assert "fails_deep_down" in caught.value.original_traceback
    assert "morisot/worker" not in caught.value.original_traceback


def test_value_that_does_not_fit_its_declared_type(spark_ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError, match=r"'x' \(str\) is not of the type int; correct `returns=`"):
        spark_ctx.stream_iter([1]).map(lambda n: "x" if math.floor(n) else n, returns=int).collect()


def test_wrong_arity_is_refused_when_built(ctx: mo.StreamContext) -> None:
    with pytest.raises(
        mo.PlanError, match=r"given to map is called with one argument.*lambda>\(a, b\).*test_errors.py"
    ):
        ctx.stream_iter([1]).map(lambda a, b: a)  # type: ignore[misc, arg-type]
    with pytest.raises(mo.PlanError, match=r"on a keyed stream functions take \(key, value\)"):
        ctx.stream_iter([1]).group_by(lambda n: n).map(lambda n: n)  # type: ignore[misc, arg-type]


def test_what_is_no_function_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="filter needs a function, not 5"):
        ctx.stream_iter([1]).filter(5)  # type: ignore[arg-type]


def test_map_async_needs_a_coroutine(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="map_async needs a coroutine function"):
        ctx.stream_iter([1]).map_async(lambda n: n)  # type: ignore[arg-type, return-value]


def test_flatten_of_plain_values_is_refused(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match="flatten needs elements that are lists, not int"):
        ctx.stream_iter([1]).flatten()  # type: ignore[misc]


def test_a_function_that_cannot_travel_says_so(spark_ctx: mo.StreamContext) -> None:
    import threading

    lock = threading.Lock()
    with pytest.raises(mo.PlanError, match=r"map .*test_errors.py.* cannot be sent to the workers.*lock"):
        spark_ctx.stream_iter([1]).map(lambda n: (lock, math.floor(n))).collect()


@pytest.mark.parametrize("values", [["a", "b"], ["a", 1, None]], ids=str)
def test_aggregates_of_what_does_not_add_up_or_compare(ctx: mo.StreamContext, values: list[object]) -> None:
    programs = [ctx.stream_iter(values).group_by_sum(lambda x: 0, lambda x: x)]
    if 1 in values:
        programs.append(ctx.stream_iter(values).group_by_min_element(lambda x: 0, lambda x: x))
    for program in programs:
        with pytest.raises(mo.ElementError, match="TypeError"):
            program.collect()
