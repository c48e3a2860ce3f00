"""Delta iterations as frames: what a round does to the entries. `run` makes the rounds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.lower import schema
from morisot.lower.frame import Frame
from morisot.lower.ship import check_travels
from morisot.lower.stages import dumps, in_worker
from morisot.plan.iterate import DeltaIterate
from morisot.worker.deltas import DELTA, ENTRY, ApplyDeltas, Deltas, OpenEntries, PackEntries


def functions_of(node: DeltaIterate) -> Deltas:
    """The user's functions, ready to travel."""
    for _, closure in node.closures:
        check_travels(closure)
    return Deltas(
        node.process_delta.function,
        node.make_update.function,
        node.make_output.function,
        node.condition.function,
        node.operator,
        node.location,
        dumps,
    )


def packed(deltas: Deltas, frame: Frame) -> DataFrame:
    """The first entries, all of them changed; of a key's values the last one stands."""
    rows = frame.df.mapInArrow(in_worker(PackEntries(frame.type, deltas, are_deltas=False)), ENTRY)
    placed = rows.selectExpr("same", "entry", "monotonically_increasing_id() AS place")
    last = placed.groupBy("same").agg(F.expr("max_by(entry, place) AS entry"))
    return last.selectExpr("same", "entry", "true AS changed")


def applied(deltas: Deltas, entries: DataFrame, leaving: Frame, parallelism: int) -> DataFrame:
    """The entries after the deltas that left the body."""
    rows = leaving.df.mapInArrow(in_worker(PackEntries(leaving.type, deltas, are_deltas=True)), DELTA)
    came = rows.selectExpr("same", "is_delta", "entry", "monotonically_increasing_id() AS place")
    there = entries.selectExpr("same", "false AS is_delta", "entry", "CAST(-1 AS BIGINT) AS place")
    both = there.unionAll(came).repartition(parallelism, "same").sortWithinPartitions("same", "is_delta", "place")
    return both.mapInArrow(in_worker(ApplyDeltas(deltas)), ENTRY)


def updates(node: DeltaIterate, deltas: Deltas, entries: DataFrame) -> Frame:
    """What the changed entries send through the body."""
    type_ = node.body.input.type
    task = OpenEntries(type_, deltas, deltas.make_update)
    return Frame(entries.where("changed").select("entry").mapInArrow(in_worker(task), schema.ddl(type_)), type_)


def outputs(node: DeltaIterate, deltas: Deltas, entries: DataFrame) -> Frame:
    """What the entries give in the end."""
    task = OpenEntries(node.type, deltas, deltas.make_output)
    return Frame(entries.select("entry").mapInArrow(in_worker(task), schema.ddl(node.type)), node.type)
