"""The reference engine, explain(), draw() and refusals need no pyspark; what is not refused has a rule on Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import morisot as mo
from morisot.engines.spark.emit.core import families
from morisot.engines.spark.emit.core.registry import emit_of, emitted_as
from morisot.physical.job import PlannedJob, plan_stream
from morisot.physical.ops import (
    ExchangeOp,
    Given,
    KernelOp,
    KeyedStateOp,
    LoopOp,
    NativeAggregateOp,
    OnDemandOp,
    OrderedOp,
    Physical,
    ReadOp,
    StageOp,
    TableJoinOp,
    TimersOp,
    TimestampsOp,
    UnionOp,
    WatermarkOp,
    WriteOp,
)
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise
from tests.physical.golden import write_files
from tests.physical.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
PROGRAM = """
import contextlib, io, sys
import morisot as mo
from tests.physical.golden import text_of_program
from tests.physical.programs import PROGRAMS, followed, numbers, timed

for name, program in PROGRAMS.items():
    text_of_program(name)
    stream = program(mo.StreamContext(engine="reference"))
    with contextlib.redirect_stdout(io.StringIO()):
        stream.explain()
    stream.forms(), stream.draw(), stream._repr_html_()
    if stream._node.bounded and not name.startswith("source_"):
        with contextlib.redirect_stdout(io.StringIO()):
            stream.collect()

refused = [
    lambda ctx: followed(ctx).sorted_by(lambda line: line),
    lambda ctx: followed(ctx).collect(),
    lambda ctx: followed(ctx).fold_scan(0, lambda n, line: n + 1),
    lambda ctx: followed(ctx).count().limit(1),
    lambda ctx: followed(ctx).cache(),
    lambda ctx: numbers(ctx).window(mo.CountWindow.tumbling(2)),
]
for number, program in enumerate(refused):
    try:
        program(mo.StreamContext(engine="reference"))
    except mo.PlanError:
        continue
    raise AssertionError(f"program {number} is not refused")

found = sorted(name for name in sys.modules if name.partition(".")[0] in ("pyspark", "py4j"))
assert not found, found[:5]
"""


def test_nothing_of_the_reference_engine_imports_pyspark(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_planned_can_be_emitted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert families.FAMILIES
    monkeypatch.chdir(tmp_path)
    write_files()
    for operator in operators_of(plan_stream(PROGRAMS[name](mo.StreamContext(engine="reference"))._node)):
        if not isinstance(operator, StageOp | KernelOp | LoopOp | Given):  # those need no function for each node
            assert emit_of(type(operator), type(operator.node)) is not None, operator


UNBOUNDED = {
    ReadOp,
    WatermarkOp,
    TimestampsOp,
    TableJoinOp,
    KeyedStateOp,
    TimersOp,
    OnDemandOp,
    OrderedOp,
    UnionOp,
    ExchangeOp,
    WriteOp,
}
"""The kinds of operators that streaming queries are made of, beside those that look at one element at a time."""


def test_what_is_not_refused_on_unbounded_input_can_be_emitted_there() -> None:
    assert families.FAMILIES
    kinds = [kind for kind in kinds_of(Node) if not kind.only_bounded and not issubclass(kind, Rowwise)]
    without = {kind.__name__ for kind in kinds if not emitted_as(kind) & (UNBOUNDED | {NativeAggregateOp})}
    assert without <= {"StoredSplits", "LoopInput"}  # made by the engine itself, never on unbounded input
    native = {kind.__name__ for kind in kinds if not emitted_as(kind) & UNBOUNDED} - without
    assert native == {"Count"}


def operators_of(one: PlannedJob) -> Iterator[Physical]:
    """The physical operators of a job, those in the bodies of its loops included."""
    yield from one.plan.operators.values()
    for step in one.loops:
        if step.body is not None:
            yield from operators_of(step.body)


def kinds_of(kind: type[Node]) -> list[type[Node]]:
    """The kinds of nodes that plans are made of: those without kinds of their own."""
    below = kind.__subclasses__()
    own = [] if below or not kind.__module__.startswith("morisot.plan") else [kind]
    return [*own, *(each for one in below for each in kinds_of(one))]
