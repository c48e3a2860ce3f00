"""Aggregates on unbounded input: running values, from states that are kept between micro-batches."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.lowering.planner import Lowering
from morisot.engines.spark.emit.lowering.registry import emits
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.python.two_phase_fold import folding_of
from morisot.engines.spark.emit.stateful.keyed_state import in_buckets
from morisot.physical.ops import KeyedStateOp
from morisot.plan.nodes.aggregate import (
    Aggregation,
    Avg,
    First,
    Fold,
    FoldAssoc,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
    Sum,
)
from morisot.types.element import arguments
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.state import Aggregating, Firsts, Folder, Reducer


@emits(KeyedStateOp, Fold, Reduce, First, Sum, Avg, MinElement, MaxElement, ReduceAssoc, FoldAssoc)
def lower_running(node: Aggregation, lowering: Lowering, frame: Frame) -> Frame:
    """Spark's own aggregates may fail on a value that only Python can do, and their state cannot change hands."""
    return in_buckets(node, lowering, frame if node.keeps_time else frame.untimed(), machine(node, lowering))


def machine(node: Aggregation, lowering: Lowering) -> Machine:
    result = arguments(node.type)[-1]
    match node:
        case Fold():
            return Folder(node.init, node.function.function, origin(node, lowering), result)
        case Reduce():
            return Reducer(node.function.function, origin(node, lowering), result)
        case First():
            return Firsts()
        case _:
            return Aggregating(folding_of(node), origin(node, lowering), result)
