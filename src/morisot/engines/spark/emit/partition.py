"""Operators that move elements, or say how they travel. An order that somebody depends on is kept."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import ORDER, grouped_by_key, numbered
from morisot.physical.ops import CacheOp, ColumnsOp, ExchangeOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Broadcast, Cache, Parallelism, RepartitionBy, Shuffle


@emits(ExchangeOp, Shuffle)
def emit_shuffle(node: Shuffle, emission: Emission, frame: Frame) -> Frame:
    return moved(node, emission, frame, emission.parallelism)


@emits(ExchangeOp, Parallelism)
def emit_parallelism(node: Parallelism, emission: Emission, frame: Frame) -> Frame:
    return moved(node, emission, frame, node.n)


def moved(node: Node, emission: Emission, frame: Frame, partitions: int) -> Frame:
    """The rows over so many partitions: evenly, or where order matters as even ranges of the stream."""
    if not emission.needs_order(node):
        return frame.over(frame.df.repartition(partitions))
    if not node.bounded:  # a task that reads a file knows the order of its rows, others do not
        return frame
    rows = numbered(frame.df)
    ranges = rows.repartition(1) if partitions == 1 else rows.repartitionByRange(partitions, ORDER)
    return Frame(ranges.sortWithinPartitions(ORDER).drop("order"), node.type, frame.timed)


@emits(ExchangeOp, RepartitionBy)
def emit_repartition_by(node: RepartitionBy, emission: Emission, frame: Frame) -> Frame:
    """Elements cannot be both by key and in order; an operator that needs the order finds them where they were."""
    if emission.needs_order(node):
        return frame
    rows, key = grouped_by_key(node, frame.df, frame.type)
    placed = rows.repartition(emission.parallelism, *map(F.expr, key))
    return Frame(placed, node.type, frame.timed).select(node.type, frame.columns)


@emits(ColumnsOp, Broadcast)
def emit_broadcast(node: Broadcast, emission: Emission, frame: Frame) -> Frame:
    """A join looks for it among what leads to its sides."""
    return frame


@emits(ColumnsOp, Batched)
def emit_batched(node: Batched, emission: Emission, frame: Frame) -> Frame:
    """A stage looks for it among what leads to it."""
    return frame


@emits(CacheOp, Cache)
def emit_cache(node: Cache, emission: Emission, frame: Frame) -> Frame:
    """What a later job finds again; a plan that retains nothing reads past it."""
    emission.retain(node, frame)
    return frame
