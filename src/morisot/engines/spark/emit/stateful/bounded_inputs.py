"""Bounded inputs of unbounded operators: their elements are in files, which the first micro-batch reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted, sql_type
from morisot.engines.spark.emit.stateful.row_order import with_row_order
from morisot.types.element import NONE, leaves

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from morisot.plan.nodes.node import Node

_ROW = quoted("row")
"""A column for elements that have no other column that files can store."""


def for_files(frame: Frame) -> DataFrame:
    """The rows of a bounded frame for files, without columns that are always None, which files cannot store."""
    held = [quoted(leaf.column) for leaf in leaves(frame.type) if leaf.type != NONE]
    return frame.df.selectExpr(*([*held, *frame.hidden] or [f"true AS {_ROW}"]))


def from_files(spark: SparkSession, node: Node, directory: Path, *, ordered: bool) -> Frame:
    """The elements of a bounded stream as an unbounded one.

    It has no watermark, and does not delay other inputs. The first micro-batch reads all of its elements, so none of
    them is late. A watermark would not work: Spark discards the watermarks of inputs when a query restarts, and does
    not read the files again.
    """
    timed = node.time is not None
    held = [f"{quoted(leaf.column)} {sql_type(leaf.type)}" for leaf in leaves(node.type) if leaf.type != NONE]
    held += [f"{TIME} BIGINT"] if timed else []
    rows = spark.readStream.schema(", ".join(held or [f"{_ROW} BOOLEAN"])).parquet(str(directory))
    frame = Frame(rows, node.type, timed)
    if ordered:
        frame = with_row_order(frame, by_age=False)
    named = [
        f"NULL AS {quoted(leaf.column)}" if leaf.type == NONE else quoted(leaf.column) for leaf in leaves(node.type)
    ]
    return frame.over(frame.df.selectExpr(*named, *frame.hidden))
