"""Functions that run as machine code, on every engine: the same answers, errors included."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.worker.rowwise import kernel_stage
from tests.operators.engines import Runner


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile at once: the inputs of tests are so small that Python would be done before."""
    monkeypatch.setattr(kernel_stage, "PATIENCE", 0.0)


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def newton(x: float) -> float:
    guess = x / 2 + 0.5
    for _ in range(60):
        better = (guess + x / guess) / 2
        if abs(better - guess) <= 1e-12:
            break
        guess = better
    return guess


class Pixel(NamedTuple):
    re: float
    im: float


def escape(p: Pixel) -> int:
    x, y, count = 0.0, 0.0, 0
    while x * x + y * y <= 4.0 and count < 100:
        x, y = x * x - y * y + p.re, 2.0 * x * y + p.im
        count += 1
    return count


class Leg(NamedTuple):
    name: str
    lat1: float
    lon1: float
    lat2: float
    lon2: float


def haversine(leg: Leg) -> float:
    phi1, phi2 = math.radians(leg.lat1), math.radians(leg.lat2)
    a = math.sin((phi2 - phi1) / 2) ** 2
    a += math.cos(phi1) * math.cos(phi2) * math.sin(math.radians(leg.lon2 - leg.lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(a))


def factorial(n: int) -> int:
    product = 1
    for i in range(2, n + 1):
        product *= i
    return product


def test_collatz(runner: Runner) -> None:
    numbers = [1, 7, 27, 97, 871, 6171]
    assert runner.run(lambda s: s.map(collatz), numbers) == [collatz(n) for n in numbers]


def test_newton(runner: Runner) -> None:
    numbers = [1.0, 2.0, 1e10, 0.3]
    assert runner.run(lambda s: s.map(newton), numbers) == [newton(x) for x in numbers]


def test_mandelbrot(runner: Runner) -> None:
    pixels = [Pixel(x / 4, y / 4) for x in range(-8, 4) for y in range(-4, 5)]
    assert runner.run(lambda s: s.map(escape), pixels) == [escape(p) for p in pixels]


def test_haversine_beside_a_text_it_does_not_read(runner: Runner) -> None:
    legs = [Leg("a", 52.5, 13.4, 48.9, 2.35), Leg("b", -33.9, 151.2, 35.7, 139.7), Leg("c", 1.0, 1.0, 1.0, 1.0)]
    assert runner.run(lambda s: s.map(haversine), legs) == [haversine(leg) for leg in legs]
    assert runner.run(lambda s: s.filter(lambda leg: haversine(leg) > 1000), legs[1:]) == legs[1:2]


def test_forms(spark_ctx: mo.StreamContext) -> None:
    for function, values in ((collatz, [1]), (newton, [1.0]), (escape, [Pixel(0.0, 0.0)])):
        (record,) = spark_ctx.stream_iter(values).map(function).forms()  # type: ignore[arg-type]
        assert record.form == "kernel"
        assert "has no column form" in record.reason


def test_rows_that_overflow_are_done_in_python(runner: Runner) -> None:
    program = lambda s: s.map(lambda n: factorial(n) % 1000003)  # noqa: E731
    numbers = [3, 20, 21, 30, 5, 100]
    assert runner.run(program, numbers) == [factorial(n) % 1000003 for n in numbers]


def test_a_result_beyond_64_bits_is_an_overflow(spark_ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError, match="beyond 64 bits"):
        spark_ctx.stream_iter([3, 21]).map(factorial).collect()


def test_an_exception_is_an_element_error(ctx: mo.StreamContext) -> None:
    def logarithm(x: float) -> float:
        total = 0.0
        for i in range(1, 4):
            total += math.log(x - i)
        return total

    with pytest.raises(mo.ElementError, match="ValueError: (math domain error|expected a positive input)") as caught:
        ctx.stream_iter([10.0, 11.0, 2.5, 12.0]).map(logarithm).collect()
    assert caught.value.operator == "map"
    assert caught.value.element == "2.5"
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert isinstance(caught.value.__cause__, ValueError)
    assert "logarithm" in caught.value.original_traceback
    assert "morisot/worker" not in caught.value.original_traceback


def test_a_raise_of_the_users_own(ctx: mo.StreamContext) -> None:
    def checked(n: int) -> float:
        if n < 0:
            raise LookupError(f"no {n}")
        return math.exp(n)

    with pytest.raises(mo.ElementError, match="no -1") as caught:
        ctx.stream_iter([1, -1]).map(checked).collect()
    assert isinstance(caught.value.__cause__, LookupError)


def test_a_chain_is_one_pass_and_right(runner: Runner) -> None:
    program = lambda s: (  # noqa: E731
        s.map(lambda x: (math.sin(x), x))
        .filter(lambda p: p[0] > 0)
        .map(lambda p: p[1] * 2 + 1)
        .filter(lambda x: math.cos(x) < 0.9)
        .map(lambda x: (x, math.exp(x / 100)))
    )
    numbers = [float(n) for n in range(50)]
    kept = [x * 2 + 1 for x in numbers if math.sin(x) > 0]
    assert runner.run(program, numbers) == [(x, math.exp(x / 100)) for x in kept if math.cos(x) < 0.9]


def test_keyed(runner: Runner) -> None:
    program = lambda s: (  # noqa: E731
        s.group_by(lambda t: t[0])
        .map(lambda key, t: math.sqrt(t[1]) + math.sin(t[1]))
        .filter(lambda key, x: math.exp(x) > 3)
    )
    elements = [("a", 1.0), ("b", 4.0), ("a", 0.0), ("b", 9.0)]
    values = [(key, math.sqrt(x) + math.sin(x)) for key, x in elements]
    assert sorted(runner.run(program, elements)) == sorted((key, x) for key, x in values if math.exp(x) > 3)


def test_none_goes_to_python(runner: Runner) -> None:
    def root(t: tuple[float | None, int]) -> float:
        if t[0] is None:
            return -1.0
        return math.pow(t[0], 1.5)

    elements = [(4.0, 1), (None, 2), (2.0, 3)]
    assert runner.run(lambda s: s.map(root), elements) == [root(t) for t in elements]


def test_a_declared_type_that_may_be_none(runner: Runner) -> None:
    program = lambda s: s.map(lambda x: math.sin(x), returns=float | None)  # noqa: E731
    assert runner.run(program, [1.0, 2.0]) == [math.sin(1.0), math.sin(2.0)]


def test_kernels_between_python_and_before_folds(runner: Runner) -> None:
    program = lambda s: s.map(lambda n: int(str(n)), returns=int).map(collatz).map(lambda n: str(n) + "!")  # noqa: E731
    assert runner.run(program, [7, 27]) == ["16!", "111!"]


@pytest.mark.parametrize("numbers", [range(1, 1000), range(50, -50, -3), range(5, 5), range(2**62, 2**62 + 3)])
def test_ranges_are_generated_inside_the_pass(ctx: mo.StreamContext, numbers: range) -> None:
    stream = ctx.stream_iter(numbers).filter(lambda n: math.sin(n) > 0.5)
    assert stream.collect() == [n for n in numbers if math.sin(n) > 0.5]


@pytest.mark.jvm
def test_the_plan_of_a_range_has_no_row_per_number(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_iter(range(1_000_000)).map(lambda n: math.sin(n))
    plan = spark_ctx.engine.spark_plan(stream._node).split("== Physical Plan ==")[1]
    assert re.search(r"Range \(0, (\d+), step=1, splits=\1\)", plan)


def test_aggregates_after_kernels(bounded_runner: Runner) -> None:
    program = lambda s: s.map(collatz).group_by_count(lambda n: n % 2)  # noqa: E731
    numbers = range(1, 200)
    expected: dict[int, int] = {}
    for n in numbers:
        expected[collatz(n) % 2] = expected.get(collatz(n) % 2, 0) + 1
    assert sorted(bounded_runner.run(program, list(numbers))) == sorted(expected.items())


def test_a_shared_kernel(spark_ctx: mo.StreamContext) -> None:
    steps = spark_ctx.stream_iter(range(1, 100)).map(collatz)
    small, large = steps.filter(lambda n: n < 10).collect_vec(), steps.map(lambda n: math.sin(n)).collect_vec()
    spark_ctx.execute()
    assert small.get() == [collatz(n) for n in range(1, 100) if collatz(n) < 10]
    assert large.get() == [math.sin(collatz(n)) for n in range(1, 100)]


def test_python_does_the_first_rows_and_machine_code_the_rest(monkeypatch: pytest.MonkeyPatch, spark_ctx: Any) -> None:
    monkeypatch.setattr(kernel_stage, "PATIENCE", 1e-4)
    numbers = range(1, 3000)
    assert spark_ctx.stream_iter(numbers).map(collatz).collect() == [collatz(n) for n in numbers]


def test_demotion_does_not_touch_kernels(spark_ctx: mo.StreamContext) -> None:
    stream = spark_ctx.stream_iter([2**62, 1]).map(lambda n: n * 4 - n * 3).map(lambda n: math.sin(n))
    assert stream.collect() == [math.sin(2**62), math.sin(1)]
    assert [record.form for record in stream.forms()] == ["stage", "kernel"]


def forms(stream: Any) -> list[str]:
    return [record.form for record in stream.forms()]


def test_what_lets_less_out_joins_the_kernel_before_it(ctx: mo.StreamContext) -> None:
    """A filter behind a kernel runs in its pass; what only makes more of its result does not."""
    steps = ctx.stream_iter([1, 7, 27, 97]).map(collatz)
    kept = steps.filter(lambda n: n > 20)
    assert kept.collect() == [n for n in map(collatz, [1, 7, 27, 97]) if n > 20]
    assert forms(kept) == ["kernel", "kernel"]
    assert forms(steps.map(lambda n: (n, n + 1))) == ["kernel", "column"]
    assert forms(steps.map(lambda n: (n, n + 1)).filter(lambda t: t[1] > 20)) == ["kernel"] * 3
    assert forms(steps.filter(lambda n: str(n) > "2")) == ["kernel", "column"]


def test_what_stands_between_a_range_and_a_kernel_joins_it(ctx: mo.StreamContext) -> None:
    """The ints are generated inside the pass, so that none of them has to travel."""
    stream = ctx.stream_iter(range(1, 100)).filter(lambda n: n % 2 == 1).map(collatz)
    assert stream.collect() == [collatz(n) for n in range(1, 100, 2)]
    assert forms(stream) == ["kernel", "kernel"]
    assert forms(ctx.stream_iter([1, 2, 3]).filter(lambda n: n % 2 == 1).map(collatz)) == ["column", "kernel"]


def test_a_key_made_by_a_loop(bounded_runner: Runner) -> None:
    numbers = list(range(1, 60))
    expected: dict[int, int] = {}
    for n in numbers:
        expected[collatz(n)] = expected.get(collatz(n), 0) + n
    program = lambda s: s.key_by(collatz).reduce_assoc(lambda a, b: a + b)  # noqa: E731
    assert sorted(bounded_runner.run(program, numbers)) == sorted(expected.items())
    assert forms(mo.StreamContext(engine="reference").stream_iter(numbers).key_by(collatz)) == ["kernel"]


def mean_and_spread(xs: list[float]) -> tuple[float, float]:
    mean = 0.0
    for x in xs:
        mean += x
    mean /= len(xs)
    spread = 0.0
    for x in xs:
        spread += (x - mean) ** 2
    return mean, math.sqrt(spread / len(xs))


def test_lists_of_numbers(runner: Runner) -> None:
    lists = [[1.0, 2.0, 4.5], [3.0], [0.1] * 7]
    assert runner.run(lambda s: s.map(mean_and_spread), lists) == [mean_and_spread(xs) for xs in lists]
    stream = mo.StreamContext(engine="reference").stream_iter(lists).map(mean_and_spread)
    assert forms(stream) == ["kernel"]


def test_an_empty_list_fails_as_in_python(ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.ElementError, match="ZeroDivisionError"):
        ctx.stream_iter([[1.0], []]).map(mean_and_spread).collect()


def test_texts_pass_by(runner: Runner) -> None:
    legs = [Leg("a", 0.0, 0.0, 1.0, 1.0), Leg("ß😀", 50.0, 8.0, 48.0, 2.0)]
    program: Callable[[Any], Any] = lambda s: s.map(lambda leg: (leg.name, haversine(leg)))  # noqa: E731
    assert runner.run(program, legs) == [(leg.name, haversine(leg)) for leg in legs]
    assert forms(program(mo.StreamContext(engine="reference").stream_iter(legs))) == ["kernel"]
