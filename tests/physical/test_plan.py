"""Properties that every physical plan has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from morisot.compile.aggregates.extremes import ELEMENT, NativeExtreme
from morisot.compile.ir.expressions import Input
from morisot.physical.facts import Facts
from morisot.physical.job import Batch, LoopStep, plan_job, plan_query, plan_stream
from morisot.physical.ops import ColumnsOp, FusingOp, Given, KernelOp, Physical, ReadOp, StageOp, WriteOp
from morisot.physical.plan import Plan, plan
from morisot.plan.analysis.graph import everything, walk
from morisot.plan.analysis.query_groups import groups
from morisot.plan.analysis.trigger import Trigger
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import CollectChannel
from tests.physical.golden import write_files
from tests.physical.programs import PROGRAMS, followed, numbers, opaque


@pytest.fixture(params=PROGRAMS)
def root(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.chdir(tmp_path)
    write_files()
    return PROGRAMS[request.param](mo.StreamContext(engine="reference"))._node


def done_by(operator: Physical) -> list[Node]:
    steps = operator.steps if isinstance(operator, FusingOp) else ()
    return [*steps, *operator.logical]


def test_each_operator_of_the_user_is_done_once(root: Node) -> None:
    found = [node for operator in plan((root,)).operators.values() for node in done_by(operator)]
    assert len(found) == len(set(found))
    assert set(found) == set(walk(root))


def test_every_function_has_a_form(root: Node) -> None:
    choices = plan_stream(root).choices
    for node in (each for each in everything(root) if each.closures):
        assert {closure for _, closure in node.closures} == set(choices[node].reasons)


def test_demotion_ends_with_operators_that_cannot_fail(root: Node) -> None:
    demoted: frozenset[Node] = frozenset()
    for _ in range(3):
        failing = {op.node for op in plan((root,), demoted=demoted).operators.values() if op.may_fail}
        assert not failing & demoted
        if not failing:
            return
        demoted |= failing
    raise AssertionError(f"{failing} may still fail")


def test_a_long_chain_of_diamonds_is_planned_once_for_each_operator() -> None:
    stream = numbers(mo.StreamContext(engine="reference"))
    for _ in range(30):
        stream = stream.map(lambda n: n + 1).merge(stream.map(lambda n: n + 2))
    assert len(plan((stream._node,)).operators) == 1 + 3 * 30


def test_what_is_given_is_not_planned() -> None:
    stream = numbers(mo.StreamContext(engine="reference")).map(opaque)
    after = stream.map(opaque).map(lambda n: n + 1)
    found = plan((after._node,), given=(stream._node,))
    assert [type(op) for op in found.operators.values()][:2] == [Given, StageOp]
    assert [len(done_by(op)) for op in found.operators.values()] == [1, 1, 1]


def test_the_order_that_is_required_is_provided(root: Node) -> None:
    found = plan_stream(root).plan
    unordered = [op.node for op, provided in found.provides.items() if provided.order == "none"]
    assert [node.title for node in unordered if node in found.order.needed] == []


def test_metrics_do_not_change_fusion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass counts what its operators give. Connect has no accumulators: there only the end of a pass is counted."""
    monkeypatch.chdir(tmp_path)
    write_files()
    after = followed(mo.StreamContext(engine="reference")).map(lambda line: opaque(len(line))).map(opaque)
    assert stages(plan((after._node,), where="query")) == [2]
    assert stages(plan((after._node,), Facts(operator_metrics=True), where="query")) == [2]
    assert stages(plan((after._node,), Facts(connect=True, operator_metrics=True), where="query")) == [1, 1]


def test_sinks_that_share_a_stream_take_it_from_each_micro_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files()
    ctx = mo.StreamContext(engine="reference")
    lengths = followed(ctx).map(len)
    sinks = [
        CollectChannel(input=each._node, type=each.type, location=each._node.location)
        for each in (lengths.map(opaque), lengths.filter(lambda n: n > 3))
    ]
    (group,) = groups(sinks)
    query = plan_query(group, Trigger())
    assert [type(op) for op in query.stream.plan.operators.values()] == [ReadOp, ColumnsOp]
    kinds = [type(op) for op in query.per_batch.plan.operators.values()]
    assert kinds == [Given, StageOp, WriteOp, ColumnsOp, WriteOp]
    assert query.bounded_inputs == ()


def test_a_loop_runs_right_before_the_first_root_that_reads_it() -> None:
    ctx = mo.StreamContext(engine="reference")
    first, second = (numbers(ctx).map(lambda n: n + 1) for _ in range(2))
    total = second.replay(2, 0, lambda s, _: s, lambda a, n: a + n, lambda a, b: a + b, lambda _: True, delta=0)
    found = plan_job([each._node for each in (first, total, second)])
    assert [type(step) for step in found.steps] == [Batch, LoopStep, Batch]
    assert [len(step.roots) for step in found.steps if isinstance(step, Batch)] == [1, 2]
    (step,) = found.loops
    assert step.body is None  # its tasks do all rounds


def test_a_key_that_may_fail_is_called_where_elements_are_left_out() -> None:
    """A column remembers nothing and needs no key, but the elements on which the key fails must be known."""
    stream = numbers(mo.StreamContext(engine="reference"))
    stops = stream.map_memo_by(lambda n: n == 1, lambda n: 10 // n)
    skips = stream.map_memo_by(lambda n: n == 1, lambda n: 10 // n, on_error="skip")
    cannot_fail = stream.map_memo_by(lambda n: n == 1, lambda n: n, on_error="skip")
    kinds = [plan_stream(each._node).choices[each._node].kind for each in (stops, skips, cannot_fail)]
    assert kinds == [ColumnsOp, StageOp, ColumnsOp]


@pytest.mark.parametrize(
    ("function", "largest", "last"),
    [
        (lambda a, b: a if a[1] >= b[1] else b, True, False),
        (lambda a, b: b if b[1] > a[1] else a, True, False),
        (lambda a, b: a if b[1] < a[1] else b, True, True),
        (lambda a, b: b if a[1] >= b[1] else a, False, True),
    ],
)
def test_a_fold_that_keeps_an_element_compares_keys_of_elements(function: Any, largest: bool, last: bool) -> None:
    pairs = mo.StreamContext(engine="reference").stream_iter([("a", 1), ("b", 2)])
    node = pairs.reduce_assoc(function)._node
    fold = plan_stream(node).choices[node].detail
    assert isinstance(fold, NativeExtreme)
    assert fold.key == Input(ELEMENT, (1,))
    assert (fold.largest, fold.last) == (largest, last)


def stages(found: Plan) -> list[int]:
    return [len(op.logical) for op in found.operators.values() if isinstance(op, StageOp | KernelOp)]
