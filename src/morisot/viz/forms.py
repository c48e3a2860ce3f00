"""The form of every closure of a plan, and why it is not a faster one."""

from __future__ import annotations

from typing import NamedTuple

from morisot.compile.ladder import decide
from morisot.compile.translate import STAGE
from morisot.compile.verdict import ColumnForm, Form, KernelForm, Refusal
from morisot.errors import Location
from morisot.lower import folds
from morisot.lower.planner import Lowering
from morisot.lower.registry import python_rule_for
from morisot.lower.stages import OWN_OUTCOME, outcome_per_element
from morisot.lower.window import runs_natively
from morisot.lower.window.measures import stage_reason
from morisot.plan.aggregate import Aggregate, FoldAssoc, ReduceAssoc, SortedBy
from morisot.plan.closure import Closure
from morisot.plan.graph import everything
from morisot.plan.iterate import DeltaIterate, Loop
from morisot.plan.node import Node
from morisot.plan.rowwise import Inspect, MapAsync
from morisot.plan.sink import ForEach
from morisot.plan.source import StreamParIter
from morisot.plan.state import RichFilterMap, RichFlatMap, RichMap
from morisot.plan.window import Window
from morisot.viz import loops


class FormRecord(NamedTuple):
    """What became of one function."""

    operator: str
    location: Location
    form: Form
    reason: str
    advice: str = ""
    line: int | None = None
    """Where in the function the reason lies, if that is another line than the operator's."""
    captured: tuple[str, ...] = ()
    """The values that the function took from around it, as `name=value`."""


def forms_of(root: Node, demoted: frozenset[Node] = frozenset()) -> list[FormRecord]:
    """One record per function of the plan, in the order of the operators."""
    lowering = lowering_of(root, demoted)
    return [form_of(node, name, closure, lowering) for node in everything(root) for name, closure in node.closures]


def lowering_of(root: Node, demoted: frozenset[Node]) -> Lowering:
    """A lowering that is only asked how things would run, the bodies of loops included."""
    bodies = [body for node in everything(root) for _, body in node.bodies]
    return Lowering(None, (root, *bodies), parallelism=1, demoted=demoted)  # type: ignore[arg-type]


_LONGEST_VALUE = 40
_STATE = "it carries a state from element to element"
_WHY_PYTHON: dict[type[Node], str] = {
    RichMap: _STATE,
    RichFilterMap: _STATE,
    RichFlatMap: _STATE,
    StreamParIter: "a generator is run as it is, where its elements are used",
    Inspect: "it is called for its effect",
    MapAsync: "coroutines run in Python",
    ForEach: "it is called in this process",
}


_BETWEEN = "it stands between two functions that run in Python, and leaving Python in between would cost more"
_BESIDE_KERNELS = "it stands beside a function that runs as machine code, and can be machine code too"


def form_of(node: Node, name: str, closure: Closure, lowering: Lowering) -> FormRecord:
    """The form a function of a node has in the plan as it would run now."""

    def record(form: Form, reason: str, advice: str = "", at: Refusal | None = None) -> FormRecord:
        line = at.line if at is not None and at.line != closure.location.line else None
        return FormRecord(node.operator, closure.location, form, reason, advice, line, captured(closure))

    if isinstance(node, Loop | DeltaIterate):
        return record(*loops.form_of_own(node, name, lowering.demoted))
    loop = loops.loop_around(node, lowering.roots)
    if loop is not None:
        return record(*loops.form_in_tasks(loop))
    if type(node) in _WHY_PYTHON:
        return record("stage", _WHY_PYTHON[type(node)])
    if isinstance(node, Aggregate) and not node.bounded:
        return record("stage", "on unbounded input its state is kept in Python, between micro-batches")
    if isinstance(node, folds.FoldNode) and node not in lowering.demoted:
        fold = folds.recognised_fold(node)
        if isinstance(fold, Refusal):
            how = "partition by partition" if isinstance(node, FoldAssoc | ReduceAssoc) else "element by element"
            return record("stage", f"this fold runs in Python, {how}: {fold}", fold.advice, fold)
        return record("stage", OWN_OUTCOME) if folds.needs_python(node, lowering.demoted) else record("column", "")
    if isinstance(node, Window) and not node.bounded:
        return record(
            "stage", "on unbounded input what is held of open windows is kept in Python, between micro-batches"
        )
    if isinstance(node, Window) and node not in lowering.demoted:
        if runs_natively(node, lowering.demoted):
            return record("column", "")
        reason = stage_reason(node, name)
        return record("stage", str(reason), reason.advice)
    verdict = decide(closure, node.signature(name))
    if lowering.in_kernel(node):
        if isinstance(verdict, KernelForm):
            advice = "" if verdict.refusal.advice == STAGE else verdict.refusal.advice
            return record("kernel", str(verdict.refusal), advice, verdict.refusal)
        return record("kernel", _BESIDE_KERNELS)
    if not isinstance(verdict, ColumnForm):
        return record("stage", str(verdict.refusal), verdict.refusal.advice, verdict.refusal)
    if node in lowering.demoted:
        return record("stage", "moved to Python at run time: its native form met a value it cannot do exactly")
    if outcome_per_element(node) or (node.leaves_out and folds.fails_on_elements(node)):
        return record("stage", OWN_OUTCOME)
    if lowering.in_stage(node):
        return record("stage", _BETWEEN, "make its neighbours columns, or move it before or after them")
    if python_rule_for(node) is not None and folds.needs_python(node, lowering.demoted):
        done = "compared" if isinstance(node, SortedBy) else "folded"
        return record("stage", f"values of type {verdict.type} are {done} in Python")
    return record("column", "")


def captured(closure: Closure) -> tuple[str, ...]:
    """The values that a function captured, each shortened to what fits on a line."""
    return tuple(f"{name}={shortened(value)}" for name, value in closure.captured.items())


def shortened(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a broken __repr__ must not hide the plan
        return f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
