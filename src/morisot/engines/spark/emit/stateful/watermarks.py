"""Watermarks of unbounded streams: Spark's watermark of a column with the watermark of each element.

Spark stores the largest value of the column for each source in the checkpoint, and passes the smallest one of all
sources to the operators of the next micro-batch. The column is dropped after the watermark: which elements are late,
and which windows are complete, is decided by the machines of windows, in ticks and not in milliseconds.

A source that may be idle has a second source: a directory into which `streaming/idle_inputs.py` writes the watermark of
the other inputs, so that it does not delay them. Its rows only advance the watermark.
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
from morisot.engines.spark.emit.stateful.watermark_column import LATEST, WATERMARK, watched
from morisot.engines.spark.emit.time import emit_add_timestamps, emit_add_timestamps_in_python, ticks_of
from morisot.physical.ops import WatermarkOp
from morisot.plan.nodes.time import AddTimestamps, that_may_idle
from morisot.private import private_directory
from morisot.types.element import DATETIME, Keyed, Optional, Tuple, Type
from morisot.worker.rowwise.steps import Step

_ADVANCE = quoted("told")
_LATEST = {True: 2**63 - 1, False: LATEST}
"""The largest timestamp of Spark in microseconds, and in milliseconds."""


@emits(WatermarkOp, AddTimestamps)
def emit_add_timestamps_and_watermark(node: AddTimestamps, emission: Emission, frame: Frame) -> Frame:
    assert node.kind is not None
    native = emission.column_form(node, node.timestamp) is not None
    timed = (
        emit_add_timestamps(node, emission, frame)
        if native
        else emit_add_timestamps_in_python(node, emission, frame, ())
    )
    timed, watermark = with_watermark_expression(node, emission, timed, node.kind)
    names = [*timed.columns, *timed.hidden]
    with_watermark = timed.df.selectExpr(*names, f"{moment_of(watermark, node.kind)} AS {WATERMARK}")
    idling = emission.query.idle_inputs is not None and node in that_may_idle(emission.nodes)
    if idling:
        with_watermark = with_advances(node, emission, with_watermark)
    if idling and node.idle is not None:
        return timed.over(watched(with_watermark, [*names, _ADVANCE]).where(f"{_ADVANCE} IS NULL").drop("told"))
    return timed.over(watched(with_watermark, names))


def with_advances(node: AddTimestamps, emission: Emission, with_watermark: DataFrame) -> DataFrame:
    """The rows of a source, counted, and the rows that advance its watermark while it is idle."""
    assert emission.query.idle_inputs is not None
    number = emission.nodes.index(node)
    counted = with_watermark.observe(
        observed_as(number), F.expr("count(1) AS elements"), F.expr(f"max(unix_millis({WATERMARK})) AS mark")
    )
    if node.idle is None:
        return counted
    directory = emission.query.idle_inputs / str(number)
    private_directory(directory)
    # Files from before a restart were removed; the watermark is written again if it is still needed.
    texts = emission.spark.readStream.option("ignoreMissingFiles", True).text(str(directory))
    advances = texts.selectExpr(f"timestamp_millis(CAST(value AS BIGINT)) AS {WATERMARK}", f"true AS {_ADVANCE}")
    return counted.unionByName(advances, allowMissingColumns=True)


def observed_as(number: int) -> str:
    """The name of the metric with the watermark of an operator, by its number in the plan."""
    return f"time-{number}"


def with_watermark_expression(node: AddTimestamps, emission: Emission, frame: Frame, kind: Type) -> tuple[Frame, str]:
    """The frame, and an expression for the watermark of each element in ticks."""
    if node.watermark is None:
        assert node.delay is not None, "the validation of the plan requires a delay or a watermark"
        wait = node.delay + 1  # an element that is late by exactly the delay still counts
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
    rows = pairs.df.selectExpr(*named, *frame.hidden, f"{ticks_of(moment, kind)} AS {WATERMARK}")
    return frame.over(rows), WATERMARK


def moment_of(ticks: str, kind: Type) -> str:
    """A watermark as a Spark timestamp. Spark has none before 1970: it is NULL, which is ignored."""
    exact = kind == DATETIME
    function = "timestamp_micros" if exact else "timestamp_millis"
    return f"{function}(CASE WHEN {ticks} > 0L THEN least({ticks}, {_LATEST[exact]}L) END)"
