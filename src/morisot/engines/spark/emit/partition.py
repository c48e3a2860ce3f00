"""Operators that move elements, or set batch sizes. An observed row order is preserved."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812 - the name every Spark program uses

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import ORDER, grouped_by_key, numbered
from morisot.physical.ops import CacheOp, ColumnsOp, ExchangeOp, OrderedOp
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Batched, Broadcast, Cache, Ordered, Parallelism, RepartitionBy, Shuffle


@emits(ExchangeOp, Shuffle)
def emit_shuffle(node: Shuffle, emission: Emission, frame: Frame) -> Frame:
    return moved(node, emission, frame, emission.parallelism)


@emits(ExchangeOp, Parallelism)
def emit_parallelism(node: Parallelism, emission: Emission, frame: Frame) -> Frame:
    return moved(node, emission, frame, node.n)


def moved(node: Node, emission: Emission, frame: Frame, partitions: int) -> Frame:
    """The rows in `partitions` partitions: evenly, or, if order matters, as even ranges of the stream."""
    if not emission.needs_order(node):
        return frame.over(frame.df.repartition(partitions))
    if not node.bounded:  # only a task that reads a file knows the order of its rows
        return frame
    rows = numbered(frame.df)
    ranges = rows.repartition(1) if partitions == 1 else rows.repartitionByRange(partitions, ORDER)
    return Frame(ranges.sortWithinPartitions(ORDER).drop("order"), node.type, frame.timed)


@emits(ExchangeOp, RepartitionBy)
def emit_repartition_by(node: RepartitionBy, emission: Emission, frame: Frame) -> Frame:
    """Elements cannot be distributed by key and be in order. If an operator needs the order, they are not moved."""
    if emission.needs_order(node):
        return frame
    rows, key = grouped_by_key(node, frame.df, frame.type)
    repartitioned = rows.repartition(emission.parallelism, *map(F.expr, key))
    return Frame(repartitioned, node.type, frame.timed).select(node.type, frame.columns)


@emits(ColumnsOp, Broadcast)
def emit_broadcast(node: Broadcast, emission: Emission, frame: Frame) -> Frame:
    """Does nothing: a join looks for it upstream."""
    return frame


@emits(ColumnsOp, Batched)
def emit_batched(node: Batched, emission: Emission, frame: Frame) -> Frame:
    """Does nothing: a stage looks for it upstream."""
    return frame


@emits(OrderedOp, Ordered)
def emit_ordered(node: Ordered, emission: Emission, frame: Frame) -> Frame:
    """Does nothing: its input has restored the order."""
    return frame


@emits(CacheOp, Cache)
def emit_cache(node: Cache, emission: Emission, frame: Frame) -> Frame:
    """Retains the stream for later jobs, if the plan does so."""
    retained = frame.emitted()
    emission.retain(node, retained)
    return retained
