"""Native session windows: rows in the order of time, split where the time distance of two exceeds the gap."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.window.grouping import END, FIRST, NEWEST, START, finished, prepared
from morisot.engines.spark.emit.window.time_window import clocked
from morisot.plan.nodes.window import SessionKind, Window

_BEGINS, _ALL = quoted("begins"), quoted("all")


def emit_session_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    kind = node.kind
    assert isinstance(kind, SessionKind)
    rows = prepared(node, emission, clocked(kind, frame), NEWEST)
    sessions = rows.aggregated(begun(rows.df, rows.group, kind.gap), START)
    bounded = sessions.selectExpr("*", f"{NEWEST} + {kind.gap}L AS {END}")
    return finished(node, emission, rows, bounded, order=[END, FIRST])


def begun(df: DataFrame, group: Sequence[str], gap: int) -> DataFrame:
    """The rows with the start of their session."""
    df, by = (df, group) if group else (df.selectExpr("*", f"0 AS {_ALL}"), [_ALL])
    within = f"OVER (PARTITION BY {', '.join(by)} ORDER BY {TIME}"
    begins = f"CASE WHEN {TIME} - lag({TIME}) {within}) <= {gap}L THEN NULL ELSE {TIME} END AS {_BEGINS}"
    # rows with equal timestamps have the same frame, so they are in the same session, in any order
    start = f"max({_BEGINS}) {within} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS {START}"
    return df.selectExpr("*", begins).selectExpr("*", start).drop("begins", "all")


def ended(df: DataFrame, group: Sequence[str], gap: int) -> DataFrame:
    """The rows with the end of their session."""
    within = f"OVER (PARTITION BY {', '.join([*group, START])})"
    return df.selectExpr("*", f"max({TIME}) {within} + {gap}L AS {END}")
