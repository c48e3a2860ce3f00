"""The places of elements in an unbounded stream: a column, because rows of a micro-batch come in any order."""

from __future__ import annotations

from pyspark.errors import AnalysisException

from morisot.lower.frame import PLACE, Frame
from morisot.lower.stages import in_worker, partition_id
from morisot.worker.buckets import PlaceRows

_AGE = "unhex(lpad(hex(unix_micros(_metadata.file_modification_time)), 16, '0'))"
_IN_FILES = "CAST(_metadata.file_path AS BINARY), X'00', unhex(lpad(hex(_metadata.file_block_start), 16, '0'))"


def with_places(frame: Frame, *, by_age: bool = True) -> Frame:
    """The frame of a source with its elements' places: bytes that sort by file, the older first, or by path alone.

    Spark packs the files of a micro-batch into tasks by size, but a part of a file is read by one task, row after row:
    whoever needs the order counts the rows of the task and adds their number. A source without files is in the
    order it arrives in.
    """
    in_files = f"concat({_AGE}, {_IN_FILES})" if by_age else f"concat({_IN_FILES})"
    place = in_files if _knows_files(frame) else "X''"
    placed = frame.df.selectExpr(*frame.columns, *frame.hidden, f"{place} AS {PLACE}")
    return Frame(placed, frame.type, frame.timed, placed=True)


def with_own_places(frame: Frame) -> Frame:
    """The frame with a place for each row, for operators that move rows: a shuffle mixes up those of a task."""
    task = PlaceRows(partition_id())
    return frame.over(frame.df.mapInArrow(in_worker(task), frame.ddl(frame.type)))


def _knows_files(frame: Frame) -> bool:
    try:
        frame.df.select("_metadata")
    except AnalysisException:
        return False
    return True
