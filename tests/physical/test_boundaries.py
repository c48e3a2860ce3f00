"""The boundary nodes that kinds of operators state, compared with the plans that Spark executes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import morisot as mo
from morisot.physical import ops
from morisot.physical.boundaries import SMALL, boundaries_of
from morisot.physical.boundaries.nodes import Sizes
from morisot.physical.facts import Facts
from morisot.physical.job import PlannedJob, plan_job, plan_stream
from morisot.physical.ops import Physical
from morisot.plan.nodes.node import Node
from tests.physical.boundary_programs import MORE
from tests.physical.golden import write_files
from tests.physical.programs import PROGRAMS, Program, numbers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def written(ctx: mo.StreamContext) -> None:
    numbers(ctx).map(lambda n: n + 1).write_parquet("out")


def ordered(ctx: mo.StreamContext) -> None:
    numbers(ctx).shuffle().collect_vec(ordered=True)


KINDS: dict[str, tuple[type[Physical], ...]] = {
    "timestamps_stage": (ops.ReadOp, ops.TimestampsInPythonOp, ops.SortOp),
    "source_csv_in_python": (ops.ParseOp,),
    "group_by_count": (ops.ColumnsOp, ops.NativeAggregateOp),
    "count_tokens": (ops.CountTokensOp,),
    "cached": (ops.StageOp, ops.CacheOp),
    "map_kernel": (ops.KernelOp,),
    "window_join": (ops.TimestampsOp, ops.NativeJoinOp),
    "stage_into_fold": (ops.TwoPhaseFoldOp,),
    "keyed_rich_flat_map": (ops.InOrderOp,),
    "apply_on_demand": (ops.NumberOp, ops.OnDemandOp),
    "split_by_column": (ops.UnionOp,),
    "partitions": (ops.ExchangeOp,),
    "iterate_by_rounds": (ops.Given, ops.LoopOp, ops.LoopResultOp),
    "unbounded_reorder": (ops.WatermarkOp, ops.TimersOp, ops.KeyedStateOp),
    "unbounded_join_with_table": (ops.TableJoinOp,),
    "written": (ops.WriteOp,),
    "ordered": (ops.OrderedOp, ops.ExchangeOp),
}
"""For each kind of operator a program in which it is."""
SINKS = {"written": written, "ordered": ordered}
ALL: dict[str, Program | Callable[[mo.StreamContext], None]] = {**PROGRAMS, **MORE, **SINKS}
JOINS = ("join", "left_join_keyed", "window_join", "interval_join", "diamond", "join_in_order")


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that programs read, in a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    write_files()


def test_each_kind_has_a_program() -> None:
    kinds = {each for each in vars(ops).values() if isinstance(each, type) and issubclass(each, Physical)}
    assert {kind for found in KINDS.values() for kind in found} == kinds - {Physical, ops.FusingOp}
    for name, found in KINDS.items():
        with mo.StreamContext(engine="reference") as ctx:
            assert set(found) <= kinds_in(plan_stream(root_of(ctx, ALL[name])))


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_causes_what_it_states(name: str, spark: SparkSession) -> None:
    compare(name, spark)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in ALL if name not in KINDS])
def test_a_program_causes_what_its_operators_state(name: str, spark: SparkSession) -> None:
    compare(name, spark)


@pytest.mark.thorough
@pytest.mark.parametrize("name", JOINS)
def test_a_join_of_large_sides_moves_and_sorts_both(name: str, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        compare(name, spark, Sizes(broadcasts=False))
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.mark.thorough
@pytest.mark.parametrize("connect", [False, True])
@pytest.mark.parametrize("files", [2, 65])
def test_files_are_one_scan_and_on_connect_several_or_sorted(files: int, connect: bool, spark: SparkSession) -> None:
    for number in range(files - 1):
        Path(f"books/more{number}.txt").write_text("or not\n", encoding="utf-8")
    compare("source_file", spark, Sizes(files=files), Facts(connect=connect))


def compare(name: str, spark: SparkSession, sizes: Sizes = SMALL, facts: Facts | None = None) -> None:
    """Compare what the operators of a program state with the plans that Spark executes."""
    from morisot.engines.spark.engine import SparkEngine
    from tests.physical.executed import executed

    with mo.StreamContext(spark, config=mo.Config(progress=False)) as ctx:
        root = root_of(ctx, ALL[name])
        assert isinstance(ctx.engine, SparkEngine)
        runner = ctx.engine._runner()
        job = runner.planned(root, where="batch" if root.bounded else "query")
        job = job if facts is None else plan_job((root,), facts)
        assert executed(job, runner) == boundaries_of(job, sizes)


def root_of(ctx: mo.StreamContext, program: Program | Callable[[mo.StreamContext], None]) -> Node:
    """The stream that a program gives, or its sink."""
    stream = program(ctx)
    if stream is not None:
        return stream._node
    (sink,) = ctx._take_sinks("execute")
    return sink


def kinds_in(job: PlannedJob) -> set[type[Physical]]:
    """The kinds of a job's operators, those in the bodies of loops included."""
    bodies = (kinds_in(step.body) for step in job.loops if step.body is not None)
    return {type(operator) for operator in job.plan.operators.values()}.union(*bodies)
