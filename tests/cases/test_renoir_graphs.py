"""What Renoir gives where several streams meet, or one is read several times: cases of renoir.jsonl by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.cases.test_renoir import CASES, check, in_any_order, parameters, plain, spread

DECIDED_OTHERWISE = {
    "broadcast_sum": "no result depends on the number of replicas: broadcast() is a hint for joins",
    "cache_replay": "what is cached is read again in the same context, not in a new one",
    "cache_many_to_many": "as cache_replay",
    "cache_read_before_run": "there is no handle to read too early: a cached stream that is read is computed",
    "cache_doc": "cache() gives one stream, which is both the handle and the live copy",
    "merge_watermarks": "bounded input is all there and has no watermarks; the elements keep their timestamps",
}
"""Where the figures differ from the case's, or the program does."""


@pytest.fixture(params=["reference", pytest.param("bounded", marks=pytest.mark.jvm)])
def ctx(request: pytest.FixtureRequest, make_context: Any) -> mo.StreamContext:
    return make_context(request.param)  # type: ignore[no-any-return]


class Event(NamedTuple):
    v: int
    ts: int


def sides(ctx: mo.StreamContext, name: str) -> tuple[Any, Any]:
    given = CASES[name]["input"]
    return ctx.stream_iter(spread(given["left"])), ctx.stream_iter(spread(given["right"]))


def timed_sides(ctx: mo.StreamContext, name: str) -> tuple[Any, Any]:
    given = CASES[name]["input"]
    streams = (ctx.stream_iter([Event(e["v"], e["ts"]) for e in given[side]]) for side in ("left", "right"))
    left, right = (stream.add_timestamps(lambda event: event.ts) for stream in streams)
    return left, right


def both_ways(*names: str) -> pytest.MarkDecorator:
    """Each case with the source of its functions known, and without it."""
    return pytest.mark.parametrize(
        ("name", "with_source"), [(name, known) for name in names for known in (True, False)]
    )


# -- combine -----------------------------------------------------------------------------------------------------------


