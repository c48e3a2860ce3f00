"""Windows on Spark: a file for each kind, and what they share.

`measures` has what is computed of a window, `grouping` the way from rows to one row for each window, `panes` the
windows that overlap, `machines` everything that runs in Python, `unbounded` all windows on unbounded input.
"""

from __future__ import annotations

from morisot.lower.frame import Frame
from morisot.lower.planner import Lowering
from morisot.lower.registry import lowers
from morisot.lower.window import (
    all_window,
    count_window,
    join,
    last_window,
    machines,
    session_window,
    time_window,
    unbounded,
)
from morisot.lower.window.measures import is_native
from morisot.plan import window as plan
from morisot.plan.node import Node
from morisot.plan.window import Window
from morisot.types.element import Keyed, contains_any

_NATIVE = {
    plan.CountKind: count_window.lower_count_window,
    plan.TimeKind: time_window.lower_time_window,
    plan.SessionKind: session_window.lower_session_window,
    plan.LastKind: last_window.lower_last_window,
    plan.AllKind: all_window.lower_all_window,
}
"""The kinds of windows that have a native form."""

RULES = (join, unbounded)
"""Importing them registers the rules of joins, and of unbounded input."""


@lowers(Window, "bounded")
def lower_window(node: Window, lowering: Lowering, frame: Frame) -> Frame:
    if runs_natively(node, lowering.demoted):
        return _NATIVE[type(node.kind)](node, lowering, frame)
    return machines.lower_in_python(node, lowering, frame)


def runs_natively(node: Window, demoted: frozenset[Node]) -> bool:
    """Whether no Python runs for a window."""
    if not node.bounded:
        return False
    if (
        isinstance(node.kind, plan.LastKind)
        and isinstance(node.input.type, Keyed)
        and contains_any(node.input.type.key)
    ):
        return False  # of equal keys the first stands for all, and that one is not among the last few
    return type(node.kind) in _NATIVE and is_native(node, demoted)
