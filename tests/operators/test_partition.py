"""Operators that move elements or keep them: none changes a result."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.errors import Location
from morisot.plan.nodes.partition import Ordered
from morisot.worker.rowwise.stage import split_batches
from tests.operators.engines import Runner

MOVES: dict[str, Callable[[Any], Any]] = {
    "shuffle": lambda s: s.shuffle(),
    "parallelism": lambda s: s.parallelism(3),
    "parallelism of one": lambda s: s.parallelism(1),
    "broadcast": lambda s: s.broadcast(),
    "batch_mode": lambda s: s.batch_mode(mo.BatchMode.fixed(2)),
    "adaptive": lambda s: s.batch_mode(mo.BatchMode.adaptive(2, 50)),
}


@pytest.mark.parametrize("move", MOVES)
def test_a_move_changes_no_element(move: str, runner: Runner) -> None:
    result = runner.run(lambda s: MOVES[move](s.map(lambda n: n + 1)).filter(lambda n: n > 3), range(10))
    assert sorted(result) == list(range(4, 11))


@pytest.mark.parametrize("move", [*MOVES, "cache"])
def test_a_move_keeps_the_order_for_those_who_need_it(move: str, ctx: mo.StreamContext) -> None:
    numbers = ctx.stream_par_iter(range(50)).map(lambda n: n * 3 % 50)
    placed = numbers.cache() if move == "cache" else MOVES[move](numbers)
    in_order = [n * 3 % 50 for n in range(50)]
    assert placed.fold(list[int](), lambda seen, n: [*seen, n]).collect() == [in_order]
    assert placed.limit(3, offset=20).collect() == in_order[20:23]
    assert placed.map(lambda n: n + 1).zip(ctx.stream_iter(["a", "b"])).collect() == [(1, "a"), (4, "b")]


@pytest.mark.parametrize("move", MOVES)
def test_ordered_sinks_restore_the_order(move: str, ctx: mo.StreamContext, tmp_path: Path) -> None:
    moved = MOVES[move](ctx.stream_par_iter(range(50)).map(lambda n: n * 3 % 50)).map(lambda n: n + 1)
    in_order = [n * 3 % 50 + 1 for n in range(50)]
    assert moved.collect(ordered=True) == in_order
    called: list[int] = []
    vector = moved.collect_vec(ordered=True)
    moved.for_each(called.append, ordered=True)
    moved.map(str).write_text(tmp_path / "out", ordered=True)
    ctx.execute()
    assert vector.get() == called == in_order
    files = sorted(file for file in (tmp_path / "out").iterdir() if file.name.startswith("part-"))
    assert [int(line) for file in files for line in file.read_text().splitlines()] == in_order


def test_the_order_is_restored(runner: Runner) -> None:
    def program(stream: mo.Stream[int]) -> mo.Stream[int]:
        moved = stream.map(lambda n: n * 3 % 50).shuffle().map(lambda n: n + 1)
        return moved._same(Ordered(moved._node, type=moved.type, location=Location("program.py", 1)))

    assert runner.run(program, range(50)) == [n * 3 % 50 + 1 for n in range(50)]


def test_keys_in_the_order_of_their_first_elements(ctx: mo.StreamContext) -> None:
    counted = ctx.stream_iter([5, 3, 9, 3, 1, 5]).group_by_count(lambda n: n)
    assert counted.collect(ordered=True) == [(5, 2), (3, 2), (9, 1), (1, 1)]


@pytest.mark.jvm
@pytest.mark.unbounded
@pytest.mark.thorough
def test_ordered_on_unbounded_input(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        file = tmp_path / "in" / f"{number}.txt"
        file.write_text("".join(f"{number * 100 + n}\n" for n in range(100)))
        os.utime(file, (number + 1, number + 1))
    found: list[int] = []
    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        numbers = ctx.stream_file(tmp_path / "in", unbounded=True).map(lambda line: int(line))
        numbers.shuffle().map(lambda n: n + 1).for_each(found.append, ordered=True)
        job = ctx.start()
        job.catch_up()
        job.stop()
    assert found == list(range(1, 301))


def test_refused_orders(tmp_path: Path) -> None:
    class Wide(mo.Sink[int], commit="after_snapshot", parallel=True):
        pass

    ctx = mo.StreamContext(engine="reference")
    with pytest.raises(mo.PlanError, match="Wide is a parallel sink"):
        ctx.stream_iter([1]).write_to(Wide(), ordered=True)
    unbounded = ctx.stream_file(tmp_path, unbounded=True)
    with pytest.raises(mo.PlanError, match="needs a bounded stream"):
        unbounded.write_text(tmp_path / "out", ordered=True)


@pytest.mark.parametrize("move", MOVES)
def test_a_move_keeps_keys_and_timestamps(move: str, ctx: mo.StreamContext) -> None:
    timed = ctx.stream_iter([30, 10, 20]).add_timestamps(lambda n: n).key_by(lambda n: n // 20)
    assert MOVES[move](timed).reorder().collect() == [(0, 10), (1, 20), (1, 30)]


def test_a_move_between_functions_in_python(ctx: mo.StreamContext) -> None:
    for move in MOVES.values():
        moved = move(ctx.stream_iter(range(7)).map(lambda n: math.comb(n, 2), returns=int))
        assert sorted(moved.map(lambda n: hash(n) + 1, returns=int).collect()) == [1, 1, 2, 4, 7, 11, 16]


@pytest.mark.jvm
@pytest.mark.parametrize(("move", "count"), [("shuffle", 2), ("parallelism", 3), ("parallelism of one", 1)])
def test_elements_are_in_so_many_partitions(move: str, count: int, spark_ctx: mo.StreamContext) -> None:
    moved = MOVES[move](spark_ctx.stream_iter(range(300))).to_dataframe().rdd
    sizes = moved.glom().map(len).collect()
    assert len(sizes) == count
    assert min(sizes) > 200 // count, "the elements are spread about evenly"


def test_repartition_by(runner: Runner) -> None:
    result = runner.run(lambda s: s.repartition_by(lambda n: n % 3).map(lambda k, n: n * 10), range(5))
    assert sorted(result) == [(0, 0), (0, 30), (1, 10), (1, 40), (2, 20)]


def test_repartition_by_an_object(ctx: mo.StreamContext) -> None:
    placed = ctx.stream_iter(range(5)).repartition_by(lambda n: complex(n % 2, 0).real)
    assert sorted(placed.count().collect()) == [(0.0, 3), (1.0, 2)]
    assert repr(placed) == "KeyedStream[object → int]: stream_iter → repartition_by"


def test_repartition_by_keeps_the_order_for_those_who_need_it(ctx: mo.StreamContext) -> None:
    placed = ctx.stream_par_iter(range(20)).repartition_by(lambda n: n % 3)
    assert placed.drop_key().fold(list[int](), lambda seen, n: [*seen, n]).collect() == [list(range(20))]
    assert sorted(placed.fold(list[int](), lambda seen, n: [*seen, n]).collect()) == [
        (key, list(range(key, 20, 3))) for key in range(3)
    ]


@pytest.mark.jvm
@pytest.mark.parametrize("key", [lambda n: n % 5, lambda n: float(n % 5), lambda n: (n % 5, "a")])
def test_repartition_by_brings_a_key_to_one_place(key: Any, spark_ctx: mo.StreamContext) -> None:
    placed = spark_ctx.stream_par_iter(range(40)).repartition_by(key).to_dataframe()
    pairs = placed.selectExpr("hash(key) AS key", "spark_partition_id() AS partition").distinct().collect()
    assert len(pairs) == 5


@pytest.mark.jvm
def test_an_aggregate_after_repartition_by_moves_nothing_more(spark_ctx: mo.StreamContext) -> None:
    counted = spark_ctx.stream_par_iter(range(40)).repartition_by(lambda n: n % 5).count()
    plan = spark_ctx.engine.spark_plan(counted._node).split("== Physical Plan ==")[1]
    assert plan.count("Exchange") == 1


# -- broadcast, batches ------------------------------------------------------------------------------------------------


@pytest.mark.jvm
def test_a_broadcast_side_of_a_join(spark_ctx: mo.StreamContext) -> None:
    spark_ctx.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        many = spark_ctx.stream_par_iter(range(20)).key_by(lambda n: n % 4)
        few = spark_ctx.stream_iter([1, 2, 9]).broadcast().map(lambda n: n + 1).key_by(lambda n: n)

        def joins(stream: Any) -> set[str]:
            plan = spark_ctx.engine.spark_plan(stream._node).split("== Physical Plan ==")[1]
            return set(re.findall(r"\w+Join\b", plan))

        assert joins(many.join(few)) == joins(many.left_join(few)) == joins(few.join(many)) == {"BroadcastHashJoin"}
        assert joins(many.outer_join(few)) == joins(few.left_join(many)) == {"SortMergeJoin"}
        assert len(many.join(few).collect()) == len(few.join(many).collect()) == 10
        assert len(few.left_join(many).collect()) == 11
    finally:
        spark_ctx.spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def test_batches_are_cut() -> None:
    import pyarrow as pa

    batches = [pa.record_batch({"n": list(range(size))}) for size in (5, 0, 2)]
    assert [batch.num_rows for batch in split_batches(batches, 2)] == [2, 2, 1, 2]


@pytest.mark.jvm
def test_a_stage_takes_so_many_elements_at_a_time(spark_ctx: mo.StreamContext) -> None:
    async def together(n: int) -> int:
        import asyncio

        return len(asyncio.all_tasks())  # a coroutine sees how many elements of its batch wait with it

    numbers = spark_ctx.stream_iter(range(12)).parallelism(1)
    whole = numbers.map_async(together, returns=int)
    cut = numbers.batch_mode(mo.BatchMode.fixed(4)).filter(lambda n: n >= 0).map_async(together, returns=int)
    assert max(whole.collect()) > max(cut.collect()) > 1
    assert set(cut.collect()) <= set(range(1, 6))


# -- cache -------------------------------------------------------------------------------------------------------------


def counting(file: Path) -> Callable[[int], None]:
    """A function that leaves a line behind each time it is called, in whatever process."""

    def note(n: int) -> None:
        with open(file, "a") as log:
            log.write(f"{n}\n")

    return note


def test_a_cached_stream_is_computed_once(ctx: mo.StreamContext, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    kept = ctx.stream_iter(range(5)).inspect(counting(seen)).cache()
    assert kept.collect() == list(range(5))
    assert kept.map(lambda n: n * 2).collect() == [0, 2, 4, 6, 8]
    assert kept.merge(kept).count().collect() == [10]
    assert len(seen.read_text().split()) == 5
    kept.uncache()
    assert kept.filter(lambda n: n > 3).collect() == [4]
    assert len(seen.read_text().split()) == 10


def test_a_cached_stream_keeps_timestamps_and_keys(ctx: mo.StreamContext) -> None:
    kept = ctx.stream_iter([30, 10, 20]).add_timestamps(lambda n: n).key_by(lambda n: n // 20).cache()
    assert kept.collect() == [(1, 30), (0, 10), (1, 20)]
    assert kept.reorder().collect() == [(0, 10), (1, 20), (1, 30)]


def test_the_order_of_a_cached_stream_is_there_for_later_readers(ctx: mo.StreamContext) -> None:
    words = ctx.stream_par_iter(range(60)).map(lambda n: n * 7 % 60)
    kept = words.group_by_count(lambda n: n % 13).cache()
    kept.collect()
    firsts = list(dict.fromkeys(n * 7 % 60 % 13 for n in range(60)))
    assert kept.keys().fold(list[int](), lambda seen, key: [*seen, key]).collect() == [firsts]


def test_a_cached_stream_whose_form_fails(ctx: mo.StreamContext) -> None:
    kept = ctx.stream_iter([2**62, 1]).map(lambda n: n * 4 - n * 3).cache()
    assert kept.map(lambda n: n - 1).collect() == [2**62 - 1, 0]
    assert kept.collect() == [2**62, 1]
    failing = ctx.stream_iter([1, 0]).map(lambda n: 1 // n).cache()
    for _ in range(2):
        with pytest.raises(mo.ElementError, match="ZeroDivisionError"):
            failing.collect()


def test_a_cached_stream_whose_form_fails_on_branches(ctx: mo.StreamContext) -> None:
    """The cached stream reads frames that are persisted for several readers."""
    first, second = ctx.stream_iter([0.0, 894.0]).map(lambda x: round(x, 1)).split_by(lambda x: len(str(x)) % 2, 2)
    third, fourth = second.merge(first).split_by(lambda x: len(str(x)) % 2, 2)
    whole = fourth.merge(third).map(lambda x: int(x)).filter(lambda n: 10 // n > 0)
    ordered = whole.add_timestamps(lambda n: len(str(n)) % 3, returns=int).reorder().drop_timestamps()
    pairs = ordered.join(ordered, lambda n: n, lambda n: n % 3).map(lambda k, t: len(str(t))).drop_key()
    with pytest.raises(mo.ElementError, match="ZeroDivisionError"):
        pairs.cache().collect()


def test_what_was_left_out_before_a_cache_is_counted_once(ctx: mo.StreamContext) -> None:
    kept = ctx.stream_iter([1, 0, 2]).map(lambda n: 2 // n, on_error="skip").cache()
    for _ in range(2):
        assert kept.collect() == [2, 1]
        assert sum(ctx.metrics()["skipped"].values()) == 1


@pytest.mark.jvm
def test_what_is_cached_is_released_with_the_context(spark_ctx: mo.StreamContext) -> None:
    kept = spark_ctx.stream_iter([1, 2]).cache()
    assert kept.collect() == [1, 2]
    engine: Any = spark_ctx.engine
    rows = engine._caches.get(kept._node, frozenset()).frame.df
    assert rows.storageLevel.useMemory
    spark_ctx.close()
    assert not rows.storageLevel.useMemory


# -- what is refused ---------------------------------------------------------------------------------------------------

NUMBERS = mo.StreamContext(engine="reference").stream_iter([1])


@pytest.mark.parametrize(
    ("program", "message", "advice"),
    [
        (lambda: NUMBERS.parallelism(0), "parallelism cannot be 0", "an int from 1 on"),
        (lambda: NUMBERS.parallelism(2.5), "parallelism cannot be 2.5", "an int from 1 on"),  # type: ignore[arg-type]
        (lambda: NUMBERS.batch_mode(100), "batch_mode takes a BatchMode, not 100", "BatchMode.fixed"),  # type: ignore[arg-type]
        (lambda: NUMBERS.batch_mode(mo.BatchMode.fixed(0)), "there is no batch of 0 elements", "from 1 on"),
        (lambda: NUMBERS.batch_mode(mo.BatchMode.adaptive(5, -1)), "cannot wait for -1 milliseconds", "from 1 on"),
        (
            lambda: NUMBERS.repartition_by(lambda n: [n]),
            r"the key of repartition_by has the type list\[int\]",
            "a tuple",
        ),
        (lambda: NUMBERS.repartition_by("n"), "repartition_by needs a function, not 'n'", "a lambda or a def"),  # type: ignore[arg-type]
        (
            lambda: NUMBERS.uncache(),
            "this stream is not cached: it is not the result of cache",
            "cached = stream.cache",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(program: Any, message: str, advice: str) -> None:
    with pytest.raises(mo.PlanError, match=message) as caught:
        program()
    assert "test_partition.py:" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.jvm
def test_an_unbounded_stream_cannot_be_cached(spark_ctx: mo.StreamContext) -> None:
    with pytest.raises(mo.PlanError, match=r"cache cannot run on unbounded input: .*test_partition.py:"):
        spark_ctx.stream_rate(10).cache()
