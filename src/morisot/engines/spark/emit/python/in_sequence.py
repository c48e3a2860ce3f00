"""Operators that see elements one after the other, on bounded and unbounded input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.python.in_order import in_order
from morisot.engines.spark.emit.stateful.keyed_state import in_buckets
from morisot.plan.nodes.node import Node
from morisot.worker.stateful.machine import Machine

if TYPE_CHECKING:
    from morisot.engines.spark.emit.lowering.planner import Lowering


def in_sequence(node: Node, lowering: Lowering, frame: Frame, machine: Machine) -> Frame:
    """The frame after a machine that sees the elements of each key, or all, in the stream's order."""
    return in_order(node, lowering, frame, machine) if node.bounded else in_buckets(node, lowering, frame, machine)
