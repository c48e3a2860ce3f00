"""Native tumbling and sliding windows of event time, and of processing time, where all elements have one time."""

from __future__ import annotations

import dataclasses
import time

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.window.grouping import END, FIRST, finished, prepared
from morisot.engines.spark.emit.window.panes import windows_of
from morisot.plan.nodes.window import TimeKind, Window, WindowKind


def emit_time_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    kind = node.kind
    assert isinstance(kind, TimeKind)
    rows = prepared(node, emission, clocked(kind, frame))
    selection = emission.plan.choices[node].selection
    if selection is not None and selection.rung == "candidates":
        rows = dataclasses.replace(rows, compared=rows.measures[0].compared)
    windows = windows_of(rows, TIME, kind.size, kind.slide, kind.offset)
    return finished(node, emission, rows, windows, order=[END, FIRST])


def clocked(kind: WindowKind, frame: Frame) -> Frame:
    """The frame with the time of its windows. A bounded job processes all elements at one instant."""
    if not kind.processing:
        return frame
    instant = time.time_ns() // 1000
    rows = frame.untimed().df.selectExpr("*", f"{instant}L AS {TIME}")
    return Frame(rows, frame.type, timed=True, order=frame.order)
