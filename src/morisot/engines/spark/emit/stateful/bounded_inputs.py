"""Bounded inputs of unbounded operators: their elements are in files, all of which the first micro-batch reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted, sql_type
from morisot.engines.spark.emit.stateful.row_order import with_places
from morisot.engines.spark.emit.stateful.watermark_column import LATEST, MARK, watched
from morisot.types.element import NONE, leaves

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from morisot.plan.nodes.node import Node

_ROW = quoted("row")
"""A column for files of elements that have no other which a file can hold."""


def for_files(frame: Frame) -> DataFrame:
    """The rows of a bounded frame as files hold them: no file has a column in which there is nothing but None."""
    held = [quoted(leaf.column) for leaf in leaves(frame.type) if leaf.type != NONE]
    return frame.df.selectExpr(*([*held, *frame.hidden] or [f"true AS {_ROW}"]))


def from_files(spark: SparkSession, node: Node, directory: Path, *, placed: bool) -> Frame:
    """The elements of a bounded stream as an unbounded one whose watermark has reached its end."""
    timed = node.time is not None
    held = [f"{quoted(leaf.column)} {sql_type(leaf.type)}" for leaf in leaves(node.type) if leaf.type != NONE]
    held += [f"{TIME} BIGINT"] if timed else []
    rows = spark.readStream.schema(", ".join(held or [f"{_ROW} BOOLEAN"])).parquet(str(directory))
    frame = Frame(rows, node.type, timed)
    if placed:
        frame = with_places(frame, by_age=False)
    named = [
        f"NULL AS {quoted(leaf.column)}" if leaf.type == NONE else quoted(leaf.column) for leaf in leaves(node.type)
    ]
    if not timed or not any(directory.glob("*.parquet")):  # of a stream without elements nothing is waited for
        return frame.over(frame.df.selectExpr(*named, *frame.hidden))
    marked = frame.df.selectExpr(*named, *frame.hidden, f"timestamp_millis({LATEST}L) AS {MARK}")
    return frame.over(watched(marked, [*frame.columns, *frame.hidden]))
