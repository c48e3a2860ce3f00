"""A failing function: what the user reads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import morisot as mo


def fails_deep_down(n: int) -> float:
    return math.log(n - 2)


@pytest.mark.parametrize("build", ["column", "stage", "keyed", "fold", "key", "generator"])
def test_element_error(ctx: mo.StreamContext, build: str) -> None:
    numbers = ctx.stream_iter([3, 2, 5])
    builds: dict[str, Callable[[], tuple[Any, str, type[Exception]]]] = {
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
    }
    stream, operator, original = builds[build]()
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


def wrong_now_and_then(n: int) -> int:
    return "x" if math.floor(n) == 2 else n  # type: ignore[return-value]


async def wrong_later(n: int) -> int:
    return wrong_now_and_then(n)


class Point(NamedTuple):
    x: int
    y: float


MISFITS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "map": (lambda s: s.map(wrong_now_and_then), r"map .*'x' \(str\) is not of the type int"),
    "returns": (
        lambda s: s.map(lambda n: str(wrong_now_and_then(n)), returns=int),
        r"'\w' \(str\) is not of the type int",
    ),
    "flat_map": (lambda s: s.flat_map(lambda n: (n, wrong_now_and_then(n)), returns=int), "flat_map .*'x'"),
    "filter_map": (lambda s: s.filter_map(wrong_now_and_then), "filter_map .*'x'"),
    "map_memo": (lambda s: s.map_memo(wrong_now_and_then), "map_memo .*'x'"),
    "map_async": (lambda s: s.map_async(wrong_later), "map_async .*'x'"),
    "key_by": (lambda s: s.key_by(wrong_now_and_then).drop_key(), "key_by .*'x'"),
    "keyed": (lambda s: s.key_by(lambda n: n).map(lambda k, n: wrong_now_and_then(n), returns=int), "map .*'x'"),
    "tuple": (lambda s: s.map(lambda n: (n, wrong_now_and_then(n)), returns=tuple[int, int]), "'x'"),
    "record": (lambda s: s.map(lambda n: Point(wrong_now_and_then(n), 1.0), returns=Point), "'x'"),
    "list": (lambda s: s.map(lambda n: [wrong_now_and_then(n)], returns=list[int]), "'x'"),
    "optional": (lambda s: s.map(lambda n: wrong_now_and_then(n) if n < 3 else None, returns=int | None), "'x'"),
    "bool is no int": (lambda s: s.map(lambda n: math.floor(n) == 2 or n, returns=int), r"True \(bool\)"),
}


PLACED_MISFITS = (
    *(f"last-{name}" for name in ("map", "keyed", "record", "optional", "map_async")),
    *(f"in the middle-{name}" for name in ("key_by", "flat_map")),
    *(f"before a fold-{name}" for name in ("map", "tuple")),
)


@pytest.mark.bounded_thorough(kept=PLACED_MISFITS)
@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("place", ["last", "in the middle", "before a fold"])
def test_value_that_does_not_fit_its_declared_type(ctx: mo.StreamContext, name: str, place: str) -> None:
    program, message = MISFITS[name]
    stream = program(ctx.stream_iter([3, 2, 5]))
    producer = "key_by" if name == "key_by" else stream._node.operator
    if place == "in the middle":
        stream = stream.inspect(lambda *_: None)
    if place == "before a fold":
        stream = stream.fold_assoc([], lambda held, x: [*held, x], lambda a, b: a + b)
    with pytest.raises(mo.ElementError, match=message) as caught:
        stream.collect()
    assert "correct `returns=` or the return annotation" in str(caught.value)
    assert caught.value.operator == producer
    assert isinstance(caught.value.__cause__, TypeError)


def test_declared_int_beyond_64_bits(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_iter([1]).map(lambda n: math.floor(n) << 70, returns=int).map(lambda n: math.isqrt(n))
    with pytest.raises(mo.ElementError, match=r"on the element 1: OverflowError: 1180591620717411303424 is beyond 64"):
        stream.collect()


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
    with pytest.raises(mo.PlanError, match=r"map cannot be sent to the workers.*lock.*test_errors.py"):
        spark_ctx.stream_iter([1]).map(lambda n: (lock, math.floor(n))).collect()


@pytest.mark.parametrize("values", [["a", "b"], ["a", 1, None]], ids=str)
def test_aggregates_of_what_does_not_add_up_or_compare(ctx: mo.StreamContext, values: list[object]) -> None:
    programs = [ctx.stream_iter(values).group_by_sum(lambda x: 0, lambda x: x)]
    if 1 in values:
        programs.append(ctx.stream_iter(values).group_by_min_element(lambda x: 0, lambda x: x))
    for program in programs:
        with pytest.raises(mo.ElementError, match="TypeError"):
            program.collect()
