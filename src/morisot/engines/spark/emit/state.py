"""Operators with user-defined state: the elements of each key in order, with the state in the task."""

from __future__ import annotations

from morisot.engines.spark.emit.core.emission import Emission
from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import in_order, origin
from morisot.engines.spark.emit.stateful.keyed_state import in_buckets
from morisot.physical.ops import InOrderOp, KeyedStateOp
from morisot.plan.nodes.state import Rich, RichFilterMap, RichFlatMap, RichMap
from morisot.worker.stateful import state
from morisot.worker.stateful.machine import Machine


@emits(InOrderOp, RichMap, RichFilterMap, RichFlatMap)
def emit_rich(node: Rich, emission: Emission, frame: Frame) -> Frame:
    return in_order(node, emission, frame, machine(node, emission))


@emits(KeyedStateOp, RichMap, RichFilterMap, RichFlatMap)
def emit_rich_unbounded(node: Rich, emission: Emission, frame: Frame) -> Frame:
    return in_buckets(node, emission, frame, machine(node, emission))


def machine(node: Rich, emission: Emission) -> Machine:
    return state.RichMachine(node.init, node.function.function, node.input.keyed, node.out, origin(node, emission))
