"""Native count windows of rows that are numbered within their key.

Windows that begin at every element are frames of Spark's window functions. Others are merged from panes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import ORDER
from morisot.engines.spark.emit.window.grouping import (
    END,
    KEY_FIRST,
    LAST,
    NEWEST,
    POSITION,
    ROWS,
    START,
    Rows,
    finished,
    prepared,
)
from morisot.engines.spark.emit.window.panes import windows_of
from morisot.physical.choose.window import is_framed
from morisot.plan.nodes.window import CountKind, Window
from morisot.worker.stateful.machine import LAST as AFTER_ALL


def emit_count_window(node: Window, emission: Emission, frame: Frame) -> Frame:
    kind = node.kind
    assert isinstance(kind, CountKind)
    ordered = emission.needs_order(node)
    extras = [ROWS, *([NEWEST] if node.time is not None else []), *([LAST] if ordered else [])]
    if ordered and not kind.exact:
        extras.append(KEY_FIRST)
    rows = prepared(node, emission, frame, *extras)
    sorted_by = by_columns(frame.order)
    numbered = positioned(rows.df, rows.group, sorted_by, key_first=KEY_FIRST in extras)
    rows = dataclasses.replace(rows, df=numbered)
    if is_framed(node):
        windows = framed(rows, sorted_by, kind.size)
    else:
        windows = windows_of(rows, POSITION, kind.size, kind.slide)
        windows = windows.where(f"{START} >= 0")  # positions begin at 0, and so do windows
    complete = f"{ROWS} = {kind.size}L"
    if kind.exact:
        return finished(node, emission, rows, windows.where(complete), order=[LAST])
    # only the first incomplete window is emitted: the one before it, if there is one, is complete
    wanted = windows.where(f"{complete} OR {START} = 0 OR {ROWS} >= {kind.size - kind.slide}L")
    wanted = wanted.withColumn("end", wanted["start"] + wanted["rows"])
    order = [
        f"CASE WHEN {complete} THEN {LAST} ELSE {AFTER_ALL}L END",
        f"CASE WHEN {complete} THEN 0L ELSE {KEY_FIRST} END",
    ]
    return finished(node, emission, rows, wanted, order=order)


def framed(rows: Rows, order: str, size: int) -> DataFrame:
    """One row for each row: the window that begins there, which is incomplete if too few rows follow.

    With panes of one row, each row would be copied for every window that it is in.
    """
    over = f"OVER ({within_key(rows.group, order)} ROWS BETWEEN CURRENT ROW AND {size - 1} FOLLOWING)"
    windows = rows.df.selectExpr(
        *rows.group,
        *(f"{step.of_rows} {over} AS {step.column}" for step in rows.steps),
        f"{POSITION} AS {START}",
    )
    return windows.selectExpr("*", f"{START} + {size}L AS {END}")


def by_columns(order: Sequence[str]) -> str:
    """The number of a row; if it is a struct of columns, these columns, which Spark sorts faster."""
    return ", ".join(f"{ORDER}.{column}" for column in order) if len(order) > 1 else ORDER


def within_key(group: Sequence[str], order: str) -> str:
    """The rows of a key in stream order, in a window function."""
    return f"PARTITION BY {', '.join(group)} ORDER BY {order}"


def positioned(df: DataFrame, group: Sequence[str], order: str = ORDER, *, key_first: bool = False) -> DataFrame:
    """The rows with their position in their key, and perhaps the number of the key's first row."""
    if not group:  # a window function without a partition would log a warning
        moved = df.repartition(1).sortWithinPartitions(ORDER)
        firsts = [f"0L AS {KEY_FIRST}"] if key_first else []
        return moved.selectExpr("*", f"monotonically_increasing_id() AS {POSITION}", *firsts)
    within = f"OVER ({within_key(group, order)})"
    firsts = [f"first_value({ORDER}) {within} AS {KEY_FIRST}"] if key_first else []
    return df.selectExpr("*", f"CAST(row_number() {within} - 1 AS BIGINT) AS {POSITION}", *firsts)
