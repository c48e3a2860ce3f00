"""The row order of an unbounded stream: a column, because rows of a micro-batch are in any order."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from morisot.engines.spark.emit.frames.frame import ROW_ORDER, Frame
from morisot.engines.spark.emit.python.fused_stage import in_worker, partition_id
from morisot.worker.stateful.buckets import NumberRows

_AGE = "CAST(1000000000000000000 + unix_micros(_metadata.file_modification_time) AS STRING)"
_START = "CAST(1000000000000000000 + _metadata.file_block_start AS STRING)"
"""Numbers of 19 digits, which sort as texts. They are cheaper than bytes, and computed for each row."""


def with_row_order(frame: Frame, *, by_age: bool = True) -> Frame:
    """The frame of a source with a row order: bytes that sort by file, the older first, or by path only.

    Spark packs the files of a micro-batch into tasks by size, but a part of a file is read by one task in order. So an
    operator that needs the order adds the numbers of the rows in the task. A source without files is in the order of
    arrival.
    """
    order = row_order_in_files(by_age=by_age) if _reads_files(frame) else "X''"
    df = frame.df.selectExpr(*frame.columns, *frame.hidden, f"{order} AS {ROW_ORDER}")
    return Frame(df, frame.type, frame.timed, has_row_order=True)


def row_order_in_files(*, by_age: bool = False) -> str:
    """An expression for the row order of the part of a file that a task reads."""
    file = f"{_AGE}, _metadata.file_name" if by_age else "_metadata.file_path"
    return f"CAST(concat({file}, '\\0', {_START}) AS BINARY)"


def with_own_row_order(frame: Frame) -> Frame:
    """The frame with a row order for each row, for operators that move rows: a shuffle mixes the rows of a task."""
    task = NumberRows(partition_id())
    return frame.over(frame.df.mapInArrow(in_worker(task), frame.ddl(frame.type)))


def _reads_files(frame: Frame) -> bool:
    try:
        frame.df.select("_metadata")
    except AnalysisException:
        return False
    return True
