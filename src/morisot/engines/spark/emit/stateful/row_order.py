"""The places of elements in an unbounded stream: a column, because rows of a micro-batch come in any order."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from morisot.engines.spark.emit.frames.frame import PLACE, Frame
from morisot.engines.spark.emit.python.fused_stage import in_worker, partition_id
from morisot.worker.stateful.buckets import NumberRows

_AGE = "CAST(1000000000000000000 + unix_micros(_metadata.file_modification_time) AS STRING)"
_START = "CAST(1000000000000000000 + _metadata.file_block_start AS STRING)"
"""Numbers of 19 digits, which sort as texts: cheaper than their bytes, and each row has them."""


def with_places(frame: Frame, *, by_age: bool = True) -> Frame:
    """The frame of a source with its elements' places: bytes that sort by file, the older first, or by path alone.

    Spark packs the files of a micro-batch into tasks by size, but a part of a file is read by one task, row after row:
    whoever needs the order counts the rows of the task and adds their number. A source without files is in the
    order it arrives in.
    """
    place = place_in_files(by_age=by_age) if _knows_files(frame) else "X''"
    placed = frame.df.selectExpr(*frame.columns, *frame.hidden, f"{place} AS {PLACE}")
    return Frame(placed, frame.type, frame.timed, placed=True)


def place_in_files(*, by_age: bool = False) -> str:
    """An expression for where the part of a file stands that a task reads."""
    file = f"{_AGE}, _metadata.file_name" if by_age else "_metadata.file_path"
    return f"CAST(concat({file}, '\\0', {_START}) AS BINARY)"


def with_own_places(frame: Frame) -> Frame:
    """The frame with a place for each row, for operators that move rows: a shuffle mixes up those of a task."""
    task = NumberRows(partition_id())
    return frame.over(frame.df.mapInArrow(in_worker(task), frame.ddl(frame.type)))


def _knows_files(frame: Frame) -> bool:
    try:
        frame.df.select("_metadata")
    except AnalysisException:
        return False
    return True
