"""Native windows of the last elements: aggregates over the rows before a row."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python.in_order import ORDER
from morisot.engines.spark.emit.window.grouping import END, LAST, NEWEST, START, finished, prepared
from morisot.plan.nodes.window import LastKind, Window

_ALL = quoted("all")


def emit_last_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    kind = node.kind
    assert isinstance(kind, LastKind)
    rows = prepared(node, emission, frame, LAST, *([NEWEST] if node.time is not None else []))
    by, df = (rows.group, rows.df) if rows.group else ([_ALL], rows.df.selectExpr("*", f"0 AS {_ALL}"))
    within = f"PARTITION BY {', '.join(by)} ORDER BY {ORDER}"
    few = f"OVER ({within} ROWS BETWEEN {kind.k - 1} PRECEDING AND CURRENT ROW)"
    aggregates = [f"{step.of_rows} {few} AS {step.column}" for step in rows.steps]
    position = f"CAST(row_number() OVER ({within}) AS BIGINT) AS {END}"
    windows = df.selectExpr(*rows.key, *aggregates, position)
    bounded = windows.selectExpr("*", f"greatest(0L, {END} - {kind.k}L) AS {START}")
    return finished(node, emission, rows, bounded, order=[LAST])
