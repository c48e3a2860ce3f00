"""Timestamps, and sorting by them."""

from __future__ import annotations

from morisot.compile.choose import verdict_of
from morisot.compile.verdict import ColumnForm
from morisot.physical.choose.rowwise import MOVED
from morisot.physical.ops import (
    COLUMN,
    Choice,
    Physical,
    Reason,
    SortOp,
    TimersOp,
    TimestampsInPythonOp,
    TimestampsOp,
    WatermarkOp,
)
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.time import AddTimestamps, Reorder


def choose_timestamps(node: AddTimestamps, demoted: frozenset[Node]) -> Choice:
    """Timestamps are a column, or results of a function in Python. On unbounded input there is also a watermark."""
    reasons: dict[Closure, Reason] = {}
    columns: dict[Closure, ColumnForm] = {}
    for name, closure in node.closures:
        verdict = verdict_of(closure, node.signature(name))
        if not isinstance(verdict, ColumnForm):
            reasons[closure] = Reason.of("stage", verdict.refusal)
        elif node in demoted:
            reasons[closure] = Reason("stage", MOVED)
        else:
            reasons[closure] = COLUMN
            columns[closure] = verdict
    return Choice(_kind(node, columns), reasons, columns, any(form.raises for form in columns.values()))


def _kind(node: AddTimestamps, columns: dict[Closure, ColumnForm]) -> type[Physical]:
    if not node.bounded:
        return WatermarkOp
    return TimestampsOp if node.timestamp in columns else TimestampsInPythonOp


def choose_reorder(node: Reorder, demoted: frozenset[Node]) -> Choice:
    return Choice(SortOp if node.bounded else TimersOp)
