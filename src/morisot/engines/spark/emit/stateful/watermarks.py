"""Watermarks of unbounded streams: Spark's own, of a column that says up to which timestamp all elements have come.

Spark keeps the largest value of the column for each source, saves it with the checkpoint, and hands the smallest of
all sources to every operator of the next micro-batch. The column goes no further than the watermark: which elements are
late, and which windows are complete, is decided where windows are made, in ticks and not in milliseconds.

A source that may fall silent has a second one beside it: a directory into which `run` writes how far the others are, so
that it does not hold them up. What is read there moves the watermark and goes no further.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import TIME, Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python import fused_stage
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.engines.spark.emit.stateful.watermark_column import LATEST, MARK, watched
from morisot.engines.spark.emit.time import emit_add_timestamps, emit_add_timestamps_in_python, ticks_of
from morisot.physical.ops import WatermarkOp
from morisot.plan.nodes.time import AddTimestamps, that_may_idle
from morisot.private import private_directory
from morisot.types.element import DATETIME, Keyed, Optional, Tuple, Type
from morisot.worker.rowwise.stage import Step

_TOLD = quoted("told")
_LATEST = {True: 2**63 - 1, False: LATEST}
"""The largest number of microseconds, and of milliseconds, that a timestamp of Spark's has."""


@emits(WatermarkOp, AddTimestamps)
def emit_add_timestamps_and_watermark(node: AddTimestamps, emission: Emission, frame: Frame) -> Frame:
    assert node.kind is not None
    native = emission.column_form(node, node.timestamp) is not None
    timed = (
        emit_add_timestamps(node, emission, frame)
        if native
        else emit_add_timestamps_in_python(node, emission, frame, ())
    )
    timed, mark = with_assertion(node, emission, timed, node.kind)
    names = [*timed.columns, *timed.hidden]
    marked = timed.df.selectExpr(*names, f"{moment_of(mark, node.kind)} AS {MARK}")
    idling = emission.query.idle_inputs is not None and node in that_may_idle(emission.nodes)
    if idling:
        marked = with_what_is_told(node, emission, marked)
    if idling and node.idle is not None:
        return timed.over(watched(marked, [*names, _TOLD]).where(f"{_TOLD} IS NULL").drop("told"))
    return timed.over(watched(marked, names))


def with_what_is_told(node: AddTimestamps, emission: Emission, marked: DataFrame) -> DataFrame:
    """The rows of a source, counted, and those by which it is told the time while it is silent."""
    assert emission.query.idle_inputs is not None
    number = emission.nodes.index(node)
    counted = marked.observe(
        observed_as(number), F.expr("count(1) AS elements"), F.expr(f"max(unix_millis({MARK})) AS mark")
    )
    if node.idle is None:
        return counted
    directory = emission.query.idle_inputs / str(number)
    private_directory(directory)
    # What was told before a restart is told again, if it still holds: its files are gone.
    texts = emission.spark.readStream.option("ignoreMissingFiles", True).text(str(directory))
    told = texts.selectExpr(f"timestamp_millis(CAST(value AS BIGINT)) AS {MARK}", f"true AS {_TOLD}")
    return counted.unionByName(told, allowMissingColumns=True)


def observed_as(number: int) -> str:
    """The name under which a query counts what an operator with a number in the plan says of time."""
    return f"time-{number}"


def with_assertion(node: AddTimestamps, emission: Emission, frame: Frame, kind: Type) -> tuple[Frame, str]:
    """The frame, and an expression in ticks: once an element is there, all up to this timestamp are."""
    if node.watermark is None:
        assert node.delay is not None, "the check of the plan asks for a delay or a watermark"
        wait = node.delay + 1  # one that is late by just the delay is still waited for
        return frame, f"(greatest({TIME}, {wait}L) - {wait}L)"
    form = emission.column_form(node, node.watermark)
    if form is not None:
        widened, (moment,) = frame.evaluate(form, frame.names())
        return widened, ticks_of(moment, kind)
    both = Tuple((Optional(kind), node.type))
    keyed = isinstance(frame.type, Keyed)
    check_travels(node.watermark)
    step = Step("with_result", node.operator, node.location, keyed=keyed, function=node.watermark.function)
    pairs = fused_stage.run(frame, [step], both, emission)
    moment, *columns = pairs.columns
    named = [f"{column} AS {name}" for column, name in zip(columns, frame.columns, strict=True)]
    rows = pairs.df.selectExpr(*named, *frame.hidden, f"{ticks_of(moment, kind)} AS {MARK}")
    return frame.over(rows), MARK


def moment_of(ticks: str, kind: Type) -> str:
    """The timestamp of Spark's that a watermark is; Spark knows none before 1970, and takes NULL for nothing said."""
    exact = kind == DATETIME
    function = "timestamp_micros" if exact else "timestamp_millis"
    return f"{function}(CASE WHEN {ticks} > 0L THEN least({ticks}, {_LATEST[exact]}L) END)"