@both_ways("route_first_match")
def test_route(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    case = CASES[name]
    routes = case["params"]["routes"]
    predicates = [parameters_of(text, f"<{name}.{place}>", with_source) for place, text in enumerate(routes)]
    streams = ctx.stream_iter(case["input"]).route(*predicates)
    taken = [stream.collect() for stream in streams]
    assert {str(place): elements for place, elements in enumerate(taken)} == {
        place: elements for place, elements in case["expected"].items() if place != "dropped"
    }
    assert set(case["input"]) - {n for elements in taken for n in elements} == set(case["expected"]["dropped"])


def parameters_of(text: str, file: str, with_source: bool) -> Callable[..., Any]:
    from tests.cases.functions import function

    return function(text, file if with_source else None)


def test_merge(ctx: mo.StreamContext) -> None:
    left, right = sides(ctx, "merge_disjoint")
    check("merge_disjoint", left.merge(right).collect())


def test_merge_with_timestamps(ctx: mo.StreamContext) -> None:
    left, right = timed_sides(ctx, "merge_watermarks")
    merged = left.merge(right).reorder().collect()
    assert len(merged) == CASES["merge_watermarks"]["expected"]["n_elements"]
    assert [event.ts for event in merged] == sorted(event.ts for event in merged)


def test_zip_of_unequal_lengths(ctx: mo.StreamContext) -> None:
    left, right = sides(ctx, "zip_unequal_doc")
    check("zip_unequal_doc", left.zip(right).collect())
    left, right = sides(ctx, "zip_unequal_shuffled")
    pairs = left.shuffle().zip(right.shuffle()).collect()
    expected = CASES["zip_unequal_shuffled"]["expected"]
    assert len(pairs) == expected["n"]
    assert sorted(letter for _, letter in pairs) == expected["right_multiset"]


def test_zip_with_timestamps(ctx: mo.StreamContext) -> None:
    left, right = timed_sides(ctx, "zip_timestamps")
    zipped = left.zip(right)
    later = ctx.stream_iter([6, 8]).add_timestamps(lambda n: n)
    (expected,) = CASES["zip_timestamps"]["expected"]
    pairs = zipped.map(lambda pair: (pair[0].v, pair[1].v))
    assert plain(pairs.collect()) == [expected["v"]]
    order = pairs.map(lambda pair: 0).merge(later).reorder().collect()
    assert order == [6, 0, 8], "the pair has a timestamp between 6 and 8, which is the later of the two"
    with pytest.raises(mo.PlanError, match="zip cannot combine elements with timestamps and elements without"):
        left.zip(right.drop_timestamps())


# -- partition ---------------------------------------------------------------------------------------------------------


@both_ways("broadcast_sum")
def test_broadcast(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    add = parameters(name, with_source)["f"]
    numbers = ctx.stream_iter(spread(CASES[name]["input"]))
    assert name in DECIDED_OTHERWISE
    assert numbers.shuffle().broadcast().reduce(add).collect() == [4950]


@both_ways("cache_replay", "cache_many_to_many")
def test_cache(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    params = parameters(name, with_source)
    numbers = ctx.stream_iter(spread(CASES[name]["input"]))
    if name == "cache_many_to_many":
        kept = numbers.shuffle().map(params["before_cache"]).cache().cache()
        kept.collect()
        check(name, kept.shuffle().map(params["after_cache"]).collect())
    else:
        kept = numbers.map(params["before_cache"]).cache()
        kept.collect()
        check(name, kept.map(params["after_cache"]).collect())


def test_a_cached_stream_goes_on(ctx: mo.StreamContext) -> None:
    params = parameters("cache_doc", True)
    kept = ctx.stream_iter(CASES["cache_doc"]["input"]).filter(params["p1"]).cache()
    check("cache_doc", kept.filter(params["p2"]).collect())


def test_a_cached_stream_is_never_read_too_early(ctx: mo.StreamContext) -> None:
    assert "cache_read_before_run" in DECIDED_OTHERWISE
    numbers = CASES["cache_read_before_run"]["input"]
    assert ctx.stream_iter(numbers).cache().collect() == numbers


# -- join --------------------------------------------------------------------------------------------------------------

SHORTCUTS = ("join_shortcut", "left_join_shortcut", "outer_join_shortcut")
STRATEGIES = (
    "join_hash_sort_merge_left",
    "join_hash_hash_outer1",
    "join_hash_sort_merge_outer1",
    "join_hash_sort_merge_outer2",
    "join_hash_hash_inner_big",
    "join_hash_sort_merge_inner_big",
)


@both_ways(*SHORTCUTS, *STRATEGIES)
def test_join(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    params = parameters(name, with_source)
    left, right = sides(ctx, name)
    keys = params["left_key"], params["right_key"]
    if name in SHORTCUTS:
        joined = getattr(left, name.removesuffix("_shortcut"))(right, *keys)
    else:
        assert params["ship"] == "hash"
        shipped = left.join_with(right, *keys).ship_hash()
        joined = getattr(getattr(shipped, f"local_{params['local']}")(), params["variant"])()
    result, expected = joined.collect(), CASES[name]["expected"]
    if isinstance(expected, dict):
        sums = [sum(pair[side] for _, pair in result) for side in (0, 1)]
        assert {"count": len(result), "sum_left": sums[0], "sum_right": sums[1]} == expected
    else:
        assert in_any_order(result) == in_any_order(expected)


@both_ways("join_doc", "left_join_doc")
def test_join_and_drop_key(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    params = parameters(name, with_source)
    left, right = sides(ctx, name)
    join = getattr(left, name.removesuffix("_doc"))
    check(name, join(right, params["left_key"], params["right_key"]).drop_key().collect())


def test_join_of_elements_with_timestamps() -> None:
    left, right = timed_sides(mo.StreamContext(engine="reference"), "join_on_timestamped_stream")
    assert CASES["join_on_timestamped_stream"]["expected"] == {"error": True}
    with pytest.raises(mo.PlanError, match="join would lose the timestamps"):
        left.join(right, lambda event: event.v, lambda event: event.v)


@both_ways("interval_join_keyed")
def test_interval_join(name: str, with_source: bool, ctx: mo.StreamContext) -> None:
    params = parameters(name, with_source)
    left, right = (
        # without its source the result type of the function is unknown
        stream.add_timestamps(params["ts"], returns=int).group_by(params["key"])
        for stream in sides(ctx, name)
    )
    check(name, left.interval_join(right, params["lower"], params["upper"]).collect())
