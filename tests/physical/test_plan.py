"""Properties that every physical plan has."""

from __future__ import annotations

from pathlib import Path

import pytest

import morisot as mo
from morisot.physical.facts import Facts
from morisot.physical.job import plan_stream
from morisot.physical.ops import FusingOp, Given, KernelOp, Physical, StageOp
from morisot.physical.plan import Plan, plan
from morisot.plan.analysis.graph import everything, walk
from morisot.plan.nodes.node import Node
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


def test_a_reader_more_ends_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone who counts the elements of an operator reads them: they have to be there."""
    monkeypatch.chdir(tmp_path)
    write_files()
    after = followed(mo.StreamContext(engine="reference")).map(lambda line: opaque(len(line))).map(opaque)
    assert stages(plan((after._node,), where="query")) == [2]
    assert stages(plan((after._node,), Facts(operator_metrics=True), where="query")) == [1, 1]


def stages(found: Plan) -> list[int]:
    return [len(op.logical) for op in found.operators.values() if isinstance(op, StageOp | KernelOp)]
