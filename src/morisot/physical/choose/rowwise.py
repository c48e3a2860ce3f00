"""Row-wise operators: columns if the functions have column forms, else kernels, else steps of a stage."""

from __future__ import annotations

from morisot.compile.choose import kernel, verdict_of
from morisot.compile.ir.values import truth as known_truth
from morisot.compile.syntax.translate import STAGE
from morisot.compile.verdict import ColumnForm, KernelForm, Refusal, Verdict
from morisot.physical.ops import COLUMN, Choice, ColumnsOp, KernelOp, Reason, StageOp
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.combine import Route, SplitBy
from morisot.plan.nodes.keyed import KeyBy
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter, FlatMap, Flatten, Inspect, Map, MapAsync, MapMemo, Rowwise
from morisot.plan.nodes.source import StreamParIter
from morisot.plan.nodes.window import WithoutFailures
from morisot.types.element import BOOL, INT, List, Tuple, arguments, leaves
from morisot.types.narrowing import has_same_columns
from morisot.worker.rowwise.kernels import Kernel

OWN_OUTCOME = "on_error needs the outcome of each element"
MOVED = "moved to Python at run time: its native form failed on an unsupported value"
BESIDE_PYTHON = "another function of the operator runs in Python"
_ALWAYS_PYTHON: dict[type[Node], str] = {
    StreamParIter: "a generator runs in Python, in the tasks that use its elements",
    Inspect: "it is called for its effect",
    MapAsync: "coroutines run in Python",
    WithoutFailures: "",
}
KERNELS = (Map, Filter, KeyBy)
"""The operators that can be kernels."""


def choose_rowwise(node: Node, demoted: frozenset[Node]) -> Choice:
    """The form of a row-wise operator, or of a generator, which is a step of a stage."""
    always = _ALWAYS_PYTHON.get(type(node))
    if always is not None:
        return Choice(StageOp, {closure: Reason("stage", always) for _, closure in node.closures})
    verdicts = {closure: verdict_of(closure, node.signature(name)) for name, closure in _deciding(node)}
    if node not in demoted and may_be_kernel(node):
        ((closure, verdict),) = verdicts.items()
        if isinstance(verdict, KernelForm):
            return Choice(KernelOp, {closure: _of_kernel(verdict)}, kernel=verdict.kernel)
    refusals = _refusals(node, verdicts, demoted)
    if refusals is None:
        columns = {closure: each for closure, each in verdicts.items() if isinstance(each, ColumnForm)}
        may_fail = isinstance(node, SplitBy) or any(each.raises for each in columns.values())
        return Choice(ColumnsOp, dict.fromkeys(columns, COLUMN) | _unused(node, verdicts, COLUMN), columns, may_fail)
    return Choice(StageOp, refusals | _unused(node, verdicts, Reason("stage", BESIDE_PYTHON)))


def _deciding(node: Node) -> tuple[tuple[str, Closure], ...]:
    """The functions whose forms determine how the operator runs.

    A column caches no results, so it needs no key; but a key function that may fail has to be called.
    """
    if not isinstance(node, MapMemo):
        return node.closures
    return node.closures[:1] + tuple(
        (name, closure)
        for name, closure in node.closures[1:]
        if node.leaves_out and may_raise(verdict_of(closure, node.signature(name)))
    )


def may_raise(verdict: Verdict) -> bool:
    """Whether a function has a column form that fails on some values."""
    return isinstance(verdict, ColumnForm) and verdict.raises


def _unused(node: Node, verdicts: dict[Closure, Verdict], reason: Reason) -> dict[Closure, Reason]:
    """The functions with the form of the others: the key by which results are cached."""
    return {closure: reason for _, closure in node.closures if closure not in verdicts}


def _of_kernel(verdict: KernelForm) -> Reason:
    advice = "" if verdict.refusal.advice == STAGE else verdict.refusal.advice
    return Reason("kernel", str(verdict.refusal), advice, verdict.refusal.line)


def _refusals(node: Node, verdicts: dict[Closure, Verdict], demoted: frozenset[Node]) -> dict[Closure, Reason] | None:
    """Why the operator runs in Python, with a reason for each function; None if it does not."""
    if isinstance(node, Flatten):
        return None if isinstance(arguments(node.input.type)[-1], List) and node not in demoted else {}
    reasons = {closure: _reason(node, verdict, demoted) for closure, verdict in verdicts.items()}
    if node not in demoted and all(reason is None for reason in reasons.values()):
        return None
    return {closure: reason or Reason("stage", BESIDE_PYTHON) for closure, reason in reasons.items()}


def _reason(node: Node, verdict: Verdict, demoted: frozenset[Node]) -> Reason | None:
    if not isinstance(verdict, ColumnForm):
        return Reason.of("stage", verdict.refusal)
    if node in demoted:
        return Reason("stage", MOVED)
    if node.leaves_out and verdict.raises:  # a column fails as a whole, not for one element
        return Reason("stage", OWN_OUTCOME)
    if isinstance(node, FlatMap) and not isinstance(verdict.type, List):
        return Reason("stage", f"Spark cannot split a value of type {verdict.type} into elements", "return a list")
    if isinstance(node, Filter | Route) and known_truth(verdict.result) is None:
        return Reason("stage", f"the truth of a value of type {verdict.type} has no column form", "return a bool")
    if isinstance(node, SplitBy) and not names_branches(verdict):
        return Reason("stage", f"a value of type {verdict.type} names no branches", "return an int, or a list of ints")
    return None


def names_branches(form: ColumnForm) -> bool:
    """Whether a function returns numbers of branches: one, a list, or a tuple of them."""
    match form.type:
        case List(item):
            return item == INT
        case Tuple(items):
            return all(item == INT for item in items)
        case _:
            return form.type in (INT, BOOL)


# -- kernels next to kernels -----------------------------------------------------------------------------------------


def may_be_kernel(node: Node) -> bool:
    """Whether the operator can be a kernel. A kernel passes columns on, so a filter has to preserve them."""
    if isinstance(node, Filter):
        return has_same_columns(node.input.type, node.type)
    return isinstance(node, KERNELS)


def kernel_of(node: Node) -> Kernel | None:
    """The kernel of an operator, also if it has a column form: next to a kernel it may be cheaper."""
    if not may_be_kernel(node):
        return None
    ((name, closure),) = node.closures
    verdict: Verdict | Refusal = verdict_of(closure, node.signature(name))
    if isinstance(verdict, KernelForm):
        return verdict.kernel
    form = kernel(closure, node.signature(name))
    return form.kernel if isinstance(form, KernelForm) and _same_type(node, form) else None


def _same_type(node: Node, form: KernelForm) -> bool:
    if isinstance(node, KeyBy):
        return arguments(node.type)[0] == form.type
    return isinstance(node, Filter) or arguments(node.type)[-1] == form.type


def reduces_data(node: Node) -> bool:
    """Whether the operator reduces the data: then it should run before the data returns to the JVM."""
    if isinstance(node, Filter):
        return True
    return isinstance(node, Map) and len(leaves(node.type)) <= len(leaves(node.input.type))


ROWWISE = (Rowwise, StreamParIter)
"""The operators that can be steps of a stage."""
