"""Operators with a state of the user's: each key's elements in order, the state in the task."""

from __future__ import annotations

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.lowering.planner import Lowering
from morisot.engines.spark.emit.lowering.registry import lowers
from morisot.engines.spark.emit.python.in_order import origin
from morisot.engines.spark.emit.python.in_sequence import in_sequence
from morisot.plan.nodes.state import Rich, RichFilterMap, RichFlatMap, RichMap
from morisot.worker.stateful import state
from morisot.worker.stateful.machine import Machine


@lowers(RichMap)
def lower_rich_map(node: RichMap, lowering: Lowering, frame: Frame) -> Frame:
    return in_sequence(node, lowering, frame, machine(node, lowering))


@lowers(RichFilterMap)
def lower_rich_filter_map(node: RichFilterMap, lowering: Lowering, frame: Frame) -> Frame:
    return in_sequence(node, lowering, frame, machine(node, lowering))


@lowers(RichFlatMap)
def lower_rich_flat_map(node: RichFlatMap, lowering: Lowering, frame: Frame) -> Frame:
    return in_sequence(node, lowering, frame, machine(node, lowering))


def machine(node: Rich, lowering: Lowering) -> Machine:
    return state.Rich(node.init, node.function.function, node.input.keyed, node.out, origin(node, lowering))
