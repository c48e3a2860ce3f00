"""merge, zip, split, split_by, route: on every engine they can run on."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any, NamedTuple

import pytest

import morisot as mo
from tests.operators.engines import Runner


class Click(NamedTuple):
    at: int
    page: str


# -- merge -------------------------------------------------------------------------------------------------------------


def test_merge_gives_the_elements_of_all(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        return stream.filter(lambda n: n < 3).merge(stream.filter(lambda n: n > 5), stream.map(lambda n: n * 10))

    assert sorted(runner.run(program, range(8))) == [0, 0, 1, 2, 6, 7, 10, 20, 30, 40, 50, 60, 70]


def test_merge_keeps_the_order_of_its_streams(ctx: mo.StreamContext) -> None:
    first, second = ctx.stream_iter(range(5)), ctx.stream_par_iter(range(10, 20))
    merged = second.merge(first, second)
    expected = [*range(10, 20), *range(5), *range(10, 20)]
    assert merged.collect() == expected
    assert merged.fold("", lambda text, n: f"{text},{n}").collect() == ["".join(f",{n}" for n in expected)]


def test_merge_after_operators_that_move_elements_keeps_the_order(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([5, 3, 3, 9, 5, 1])
    backwards = ctx.stream_iter([1, 2, 3]).sorted_by(lambda n: -n)
    counted = numbers.group_by_count(lambda n: n).unkey().map(lambda pair: pair[0] * 10 + pair[1])
    merged = numbers.unique().merge(backwards, counted, numbers.unique())
    assert merged.fold(list[int](), lambda seen, n: [*seen, n]).collect() == [
        [5, 3, 9, 1, 3, 2, 1, 52, 32, 91, 11, 5, 3, 9, 1],
    ]


def test_merge_of_keyed_streams(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[int, int]:
        keyed = stream.key_by(lambda n: n % 2)
        return keyed.filter(lambda k, n: n > 1).merge(keyed.map(lambda k, n: -n))

    assert sorted(runner.run(program, range(4))) == [(0, -2), (0, 0), (0, 2), (1, -3), (1, -1), (1, 3)]


def test_merge_with_none_and_with_objects(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1, 2])
    maybe = ctx.stream_iter([None, 3])
    pairs = ctx.stream_iter([(1, "a")])
    odd_pairs: mo.Stream[Any] = ctx.stream_iter([(None, "b"), (2, "c")])
    anything: mo.Stream[Any] = ctx.stream_iter([{1, 2}, "x"])
    assert numbers.merge(maybe).collect() == [1, 2, None, 3]
    assert str(numbers.merge(maybe).type) == "int | None"
    assert pairs.merge(odd_pairs).collect() == [(1, "a"), (None, "b"), (2, "c")]
    assert pairs.merge(ctx.stream_iter([None, (5, "z")])).collect() == [(1, "a"), None, (5, "z")]
    assert numbers.merge(anything).collect() == [1, 2, {1, 2}, "x"]
    assert pairs.merge(anything, maybe).collect() == [(1, "a"), {1, 2}, "x", None, 3]  # type: ignore[arg-type]
    keyed = pairs.key_by(lambda pair: pair[0]).merge(anything.key_by(str))  # type: ignore[arg-type]
    assert keyed.collect() == [(1, (1, "a")), ("{1, 2}", {1, 2}), ("x", "x")]


def test_merge_of_records(ctx: mo.StreamContext) -> None:
    clicks = ctx.stream_iter([Click(1, "a")])
    assert clicks.merge(ctx.stream_iter([Click(2, "b")])).map(lambda c: c.page).collect() == ["a", "b"]
    assert clicks.merge(ctx.stream_iter([None, Click(3, "c")])).collect() == [Click(1, "a"), None, Click(3, "c")]


def test_merge_with_an_empty_stream(ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_iter([1])
    assert numbers.filter(lambda n: n > 1).merge(numbers).collect() == [1]


def test_merge_keeps_timestamps(ctx: mo.StreamContext) -> None:
    late = ctx.stream_iter([Click(30, "c"), Click(10, "a")]).add_timestamps(lambda c: c.at)
    early = ctx.stream_iter([Click(20, "b"), Click(10, "aa")]).add_timestamps(lambda c: c.at)
    assert late.merge(early).reorder().map(lambda c: c.page).collect() == ["a", "aa", "b", "c"]


# -- zip ---------------------------------------------------------------------------------------------------------------


def test_zip_pairs_by_place(ctx: mo.StreamContext) -> None:
    numbers, letters = ctx.stream_par_iter(range(1000)), ctx.stream_iter([chr(97 + n % 26) for n in range(990)])
    assert numbers.zip(letters).collect() == [(n, chr(97 + n % 26)) for n in range(990)]
    assert letters.zip(numbers).collect() == [(chr(97 + n % 26), n) for n in range(990)]


def test_zip_after_operators_that_drop_and_move(ctx: mo.StreamContext) -> None:
    odd = ctx.stream_par_iter(range(100)).filter(lambda n: n % 7 == 3)
    down = ctx.stream_par_iter(range(50)).sorted_by(lambda n: -n)
    pairs = odd.zip(down)
    expected = list(zip(range(3, 100, 7), range(49, -1, -1), strict=False))
    assert pairs.collect() == expected
    assert pairs.rich_map(0, lambda total, pair: (total + pair[0], total)).collect() == [
        sum(a for a, _ in expected[:place]) for place in range(len(expected))
    ]


def test_zip_with_itself_and_with_an_empty_stream(ctx: mo.StreamContext) -> None:
    pairs = ctx.stream_iter([("a", 1), ("b", 2)])
    assert pairs.zip(pairs).collect() == [(("a", 1), ("a", 1)), (("b", 2), ("b", 2))]
    assert pairs.zip(pairs.filter(lambda pair: pair[1] > 5)).collect() == []


def test_zip_of_objects_and_products(ctx: mo.StreamContext) -> None:
    sets, clicks = ctx.stream_iter([{1}, {2}]), ctx.stream_iter([Click(1, "a"), Click(2, "b")])
    assert sets.zip(clicks).map(lambda pair: (len(pair[0]), pair[1].page)).collect() == [(1, "a"), (1, "b")]


def test_zip_of_streams_that_come_in_pieces(runner: Runner) -> None:
    def program(numbers: Any, texts: Any) -> Any:
        return numbers.map(lambda n: (n, str(n))).zip(texts.filter(lambda text: text != "skip"))

    texts = ["a", "skip", None, frozenset({1}), "skip", "d", "e", "f"]
    expected = [((1, "1"), "a"), ((2, "2"), None), ((3, "3"), frozenset({1})), ((4, "4"), "d"), ((5, "5"), "e")]
    assert runner.run(program, [1, 2, 3, 4, 5], texts) == expected


@pytest.mark.partitions
def test_merge_of_a_stream_that_has_been_put_in_order(runner: Runner) -> None:
    def program(left: Any, right: Any) -> Any:
        return left.rich_map(0, lambda total, n: (total + n, total + n)).merge(right)

    assert sorted(runner.run(program, [1, 2, 3], [10, 20])) == [1, 3, 6, 10, 20]


def test_zip_has_the_later_timestamp(ctx: mo.StreamContext) -> None:
    left = ctx.stream_iter([1, 40, 20]).add_timestamps(lambda n: n)
    right = ctx.stream_iter([30, 4, 25]).add_timestamps(lambda n: n)
    assert left.zip(right).reorder().collect() == [(20, 25), (1, 30), (40, 4)]


# -- split, split_by, route --------------------------------------------------------------------------------------------


def test_split_gives_everybody_everything(ctx: mo.StreamContext) -> None:
    first, second, third = ctx.stream_iter([1, 2]).split(3)
    assert (first.collect(), second.map(lambda n: -n).collect(), third.count().collect()) == ([1, 2], [-1, -2], [2])
    keyed, _ = ctx.stream_iter([1, 2]).key_by(lambda n: n).split(2)
    assert keyed.collect() == [(1, 1), (2, 2)]


def test_split_by_one_branch(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        low, high = stream.split_by(lambda n: n // 5, 2)
        return low.map(lambda n: -n).merge(high)

    assert sorted(runner.run(program, range(10))) == [-4, -3, -2, -1, 0, 5, 6, 7, 8, 9]


def test_split_by_a_condition(ctx: mo.StreamContext) -> None:
    small, large = ctx.stream_iter([1, 9, 2]).split_by(lambda n: n > 5, 2)
    assert (small.collect(), large.collect()) == ([1, 2], [9])


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda n: [0, 1] if n % 3 == 0 else [1], id="lists"),
        pytest.param(lambda n: {1, 0} if n % 3 == 0 else {1}, id="sets"),
        pytest.param(lambda n: (1, 0, 1) if n % 3 == 0 else 1, id="mixed"),
        pytest.param(lambda n: range(2) if n % 3 == 0 else range(1, 2), id="ranges"),
    ],
)
def test_split_by_several_branches(function: Any, runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        some, all_of_them, none = stream.split_by(function, 3)
        return some.map(lambda n: -n).merge(all_of_them, none)

    assert sorted(runner.run(program, [3, 4, 5, 6])) == [-6, -3, 3, 4, 5, 6]


def test_split_by_a_tuple_of_branches(ctx: mo.StreamContext) -> None:
    streams = ctx.stream_iter([0, 1, 2]).split_by(lambda n: (n, 2), 3)
    assert [stream.collect() for stream in streams] == [[0], [1], [0, 1, 2]]


def test_split_by_more_branches_than_bits(ctx: mo.StreamContext) -> None:
    streams = ctx.stream_iter([0, 1, 66]).split_by(lambda n: [n, 69], 70)
    assert [streams[place].collect() for place in (0, 66, 69)] == [[0], [66], [0, 1, 66]]


def test_split_by_on_a_keyed_stream(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[int, int]:
        keyed = stream.key_by(lambda n: n % 2)
        first, second = keyed.split_by(lambda k, n: [k, 1] if n > 2 else [k], 2)
        return first.map(lambda k, n: -n).merge(second)

    assert sorted(runner.run(program, range(5))) == [(0, -4), (0, -2), (0, 0), (0, 4), (1, 1), (1, 3)]


def test_split_by_in_a_stage(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        low, high = stream.map(lambda n: math.comb(n, 2), returns=int).split_by(lambda n: math.isqrt(n) > 2, 2)
        return low.map(lambda n: -n).filter(lambda n: hash(n) is not None).merge(high)

    assert sorted(runner.run(program, range(8))) == [-6, -3, -1, 0, 0, 10, 15, 21]


@pytest.mark.parametrize("function", [lambda n: n, lambda n: [n], lambda n: (n, 0), lambda n: {n}, lambda n: -n])
def test_split_by_a_branch_that_is_not_there(function: Any, ctx: mo.StreamContext) -> None:
    first, _ = ctx.stream_iter([0, 1, 2]).split_by(function, 2)
    with pytest.raises(mo.ElementError, match=r"split_by at .*there is no branch -?[12]: they have the numbers 0 to 1"):
        first.collect()


def test_split_by_what_names_no_branch(ctx: mo.StreamContext) -> None:
    first, _ = ctx.stream_iter([0]).split_by(lambda n: [None][n], 2)
    with pytest.raises(mo.ElementError, match=r"takes the number of a branch or several of them, not None"):
        first.collect()


def test_route_takes_the_first_that_is_true(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        small, even = stream.route(lambda n: n < 5, lambda n: n % 2 == 0)
        return small.map(lambda n: -n).merge(even)

    assert sorted(runner.run(program, range(10))) == [-4, -3, -2, -1, 0, 6, 8]


def test_route_asks_no_further_than_the_first(ctx: mo.StreamContext) -> None:
    zero, large = ctx.stream_iter([0, 1, 20]).route(lambda n: n == 0, lambda n: 10 // n < 1)
    assert (zero.collect(), large.collect()) == ([0], [20])


def test_route_by_truth_of_objects(runner: Runner) -> None:
    def program(stream: mo.Stream[set[int]]) -> mo.Stream[int]:
        full, empty = stream.route(lambda e: e, lambda e: len(e) == 0)
        return full.map(lambda e: sum(e), returns=int).merge(empty.map(lambda e: -1, returns=int))

    assert sorted(runner.run(program, [{1}, set(), {2, 3}])) == [-1, 1, 5]


def test_route_in_a_stage_and_keyed(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.KeyedStream[int, int]:
        keyed = stream.key_by(lambda n: n % 2)
        odd, large = keyed.route(lambda k, n: math.isqrt(k) == 1, lambda k, n: n > 2)
        return odd.map(lambda k, n: -n).merge(large)

    assert sorted(runner.run(program, range(6))) == [(0, 4), (1, -5), (1, -3), (1, -1)]


def test_route_by_functions_with_shared_values(ctx: mo.StreamContext) -> None:
    texts = ctx.stream_iter(["a b c", "a", "", "x y"])

    def long(text: str) -> bool:
        words = text.strip().lower().split()
        return len(words) > 2 or words == ["x"]

    def short(text: str) -> bool:
        words = text.strip().upper().split()
        return len(words) == 1 or words == ["Y"]

    several, one = texts.route(long, short)
    assert (several.collect(), one.collect()) == (["a b c"], ["a"])


def test_a_predicate_that_fails(ctx: mo.StreamContext) -> None:
    _, second = ctx.stream_iter([1, 0]).route(lambda n: n > 5, lambda n: 1 // n > 0)
    with pytest.raises(mo.ElementError, match=r"route at .* failed on the element 0: ZeroDivisionError"):
        second.collect()


def test_branches_keep_timestamps(ctx: mo.StreamContext) -> None:
    low, high = ctx.stream_iter([30, 4, 25, 1]).add_timestamps(lambda n: n).split_by(lambda n: n > 10, 2)
    assert (low.reorder().collect(), high.reorder().collect()) == ([1, 4], [25, 30])


def test_branches_keep_the_order(ctx: mo.StreamContext) -> None:
    even, odd = ctx.stream_par_iter(range(20)).split_by(lambda n: n % 2, 2)
    assert even.fold("", lambda text, n: f"{text}{n}").collect() == ["".join(map(str, range(0, 20, 2)))]
    assert odd.merge(even).collect() == [*range(1, 20, 2), *range(0, 20, 2)]


# -- one computation for several readers -------------------------------------------------------------------------------


def counting(file: Any) -> Any:
    """A function that leaves a line behind each time it is called, in whatever process."""

    def note(n: int) -> None:
        with open(file, "a") as log:
            log.write(f"{n}\n")

    return note


def test_branches_share_one_computation(ctx: mo.StreamContext, tmp_path: Any) -> None:
    seen = tmp_path / "seen"
    low, high = ctx.stream_iter(range(6)).inspect(counting(seen)).split_by(lambda n: n // 3, 2)
    results = [low.collect_vec(), high.map(lambda n: -n).collect_vec()]
    ctx.execute()
    assert [result.get() for result in results] == [[0, 1, 2], [-3, -4, -5]]
    assert sorted(map(int, seen.read_text().split())) == list(range(6))


def test_a_diamond_is_computed_once(ctx: mo.StreamContext, tmp_path: Any) -> None:
    seen = tmp_path / "seen"
    numbers = ctx.stream_iter(range(4)).inspect(counting(seen))
    assert numbers.map(lambda n: -n).merge(numbers).collect() == [0, -1, -2, -3, 0, 1, 2, 3]
    assert len(seen.read_text().split()) == 4


@pytest.mark.jvm
def test_what_was_kept_is_released(spark_ctx: mo.StreamContext) -> None:
    spark_ctx.spark.catalog.clearCache()
    cache = spark_ctx.spark._jsparkSession.sharedState().cacheManager()
    numbers = spark_ctx.stream_iter(range(4)).map(lambda n: math.comb(n, 2), returns=int)
    both = numbers.merge(numbers)
    assert "InMemory" in spark_ctx.engine.spark_plan(both._node)
    assert cache.isEmpty()
    both.collect()
    assert cache.isEmpty()
    both.to_dataframe().collect()
    assert cache.isEmpty()


@pytest.mark.jvm
def test_branches_are_filters_in_sparks_plan(spark_ctx: mo.StreamContext) -> None:
    first, second = spark_ctx.stream_iter(range(6)).route(lambda n: n < 2, lambda n: n % 2 == 0)
    plan = spark_ctx.engine.spark_plan(first.merge(second)._node).split("== Physical Plan ==")[1]
    assert not re.search("(?i)arrow|python|exchange", plan)


# -- what is refused ---------------------------------------------------------------------------------------------------

CTX = mo.StreamContext(engine="reference")
NUMBERS = CTX.stream_iter([1])
TIMED = NUMBERS.add_timestamps(lambda n: n)
DATED = CTX.stream_iter([datetime.datetime(2024, 1, 1)]).add_timestamps(lambda t: t)


@pytest.mark.parametrize(
    ("program", "message", "advice"),
    [
        (lambda: NUMBERS.merge([1, 2]), r"merge takes another stream, not \[1, 2\]", "stream_iter"),  # type: ignore[call-overload]
        (
            lambda: NUMBERS.merge(mo.StreamContext(engine="reference").stream_iter([1])),
            "merge takes streams of one context, and these have two",
            "the same StreamContext",
        ),
        (
            lambda: NUMBERS.merge(CTX.stream_iter(["a"])),  # type: ignore[list-item]
            "merge cannot combine elements of the types int and str",
            "map",
        ),
        (lambda: NUMBERS.merge(CTX.stream_iter([1.5])), "the types int and float", "one type with map"),  # type: ignore[list-item]
        (lambda: NUMBERS.merge(NUMBERS.key_by(lambda n: n)), "this stream has no keys, the other has some", "unkey"),  # type: ignore[call-overload]
        (lambda: NUMBERS.key_by(lambda n: n).merge(NUMBERS), "this stream has keys, the other has none", "key_by"),  # type: ignore[call-overload]
        (lambda: NUMBERS.merge(TIMED), "elements with timestamps and elements without", "add_timestamps"),
        (lambda: TIMED.merge(DATED), "timestamps that are int with timestamps that are datetime", "the same kind"),  # type: ignore[arg-type]
        (lambda: TIMED.zip(NUMBERS), "zip cannot combine elements with timestamps", "drop_timestamps"),
        (lambda: NUMBERS.zip(NUMBERS.key_by(lambda n: n)), "zip: this stream has no keys, the other has some", "unkey"),  # type: ignore[arg-type]
        (lambda: NUMBERS.split(0), "split cannot make 0 streams", "from 1 on"),
        (lambda: NUMBERS.split("two"), "split cannot make 'two' streams", "from 1 on"),  # type: ignore[arg-type]
        (lambda: NUMBERS.split_by(lambda n: n, 0), "split_by cannot make 0 streams", "from 1 on"),
        (lambda: NUMBERS.split_by(3, 2), "split_by needs a function, not 3", "a lambda or a def"),  # type: ignore[arg-type]
        (lambda: NUMBERS.split_by(lambda a, b: a, 2), r"given to split_by is called with one argument", "the element"),  # type: ignore[arg-type, misc]
        (lambda: NUMBERS.split_by(lambda n: str(n), 2), "of split_by returns str; it must return the number", "int"),
        (lambda: NUMBERS.route(), "route needs a predicate for each of its branches", "at least one"),
        (lambda: NUMBERS.route(lambda n: n > 1, "rest"), "route needs a function, not 'rest'", "a lambda or a def"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_is_refused_with_its_line(program: Any, message: str, advice: str) -> None:
    with pytest.raises(mo.PlanError, match=message) as caught:
        program()
    assert "test_combine.py:" in str(caught.value)
    assert advice in str(caught.value)
