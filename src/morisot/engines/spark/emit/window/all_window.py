"""One window with all elements, natively: a plain aggregate."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.window.grouping import END, FIRST, NEWEST, ROWS, START, finished, prepared
from morisot.plan.nodes.window import Window


def emit_all_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    rows = prepared(node, emission, frame, ROWS, *([NEWEST] if node.time is not None else []))
    windows = rows.aggregated(rows.df).where(f"{ROWS} > 0")  # Spark returns a row for an empty stream
    bounded = windows.selectExpr("*", f"0L AS {START}", f"{ROWS} AS {END}")
    return finished(node, emission, rows, bounded, order=[FIRST] if rows.group else [])
