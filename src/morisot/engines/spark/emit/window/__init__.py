"""Windows on Spark, with a file for each kind.

`measures` has the aggregates of a window, `grouping` groups rows to one row for each window, `panes` has overlapping
windows, `machines` windows that run in Python, `unbounded` all windows on unbounded input.
"""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.window import (
    all_window,
    count_window,
    join,
    last_window,
    machines,
    session_window,
    time_window,
    unbounded,
)
from morisot.physical.ops import InOrderOp, NativeAggregateOp
from morisot.plan.nodes import window as plan
from morisot.plan.nodes.window import Window

_NATIVE = {
    plan.CountKind: count_window.emit_count_window,
    plan.TimeKind: time_window.emit_time_window,
    plan.SessionKind: session_window.emit_session_window,
    plan.LastKind: last_window.emit_last_window,
    plan.AllKind: all_window.emit_all_window,
}
"""The kinds of windows that have a native form."""

RULES = (join, unbounded)
"""Importing them registers the emission of joins, and of unbounded input."""


@emits(NativeAggregateOp, Window)
def emit_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    return _NATIVE[type(node.kind)](node, emission, frame)


@emits(InOrderOp, Window)
def emit_window_in_python(node: Window, emission: Emission, frame: Frame) -> Frame:
    return machines.emit_in_python(node, emission, frame)
