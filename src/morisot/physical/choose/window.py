"""Windows: native aggregates by pane and window, or machines in Python."""

from __future__ import annotations

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.aggregates.folds import NativeFold, recognise_fold, recognise_reduce
from morisot.compile.choose import verdict_of
from morisot.compile.ir.expressions import Input
from morisot.compile.ir.nonempty import of_nonempty
from morisot.compile.ir.per_row import computed_once
from morisot.compile.verdict import ColumnForm, Refusal, Verdict
from morisot.physical.choose.aggregate import ORDERED, SUMMABLE, all_of, present
from morisot.physical.choose.rowwise import MOVED, OWN_OUTCOME
from morisot.physical.ops import (
    COLUMN,
    Choice,
    InOrderOp,
    KeyedStateOp,
    NativeAggregateOp,
    Reason,
    TimersOp,
)
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.window import (
    AllKind,
    CountKind,
    LastKind,
    Measure,
    SessionKind,
    TimeKind,
    Window,
)
from morisot.types.element import FLOAT, Keyed, Optional, Type, contains_any, holds_dict
from morisot.types.infer import without_none

OPEN_WINDOWS = "on unbounded input the content of open windows is a state in Python"
_NATIVE = (CountKind, TimeKind, SessionKind, LastKind, AllKind)
"""The kinds of windows that have a native form."""
_IN_PYTHON = Refusal("the window, or another of its aggregates, runs in Python")


def choose_window(node: Window, demoted: frozenset[Node]) -> Choice:
    """Native if all measures are; else one machine computes all of them."""
    if not node.bounded:
        kind = TimersOp if node.kind.timed else KeyedStateOp
        return Choice(kind, all_of(node, Reason("stage", OPEN_WINDOWS)))
    if node in demoted:
        return Choice(InOrderOp, all_of(node, Reason("stage", MOVED)))
    refusals = {measure.label: found for measure in node.measures if (found := refusal(node, measure)) is not None}
    if not has_native_kind(node) or refusals:
        return Choice(InOrderOp, _reasons(node, refusals))
    columns = {
        measure.function: form
        for measure in node.measures
        if measure.function is not None
        and measure.kind not in ("fold", "reduce")
        and isinstance(form := _column(node, measure), ColumnForm)
    }
    may_fail = any(form.raises for form in columns.values()) or any(_unsafe(node, each) for each in node.measures)
    return Choice(NativeAggregateOp, all_of(node, COLUMN), columns, may_fail)


def has_native_kind(node: Window) -> bool:
    """Whether the windows have a native form."""
    key = node.input.type.key if isinstance(node.input.type, Keyed) else None
    if isinstance(node.kind, LastKind) and key is not None and contains_any(key):
        return False  # equal keys are represented by the first one, which is not in a window of the last few elements
    return isinstance(node.kind, _NATIVE)


def is_framed(node: Window) -> bool:
    """Whether windows are frames of Spark's window functions: of each key, one begins at every element."""
    return isinstance(node.kind, CountKind) and node.kind.slide == 1 and node.input.keyed


def _reasons(node: Window, refusals: dict[str, Refusal]) -> dict[Closure, Reason]:
    reasons = {}
    for name, closure in node.closures:
        found = refusals.get(name)
        if found is None:
            verdict = verdict_of(closure, node.signature(name))
            found = _IN_PYTHON if isinstance(verdict, ColumnForm) else verdict.refusal
        reasons[closure] = Reason.of("stage", found)
    return reasons


def refusal(node: Window, measure: Measure) -> Refusal | None:
    """Why a measure has to run in Python; None if it does not."""
    match measure.kind:
        case "count" | "first" | "last":
            return None
        case "map":
            return _refused_list(node, measure)
        case "custom":
            return Refusal("an accumulator of your own runs in Python")
        case "fold" | "reduce" if measure.leaves_out:
            return Refusal(OWN_OUTCOME)
        case "fold" | "reduce":
            recognised = recognised_fold(node, measure)
            return recognised if isinstance(recognised, Refusal) else None
    value = _value_type(node, measure)
    if isinstance(value, Refusal):
        return value
    native = SUMMABLE if measure.kind in ("sum", "mean") else ORDERED
    return None if without_none(value) in native else Refusal(f"values of type {value} are aggregated in Python")


def _column(node: Window, measure: Measure) -> Verdict:
    """The form of the function of a measure."""
    assert measure.function is not None
    verdict = verdict_of(measure.function, measure.takes(node.element))
    if measure.kind == "map":  # there are no empty windows
        return computed_once(of_nonempty(verdict, Input(0))) if isinstance(verdict, ColumnForm) else verdict
    return present(verdict)


def _refused_list(node: Window, measure: Measure) -> Refusal | None:
    """Why a function of the list of a window's elements runs in Python; None if it has a column form."""
    verdict = _column(node, measure)
    if not isinstance(verdict, ColumnForm):
        return verdict.refusal
    if isinstance(node.kind, AllKind) and not node.input.keyed:
        return Refusal("a list of all elements of a stream is built in Python")
    if holds_dict(node.element) and measure.sees_order:
        return Refusal("a list of dicts has no order in Spark")
    return None


def _value_type(node: Window, measure: Measure) -> Type | Refusal:
    """The type of the aggregated values, or the reason why they have no column form."""
    if measure.function is None:
        return node.element
    verdict = verdict_of(measure.function, (node.element,))
    return verdict.type if isinstance(verdict, ColumnForm) else verdict.refusal


def recognised_fold(node: Window, measure: Measure) -> NativeFold | NativeExtreme | Refusal:
    """The fold of a window as native aggregates, or the reason why it is none."""
    assert measure.function is not None
    if measure.kind == "fold":
        return recognise_fold(measure.init, measure.function, measure.type, node.element)
    return recognise_reduce(measure.function, node.element)


def _unsafe(node: Window, measure: Measure) -> bool:
    """Whether a native aggregate may fail: a sum beyond 64 bits, or NaN and None, which have no order."""
    if measure.kind in ("sum", "mean", "min", "max") and isinstance(_value_type(node, measure), Optional):
        return True
    match measure.kind:
        case "fold" | "reduce":
            return True
        case "map":
            return False  # the form of the function says whether it fails
        case "sum" | "mean":
            return _value_type(node, measure) != FLOAT
        case "min" | "max" | "min_element" | "max_element":
            return _value_type(node, measure) == FLOAT
        case _:
            return False
