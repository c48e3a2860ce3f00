"""Operators that move elements, or say how they travel. An order that somebody depends on is kept."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.lowering.planner import Lowering
from morisot.engines.spark.emit.lowering.registry import emits
from morisot.engines.spark.emit.python.in_order import ORDER, grouped_by_key, numbered
from morisot.physical.ops import CacheOp, ColumnsOp, ExchangeOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Broadcast, Cache, Parallelism, RepartitionBy, Shuffle


@emits(ExchangeOp, Shuffle)
def lower_shuffle(node: Shuffle, lowering: Lowering, frame: Frame) -> Frame:
    return moved(node, lowering, frame, lowering.parallelism)


@emits(ExchangeOp, Parallelism)
def lower_parallelism(node: Parallelism, lowering: Lowering, frame: Frame) -> Frame:
    return moved(node, lowering, frame, node.n)


def moved(node: Node, lowering: Lowering, frame: Frame, partitions: int) -> Frame:
    """The rows over so many partitions: evenly, or where order matters as even ranges of the stream."""
    if not lowering.needs_order(node):
        return frame.over(frame.df.repartition(partitions))
    if not node.bounded:  # a task that reads a file knows the order of its rows, others do not
        return frame
    rows = numbered(frame.df)
    ranges = rows.repartition(1) if partitions == 1 else rows.repartitionByRange(partitions, ORDER)
    return Frame(ranges.sortWithinPartitions(ORDER).drop("order"), node.type, frame.timed)


@emits(ExchangeOp, RepartitionBy)
def lower_repartition_by(node: RepartitionBy, lowering: Lowering, frame: Frame) -> Frame:
    """Elements cannot be both by key and in order; an operator that needs the order finds them where they were."""
    if lowering.needs_order(node):
        return frame
    rows, key = grouped_by_key(node, frame.df, frame.type)
    placed = rows.repartition(lowering.parallelism, *map(F.expr, key))
    return Frame(placed, node.type, frame.timed).select(node.type, frame.columns)


@emits(ColumnsOp, Broadcast)
def lower_broadcast(node: Broadcast, lowering: Lowering, frame: Frame) -> Frame:
    """A join looks for it among what leads to its sides."""
    return frame


@emits(ColumnsOp, Batched)
def lower_batched(node: Batched, lowering: Lowering, frame: Frame) -> Frame:
    """A stage looks for it among what leads to it."""
    return frame


@emits(CacheOp, Cache)
def lower_cache(node: Cache, lowering: Lowering, frame: Frame) -> Frame:
    """What a later job finds again; a plan that retains nothing reads past it."""
    lowering.retain(node, frame)
    return frame
