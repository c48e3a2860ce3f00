"""Aggregates on unbounded input: running values, from states that are retained between micro-batches."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.python.two_phase_fold import in_order_machine, mergeable
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
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.state import Firsts, FoldMachine


@emits(KeyedStateOp, Fold, Reduce, First, Sum, Avg, MinElement, MaxElement, ReduceAssoc, FoldAssoc)
def emit_running(node: Aggregation, emission: Emission, frame: Frame) -> Frame:
    """Runs in Python: native aggregates may fail on an unsupported value, and their state cannot be converted."""
    return in_buckets(node, emission, frame if node.keeps_time else frame.untimed(), machine(node, emission))


def machine(node: Aggregation, emission: Emission) -> Machine:
    match node:
        case Fold() | Reduce():
            return in_order_machine(node, emission)
        case First():
            return Firsts()
        case _:
            return FoldMachine("aggregate", mergeable(node), origin(node, emission))
