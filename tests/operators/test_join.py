"""Joins by key and by time, on the reference engine and on Spark."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import morisot as mo
from morisot.types.element import INT, STR, Keyed
from tests.operators.engines import Runner

NAN = math.nan


class City(NamedTuple):
    name: str
    country: str | None


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int


def in_any_order(elements: list[Any]) -> list[Any]:
    return sorted(elements, key=repr)


def shown(elements: list[Any]) -> list[str]:
    """The elements in any order, as text: one NaN is not equal to another."""
    return sorted(map(repr, elements))


VARIANTS: dict[str, list[Any]] = {
    "join": [(1, ("a", 1)), (1, ("a", 11)), (2, ("b", 2)), (1, ("c", 1)), (1, ("c", 11))],
    "left_join": [(1, ("a", 1)), (1, ("a", 11)), (2, ("b", 2)), (1, ("c", 1)), (1, ("c", 11)), (5, ("d", None))],
    "outer_join": [
        (1, ("a", 1)),
        (1, ("a", 11)),
        (2, ("b", 2)),
        (1, ("c", 1)),
        (1, ("c", 11)),
        (5, ("d", None)),
        (3, (None, 3)),
        (4, (None, 14)),
    ],
}
LEFT = [("a", 1), ("b", 2), ("c", 1), ("d", 5)]
RIGHT = [3, 1, 2, 11, 14]


def letters_and_numbers(ctx: mo.StreamContext) -> tuple[Any, Any]:
    left = ctx.stream_iter(LEFT).key_by(lambda pair: pair[1]).map(lambda k, pair: pair[0])
    return left, ctx.stream_iter(RIGHT).key_by(lambda n: n % 10)


@pytest.mark.partitions
@pytest.mark.parametrize("variant", VARIANTS)
def test_join_of_keyed_streams(variant: str, ctx: mo.StreamContext) -> None:
    left, right = letters_and_numbers(ctx)
    joined = getattr(left, variant)(right)
    assert in_any_order(joined.collect()) == in_any_order(VARIANTS[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_join_of_plain_streams_by_key_functions(variant: str, ctx: mo.StreamContext) -> None:
    left, right = ctx.stream_iter(LEFT), ctx.stream_iter(RIGHT)
    joined = getattr(left, variant)(right, lambda pair: pair[1], lambda n: n % 10)
    expected = [(key, (one and (one, key), other)) for key, (one, other) in VARIANTS[variant]]
    assert in_any_order(joined.collect()) == in_any_order(expected)


@pytest.mark.partitions
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_a_join_is_kept_for_those_who_need_it(variant: str, ctx: mo.StreamContext) -> None:
    left, right = letters_and_numbers(ctx)
    joined = getattr(left, variant)(right)
    assert joined.unkey().fold([], lambda seen, pair: [*seen, pair]).collect() == [VARIANTS[variant]]


def test_the_type_of_a_join(ctx: mo.StreamContext) -> None:
    left, right = letters_and_numbers(ctx)
    assert str(left.join(right).type) == "int → tuple[str, int]"
    assert str(left.left_join(right).type) == "int → tuple[str, int | None]"
    assert str(left.outer_join(right).type) == "int → tuple[str | None, int | None]"


COMPARED = (
    "float",
    "str",
    "optional float",
    "tuple with none",
    "record and tuple",
    "int and float",
    "objects",
    "datetime",
)


@pytest.mark.bounded_thorough(kept=COMPARED)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param([1, 2, 2, 3], [2, 3, 4], id="int"),
        pytest.param([1.5, 0.0, NAN, -0.0], [-0.0, NAN, 2.5], id="float"),
        pytest.param(["a", "ß", ""], ["", "a", "b"], id="str"),
        pytest.param([b"a", b""], [b"a"], id="bytes"),
        pytest.param([True, False], [True, True], id="bool"),
        pytest.param([None, 1, None], [None, 2, 1], id="optional"),
        pytest.param([None, NAN, 1.0], [NAN, None, 2.0], id="optional float"),
        pytest.param([1, 2], [None, 2], id="optional right"),
        pytest.param([None, 2], [1, 2], id="optional left"),
        pytest.param([(1, "a"), (1, "b")], [(1, "a"), (2, "b")], id="tuple"),
        pytest.param([(1, None), (2, "b")], [(1, None), (2, None)], id="tuple with none"),
        pytest.param([(1, "a"), None], [None, (1, "a"), (2, "a")], id="optional tuple"),
        pytest.param([City("Rome", "it"), City("Bern", None)], [City("Bern", None)], id="record"),
        pytest.param([City("Rome", "it")], [("Rome", "it"), ("Bern", "ch")], id="record and tuple"),
        pytest.param([Point(1, 2), Point(3, 4)], [Point(3, 4), Point(2, 1)], id="dataclass"),
        pytest.param([1, 2, 2**53 + 1], [1.0, 2.5, float(2**53)], id="int and float"),
        pytest.param([0, 1, 2], [True, False], id="int and bool"),
        pytest.param([1, "a", None], [1.0, "a", None, (1,)], id="objects"),
        pytest.param([frozenset({1, 2})], [frozenset({2, 1}), 5], id="frozensets"),
        pytest.param([datetime.date(2024, 1, 1)], [datetime.date(2024, 1, 1)], id="date"),
        pytest.param([datetime.datetime(2024, 1, 1, 5)], [datetime.datetime(2024, 1, 1, 5)], id="datetime"),
    ],
)
def test_keys_are_equal_as_in_python(left: list[Any], right: list[Any], ctx: mo.StreamContext) -> None:
    def same(a: Any, b: Any) -> bool:
        return bool(a == b or (a != a and b != b))

    one, other = ctx.stream_iter(list(enumerate(left))), ctx.stream_iter(list(enumerate(right)))
    joined = one.outer_join(other, lambda pair: pair[1], lambda pair: pair[1]).map(
        lambda key, pair: (None if pair[0] is None else pair[0][0], None if pair[1] is None else pair[1][0])
    )
    pairs: list[Any] = [(key, (a, b)) for a, key in enumerate(left) for b, each in enumerate(right) if same(key, each)]
    pairs += [(key, (a, None)) for a, key in enumerate(left) if not any(same(key, each) for each in right)]
    pairs += [(key, (None, b)) for b, key in enumerate(right) if not any(same(key, each) for each in left)]
    assert shown(joined.collect()) == shown(pairs)
    inner = one.join(other, lambda pair: pair[1], lambda pair: pair[1]).map(lambda k, p: (p[0][0], p[1][0]))
    assert shown(inner.collect()) == shown([pair for pair in pairs if None not in pair[1]])


@pytest.mark.partitions
def test_missing_sides_of_every_shape(ctx: mo.StreamContext) -> None:
    ones = ctx.stream_iter([1, 2]).key_by(lambda n: n)
    for values in (["a"], [("a", 1)], [City("Rome", None)], [{1, 2}], [[1, 2]], [None, "x"], [("a", {1})], [{"k": 1}]):
        others = ctx.stream_iter(values).key_by(lambda value: 2)
        expected = [(1, (1, None)), *((2, (2, value)) for value in values)]
        assert in_any_order(ones.left_join(others).collect()) == in_any_order(expected)
        turned = [(key, (right, left)) for key, (left, right) in expected]
        assert in_any_order(others.outer_join(ones).collect()) == in_any_order(turned)


def test_values_of_a_join_go_on(ctx: mo.StreamContext) -> None:
    cities = ctx.stream_iter([City("Rome", "it"), City("Bern", "ch"), City("Oslo", None)])
    countries = ctx.stream_iter([("it", 59), ("no", 5)])
    named = cities.left_join(countries, lambda city: city.country, lambda pair: pair[0]).drop_key()
    result = named.map(lambda pair: (pair[0].name, -1 if pair[1] is None else pair[1][1])).collect()
    assert in_any_order(result) == [("Bern", -1), ("Oslo", -1), ("Rome", 59)]


def test_a_stream_joined_with_itself(ctx: mo.StreamContext) -> None:
    edges = ctx.stream_iter([(1, 2), (2, 3), (3, 1), (2, 4)])
    paths = edges.join(edges, lambda edge: edge[1], lambda edge: edge[0]).drop_key()
    ends = paths.map(lambda pair: (pair[0][0], pair[1][1]))
    assert in_any_order(ends.collect()) == [(1, 3), (1, 4), (2, 1), (3, 2)]
    keyed = edges.key_by(lambda edge: edge[0])
    assert keyed.join(keyed).count().drop_key().reduce_assoc(lambda a, b: a + b).collect() == [6]
    triangles = ends.key_by(lambda end: end).join(edges.map(lambda e: (e[1], e[0])).key_by(lambda e: e))
    assert triangles.unkey().count().collect() == [3]


def test_join_with_an_empty_stream(ctx: mo.StreamContext) -> None:
    some = ctx.stream_iter([1]).key_by(lambda n: n)
    none = some.filter(lambda k, n: n > 5)
    assert some.join(none).collect() == []
    assert some.left_join(none).collect() == [(1, (1, None))]
    assert none.outer_join(some).collect() == [(1, (None, 1))]
    assert none.outer_join(none).collect() == []


def test_keys_in_python(ctx: mo.StreamContext) -> None:
    left, right = ctx.stream_iter(["aab", "c"]), ctx.stream_iter(["baa", "d"])
    joined = left.join(right, lambda s: "".join(sorted(s)), lambda s: "".join(sorted(s)))
    assert joined.collect() == [("aab", ("aab", "baa"))]


def test_a_key_function_that_fails(ctx: mo.StreamContext) -> None:
    left, right = ctx.stream_iter([1, 2]), ctx.stream_iter([0, 1])
    with pytest.raises(mo.ElementError, match=r"join at .*test_join.py:\d+ failed on the element 0: ZeroDivision"):
        left.join(right, lambda n: n, lambda n: 1 // n).collect()


def test_an_object_that_cannot_be_a_key(ctx: mo.StreamContext) -> None:
    things = ctx.stream_iter([1, "a"])
    with pytest.raises(mo.ElementError, match="unhashable"):
        things.join(things, lambda n: json.loads(f"[{n!r}]".replace("'", '"')), lambda n: n).collect()


# -- strategies --------------------------------------------------------------------------------------------------------

STRATEGIES = {
    ("ship_hash", "local_hash"): "ShuffledHashJoin",
    ("ship_hash", "local_sort_merge"): "SortMergeJoin",
    ("ship_broadcast_right", "local_hash"): "BroadcastHashJoin",
    ("ship_broadcast_right", "local_sort_merge"): "BroadcastHashJoin",
}


@pytest.mark.partitions
@pytest.mark.parametrize(("ship", "local"), STRATEGIES)
@pytest.mark.parametrize("variant", ["inner", "left", "outer"])
def test_a_strategy_changes_nothing_but_the_way(ship: str, local: str, variant: str, ctx: mo.StreamContext) -> None:
    left, right = letters_and_numbers(ctx)
    strategy = getattr(getattr(left.join_with(right), ship)(), local)()
    if (ship, variant) == ("ship_broadcast_right", "outer"):
        with pytest.raises(mo.PlanError, match="an outer join cannot broadcast its right side"):
            strategy.outer()
        return
    joined = getattr(strategy, variant)()
    expected = VARIANTS[{"inner": "join", "left": "left_join", "outer": "outer_join"}[variant]]
    assert in_any_order(joined.collect()) == in_any_order(expected)
    if ctx.config.engine == "spark":
        plan = ctx.engine.spark_plan(joined._node).split("== Physical Plan ==")[1]
        assert set(re.findall(r"\w+Join\b", plan)) == {STRATEGIES[ship, local]}
        assert "python" not in plan.lower()


def test_a_strategy_for_plain_streams(ctx: mo.StreamContext) -> None:
    join = ctx.stream_iter([1, 2]).join_with(ctx.stream_iter([12, 22]), lambda n: n, lambda n: n % 10)
    assert in_any_order(join.ship_hash().local_sort_merge().left().collect()) == [
        (1, (1, None)),
        (2, (2, 12)),
        (2, (2, 22)),
    ]


@pytest.mark.jvm
def test_optional_keys_are_hashed_too(spark_ctx: mo.StreamContext) -> None:
    keyed = spark_ctx.stream_iter([(None, 1), (2, 2)]).key_by(lambda pair: pair[0])
    joined = keyed.join_with(keyed).ship_hash().local_hash().inner()
    plan = spark_ctx.engine.spark_plan(joined._node).split("== Physical Plan ==")[1]
    assert "ShuffledHashJoin" in plan
    assert "NestedLoop" not in plan


# -- by time -----------------------------------------------------------------------------------------------------------


def timed(ctx: mo.StreamContext, times: list[int]) -> Any:
    return ctx.stream_iter(times).add_timestamps(lambda n: n)


@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (0, 0), (5, -2), (-3, 7), (100, 100), (0, 1)])
def test_interval_join_has_both_ends(lower: int, upper: int, ctx: mo.StreamContext) -> None:
    left, right = [7, 0, 3, -4, 3, 20], [0, 4, 1, 3, -9, 22, 5, 8, 21]
    expected = [(t, q) for t in left for q in right if t - lower <= q <= t + upper]
    joined = timed(ctx, left).interval_join(timed(ctx, right), lower, upper)
    assert in_any_order(joined.collect()) == in_any_order(expected)
    assert joined.drop_timestamps().fold([], lambda seen, pair: [*seen, pair]).collect() == (
        [expected] if expected else []
    )


def test_interval_join_within_a_key(ctx: mo.StreamContext) -> None:
    left, right = (timed(ctx, list(range(10))).group_by(lambda n: n % 2) for _ in range(2))
    expected = [(t % 2, (t, q)) for t in range(10) for q in range(10) if t - 1 <= q <= t + 2 and t % 2 == q % 2]
    assert in_any_order(left.interval_join(right, 1, 2).collect()) == in_any_order(expected)
    mixed = timed(ctx, list(range(10))).group_by(lambda n: float(n % 2))
    assert in_any_order(left.interval_join(mixed, 1, 2).collect()) == in_any_order(expected)


def test_interval_join_with_datetimes_and_durations(ctx: mo.StreamContext) -> None:
    start = datetime.datetime(2024, 1, 1)
    left = ctx.stream_iter([start + datetime.timedelta(minutes=n) for n in range(3)]).add_timestamps(lambda t: t)
    right = ctx.stream_iter([start + datetime.timedelta(seconds=n) for n in (0, 59, 61, 119)]).add_timestamps(
        lambda t: t
    )
    joined = left.interval_join(right, "1s", datetime.timedelta(seconds=1))
    seconds = joined.map(lambda pair: ((pair[0].minute), pair[1].minute * 60 + pair[1].second))
    assert in_any_order(seconds.collect()) == [(0, 0), (1, 59), (1, 61), (2, 119)]


def test_a_pair_has_the_later_timestamp(ctx: mo.StreamContext) -> None:
    joined = timed(ctx, [10, 20]).interval_join(timed(ctx, [15, 5]), 5, 5)
    assert joined.reorder().collect() == [(10, 5), (10, 15), (20, 15)]
    assert joined.map(lambda pair: pair[0] + pair[1]).reorder().collect() == [15, 25, 35]


def test_interval_join_at_the_ends_of_time(ctx: mo.StreamContext) -> None:
    ends = [-(2**63), 2**63 - 1, 0]
    joined = timed(ctx, ends).interval_join(timed(ctx, ends), 5, 5)
    assert in_any_order(joined.collect()) == in_any_order([(end, end) for end in ends])


@pytest.mark.jvm
def test_interval_join_is_no_cross_product(spark_ctx: mo.StreamContext) -> None:
    joined = timed(spark_ctx, [1, 2]).interval_join(timed(spark_ctx, [1, 2]), 1, 1)
    plan = spark_ctx.engine.spark_plan(joined._node).split("== Physical Plan ==")[1]
    assert re.search(r"(SortMerge|BroadcastHash|ShuffledHash)Join", plan)
    assert not re.search("Cartesian|NestedLoop", plan)


# -- many elements -----------------------------------------------------------------------------------------------------


@pytest.mark.jvm
def test_a_key_that_holds_half_of_the_elements(spark_ctx: mo.StreamContext) -> None:
    left = spark_ctx.stream_par_iter(range(200_000)).key_by(lambda n: n if n % 2 else 0)
    right = spark_ctx.stream_par_iter(range(1000)).key_by(lambda n: n)
    assert left.join_with(right).ship_hash().local_sort_merge().inner().drop_key().count().collect() == [100_500]


# -- by key, within a time distance ------------------------------------------------------------------------------------

SENT = [("a", 10), ("b", 20), ("a", 30), ("c", 40), (None, 50), ("b", 21)]
SEEN = [("a", 13), ("b", 16), ("a", 7), ("a", 34), ("d", 40), (None, 47), ("b", 24)]
NEAR: dict[str, list[Any]] = {
    "join": [("a", (10, 13)), ("a", (10, 7)), (None, (50, 47)), ("b", (21, 24))],
    "left_join": [("b", (20, None)), ("a", (30, None)), ("c", (40, None))],
    "outer_join": [("b", (None, 16)), ("a", (None, 34)), ("d", (None, 40))],
}
"""Within 3 of each other: what each variant gives that the one before it does not."""


def near(variant: str) -> list[Any]:
    names = list(NEAR)
    return [pair for name in names[: names.index(variant) + 1] for pair in NEAR[name]]


def timed_values(stream: Any) -> Any:
    return stream.add_timestamps(lambda pair: pair[1], delay=20).key_by(lambda pair: pair[0]).map(lambda k, p: p[1])


@pytest.mark.parametrize("variant", NEAR)
def test_join_within_a_distance_in_time(variant: str, runner: Runner) -> None:
    def program(sent: Any, seen: Any) -> Any:
        return getattr(timed_values(sent), variant)(timed_values(seen), within=3)

    assert shown(runner.run_until(1000, program, SENT, SEEN)) == shown(near(variant))


def test_interval_join_of_plain_streams_that_come_in_pieces(runner: Runner) -> None:
    def program(left: Any, right: Any) -> Any:
        return left.add_timestamps(lambda n: n, delay=9).interval_join(
            right.add_timestamps(lambda text: len(text), delay=9), lower=1, upper=2
        )

    left, right = [3, 9, 1, 5], ["aa", "bbbbb", "c", "dddddddd", "eeeeeee"]
    pairs = [(n, text) for n in left for text in right if n - 1 <= len(text) <= n + 2]
    assert shown(runner.run(program, left, right)) == shown(pairs)


def test_keys_of_two_types_meet_and_the_left_one_is_shown(runner: Runner) -> None:
    def program(left: Any, right: Any) -> Any:
        one, other = (stream.add_timestamps(lambda pair: pair[1], delay=9) for stream in (left, right))
        return one.outer_join(other, lambda pair: pair[0], lambda pair: pair[0], within=5).map(lambda k, pair: k)

    result = runner.run_until(1000, program, [(1, 3), (2, 4), (7, 5)], [(1.0, 3), (2.5, 4), (7.0, 99)])
    assert shown([key for key, _ in result]) == shown([1, 2, 7, 2.5, 7.0])


def test_what_comes_after_the_watermark_is_counted_and_left_out(unbounded_runner: Runner) -> None:
    def program(left: Any, right: Any) -> Any:
        one, other = (stream.add_timestamps(lambda n: n, delay=0) for stream in (left, right))
        return one.interval_join(other, 5, 5, late=late.append)

    late: list[tuple[int | None, int | None]] = []
    outcome = unbounded_runner.observe(program, [[10], [90], [11, 91]], [[12], [80], [79]])
    assert shown(list(outcome.results)) == shown([(10, 12)])
    assert shown(late) == shown([(11, None), (None, 79)])
    assert list(outcome.metrics["late"].values()) == [2]


def test_late_elements_of_a_join_within_come_with_their_keys(unbounded_runner: Runner) -> None:
    def program(sent: Any, seen: Any) -> Any:
        one, other = (stream.add_timestamps(lambda pair: pair[1], delay=0) for stream in (sent, seen))
        keys = (lambda pair: pair[0], lambda pair: pair[0])
        return one.outer_join(other, *keys, within=5, late=lambda key, pair: late.append((key, pair)))

    late: list[Any] = []
    sent, seen = [[("a", 10)], [("a", 90)], [("b", 10), ("a", 91)]], [[("a", 12)], [("c", 80)], [("c", 7), ("c", 82)]]
    outcome = unbounded_runner.observe(program, sent, seen)
    assert shown(list(outcome.results)) == shown([("a", (("a", 10), ("a", 12)))])
    assert shown(late) == shown([("b", (("b", 10), None)), ("c", (None, ("c", 7)))])
    assert list(outcome.metrics["late"].values()) == [2]


def test_what_waits_for_time_cannot_follow_elements_without_a_partner() -> None:
    ticks = mo.StreamContext(engine="reference").stream_rate(10).add_timestamps(lambda n: n, delay=0)
    joined = ticks.left_join(ticks, same, same, within=3)
    with pytest.raises(mo.PlanError, match=r"reorder cannot follow left_join on unbounded input.*\n.*drop_timestamps"):
        joined.map(lambda k, pair: pair[0]).reorder()
    assert ticks.join(ticks, same, same, within=3).reorder() is not None


@pytest.mark.parametrize("variant", NEAR)
def test_join_within_by_key_functions_keeps_the_later_time(variant: str, ctx: mo.StreamContext) -> None:
    sent, seen = (ctx.stream_iter(each).add_timestamps(lambda pair: pair[1]) for each in (SENT, SEEN))
    joined = getattr(sent, variant)(seen, lambda pair: pair[0], lambda pair: pair[0], within="3ms")
    by_time = [[n and n[1] for n in pair] for _, pair in joined.unkey().reorder().collect()]
    latest = [max(n for n in pair if n) for pair in by_time]
    assert latest == sorted(latest)
    assert shown(list(map(tuple, by_time))) == shown([pair for _, pair in near(variant)])


@pytest.mark.partitions
def test_the_order_of_a_join_within_is_that_of_a_join(ctx: mo.StreamContext) -> None:
    sent, seen = (timed_values(ctx.stream_iter(each)) for each in (SENT, SEEN))
    order = sent.outer_join(seen, within=3).drop_key().drop_timestamps().fold([], lambda all_, pair: [*all_, pair])
    left = [(10, 13), (10, 7), (20, None), (30, None), (40, None), (50, 47), (21, 24)]
    assert order.collect() == [[*left, (None, 16), (None, 34), (None, 40)]]


# -- what is refused ---------------------------------------------------------------------------------------------------

CTX = mo.StreamContext(engine="reference")
NUMBERS, TEXTS = CTX.stream_iter([1]), CTX.stream_iter(["a"])
KEYED = NUMBERS.key_by(lambda n: n)
TIMED = NUMBERS.add_timestamps(lambda n: n)
DATED = CTX.stream_iter([datetime.datetime(2024, 1, 1)]).add_timestamps(lambda t: t)


def same(n: Any) -> Any:
    return n


@pytest.mark.parametrize(
    ("program", "message", "advice"),
    [
        (lambda: NUMBERS.join([1], same, same), r"join takes another stream, not \[1\]", "stream_iter"),  # type: ignore[call-overload]
        (
            lambda: NUMBERS.join(mo.StreamContext(engine="reference").stream_iter([1]), same, same),
            "join takes streams of one context",
            "the same StreamContext",
        ),
        (lambda: NUMBERS.join(KEYED, same, same), "join: this stream has no keys, the other has some", "unkey"),  # type: ignore[call-overload]
        (lambda: KEYED.left_join(NUMBERS), "left_join: this stream has keys, the other has none", "key_by"),  # type: ignore[call-overload]
        (
            lambda: NUMBERS.join(NUMBERS, lambda n: [n], lambda n: n),
            r"the key of join has the type list\[int\]",
            "a tuple",
        ),
        (lambda: NUMBERS.join(NUMBERS, lambda a, b: a, same), "given to join is called with one argument", "element"),  # type: ignore[arg-type, misc]
        (lambda: NUMBERS.outer_join(NUMBERS, same, 5), "outer_join needs a function, not 5", "a lambda or a def"),  # type: ignore[call-overload]
        (lambda: NUMBERS.join(NUMBERS, same, same, late=print), "join has no timers", "within"),
        (
            lambda: TIMED.join(TIMED, same, same, within=3, late=lambda pair: None),  # type: ignore[arg-type, misc]
            "given to late of join is called with two arguments",
            "takes the key and the pair (left, None) or (None, right)",
        ),
        (
            lambda: TIMED.interval_join(TIMED, 1, 1, late=lambda key, pair: None),  # type: ignore[arg-type, misc]
            r"given to late of interval_join is called with one argument, the pair \(left, None\) or \(None, right\)",
            "takes the pair",
        ),
        (
            lambda: NUMBERS.join(TEXTS, lambda n: n, lambda s: s),
            "join: a key of type int never equals one of type str",
            "keys of one type",
        ),
        (
            lambda: NUMBERS.join(NUMBERS, lambda n: (n, n), lambda n: (n, n, n)),
            r"a key of type tuple\[int, int\] never equals one of type tuple\[int, int, int\]",
            "keys of one type",
        ),
        (lambda: KEYED.join(TEXTS.key_by(lambda s: s)), "join: a key of type int never equals", "keys of one type"),  # type: ignore[arg-type, return-value]
        (lambda: TIMED.join(TIMED, same, same), "join would lose the timestamps", "within="),
        (
            lambda: NUMBERS.join(NUMBERS, same, same, within=1),
            "join with within= needs elements with timestamps",
            "add",
        ),
        (
            lambda: TIMED.left_join(TIMED, same, same, within=-1),
            "left_join: the time distance of partners cannot be -1",
            "largest",
        ),
        (lambda: TIMED.join(TIMED, same, same, within="soon"), "join: within: 'soon' is no duration", ""),
        (
            lambda: NUMBERS.interval_join(NUMBERS, 1, 1),
            "interval_join needs elements with timestamps",
            "add_timestamps",
        ),
        (lambda: TIMED.interval_join(NUMBERS, 1, 1), "on both sides", "add_timestamps"),
        (lambda: TIMED.interval_join(DATED, 1, 1), "timestamps that are int with timestamps that are datetime", "kind"),
        (lambda: TIMED.interval_join(TIMED, 1, -2), "an interval that ends before it begins", "must not be negative"),
        (lambda: TIMED.interval_join(TIMED, "soon", 1), "interval_join: lower: 'soon' is no duration", ""),
        (
            lambda: KEYED.join_with(KEYED).ship_broadcast_right().local_hash().outer(),
            "an outer join cannot broadcast its right side",
            "ship_hash",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(program: Any, message: str, advice: str) -> None:
    with pytest.raises(mo.PlanError, match=message) as caught:
        program()
    assert "test_join.py:" in str(caught.value)
    assert advice in str(caught.value)


def test_explain_shows_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    right = NUMBERS.filter(lambda n: n > 1)
    NUMBERS.map(lambda n: n + 1).join(right, lambda n: n, lambda n: n.as_integer_ratio()[0]).explain()
    text = capsys.readouterr().out.partition("\n\n")[0]
    assert re.search(r"^join +: int → tuple\[int, int\]", text)
    assert "left key: column" in text
    assert re.search(r"right key: stage — .*as_integer_ratio", text)
    assert "├─ map" in text
    assert "└─ filter" in text
    assert text.count("stream_iter") == 2


# -- an unbounded stream and a table -----------------------------------------------------------------------------------

TABLE = [(1, "a"), (2, "b"), (1, "c"), (None, "n")]
ORDERS = [1, 2, None, 3, 1]


def table_of(stream: Any) -> Any:
    """A bounded stream beside the one of the test."""
    return stream._context.stream_iter(TABLE)


@pytest.mark.parametrize("variant", ["join", "left_join"])
def test_join_with_a_table(variant: str, runner: Runner) -> None:
    def program(orders: Any) -> Any:
        return getattr(orders, variant)(table_of(orders), lambda n: n, lambda row: row[0])

    rows = {key: [row for row in TABLE if row[0] == key] for key in ORDERS}
    missing = [] if variant == "join" else [None]
    assert shown(runner.run(program, ORDERS)) == shown([(n, (n, row)) for n in ORDERS for row in rows[n] or missing])


def test_join_of_a_table_with_a_stream(runner: Runner) -> None:
    def program(orders: Any) -> Any:
        return table_of(orders).join(orders, lambda row: row[0], lambda n: n)

    expected = [(row[0], (row, n)) for row in TABLE for n in ORDERS if n == row[0]]
    assert shown(runner.run(program, ORDERS)) == shown(expected)


@pytest.mark.partitions
def test_the_order_of_a_join_with_a_table_is_that_of_the_stream(runner: Runner) -> None:
    def program(orders: Any) -> Any:
        by_text = table_of(orders).unique_by(lambda row: row[1]).map(lambda row: (str(row[0]), row[1]))
        pairs = orders.map(str).left_join(by_text, lambda n: n, lambda row: row[0]).drop_key()
        return pairs.fold("", lambda text, pair: f"{text} {pair[0]}{pair[1][1] if pair[1] else '-'}")

    assert runner.run(program, ORDERS)[-1] == " 1a 1c 2b Nonen 3- 1a 1c"


def test_a_table_that_is_computed_with_keys_that_travel_pickled(runner: Runner) -> None:
    def program(orders: Any) -> Any:
        counts = table_of(orders).group_by_count(lambda row: frozenset({row[0]})).unkey()
        return orders.join(counts, lambda n: frozenset({n}), lambda pair: pair[0]).map(lambda k, pair: pair[1][1])

    result = runner.run(program, [1, 2, 3, 1])
    assert shown(result) == shown([(frozenset({1}), 2), (frozenset({2}), 1), (frozenset({1}), 2)])


@pytest.mark.jvm
def test_a_table_with_a_value_that_its_native_form_cannot_do(make_context: Any) -> None:
    def program(numbers: Any) -> Any:
        large = numbers._context.stream_iter([2**62, 1]).map(lambda n: n * 4 - n * 3)
        return numbers.join(large, lambda n: n, lambda n: n).keys()

    assert shown(Runner("unbounded", make_context).run(program, [1, 2, 2**62])) == shown([1, 2**62])


@pytest.mark.jvm
def test_a_table_beside_a_stream_is_computed_once(make_context: Any, tmp_path: Path) -> None:
    calls = tmp_path / "calls"

    def noted(row: tuple[int | None, str]) -> tuple[int | None, str]:
        with calls.open("a") as file:
            file.write("x")
        return row

    def program(orders: Any) -> Any:
        return orders.join(table_of(orders).map(noted), lambda n: n, lambda row: row[0]).keys()

    assert Runner("unbounded", make_context).run(program, [1, 2]) == [1, 1, 2]
    assert calls.read_text() == "x" * len(TABLE)


@pytest.mark.jvm
def test_joins_that_need_an_end_are_refused(spark_ctx: mo.StreamContext) -> None:
    ticks, table = spark_ctx.stream_rate(10), spark_ctx.stream_iter([1])
    for build, reason, advice in (
        (lambda: ticks.outer_join(table, same, same), "whether a right element has a partner", "use left_join"),
        (lambda: table.left_join(ticks, same, same), "whether a left element has a partner", "the left one"),
        (lambda: ticks.join(ticks, same, same), "each element would have to be stored", "timestamps"),
    ):
        with pytest.raises(
            mo.PlanError, match=rf"join cannot run on unbounded input: .*{reason}.*test_join.py:"
        ) as caught:
            build()
        assert advice in str(caught.value)


def test_a_function_of_both_sides(bounded_runner: Runner) -> None:
    """With a function, a join gives its results; behind a join functions take the key and both sides."""

    def joins(s: mo.Stream[Any]) -> mo.Stream[Any]:
        few = s.filter(lambda p: p[0] > 1)
        inner = s.join(few, lambda p: p[0], lambda p: p[0], lambda left, right: left[1] + right[1])
        left = s.left_join(few, lambda p: p[0], lambda p: p[0], lambda left, right: left[1] if right is None else "?")
        keyed = s.key_by(lambda p: p[0])
        outer = keyed.outer_join(few.key_by(lambda p: p[0]), lambda left, right: left == right)
        spread = keyed.join(keyed).filter(lambda key, left, right: left[1] < right[1] or key < 2)
        parts = spread.map(lambda key, left, right: f"{key}{left[1]}{right[1]}").drop_key()
        texts = [each.unkey().map(lambda p: f"{p[0]}{p[1]}") for each in (inner, left, outer)]
        return parts.merge(*texts)

    found = bounded_runner.run(joins, [(1, "a"), (2, "b"), (2, "c")])
    of_inner, of_left = ["2bb", "2bc", "2cb", "2cc"], ["1a", "2?", "2?", "2?", "2?"]
    of_outer, of_parts = ["1False", "2True", "2False", "2False", "2True"], ["1aa", "2bc"]
    assert in_any_order(found) == in_any_order([*of_inner, *of_left, *of_outer, *of_parts])


def test_functions_behind_a_join() -> None:
    ctx = mo.StreamContext(engine="reference")
    keyed = ctx.stream_iter([1, 2, 3]).key_by(lambda n: n % 2)
    pairs = keyed.join(keyed)

    def named(key: int, left: int, right: int) -> str:
        return f"{key}{left}{right}"

    assert pairs.map(named).type == Keyed(INT, STR)
    assert [record.form for record in pairs.map(named).forms()] == ["column", "column"]
    assert pairs.sorted_by(lambda key, left, right: (-key, right, left)).limit(2).collect() == [
        (1, (1, 1)),
        (1, (3, 1)),
    ]
    assert pairs.flat_map(lambda key, left, right: [left] * key).drop_key().collect() == [1, 1, 3, 3]
    assert pairs.filter_map(lambda key, left, right: key or None).count().collect() == [(1, 4)]
    opaque = pairs.map(lambda key, left, right: eval("left - right"), returns=int)
    assert opaque.drop_key().collect() == [0, -2, 0, 2, 0]
    assert opaque.forms()[-1].reason == "eval has no column form"
    seen = 0

    def count(key: int, left: int, right: int) -> None:
        nonlocal seen
        seen += left

    pairs.for_each(count)
    ctx.execute()
    assert seen == 10
    with pytest.raises(mo.PlanError, match="is called with two arguments"):
        keyed.map(eval("lambda key, left, right: key"))
    with pytest.raises(mo.PlanError, match="function given to join is called with two arguments"):
        keyed.join(keyed, eval("lambda pair: pair"))
