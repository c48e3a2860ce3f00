"""Joins: whether Spark compares keys as Python does, and broadcast hints."""

from __future__ import annotations

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Broadcast
from morisot.plan.nodes.rowwise import Rowwise
from morisot.types.element import Keyed, Type, contains_any, leaves
from morisot.types.infer import without_none


def compares_natively(left: Type, right: Type) -> bool:
    """Whether the columns of keys are equal exactly if Python's values are."""
    assert isinstance(left, Keyed)
    assert isinstance(right, Keyed)
    if contains_any(left.key) or contains_any(right.key):
        return False
    ours, theirs = ([without_none(leaf.type) for leaf in leaves(key)] for key in (left.key, right.key))
    # in Python, None inside a tuple equals None; Spark compares structs field by field only if they are flat
    return ours == theirs and not any(type_.children for type_ in ours)


def is_broadcast(node: Node) -> bool:
    """Whether the user called broadcast(), followed by row-wise operators only."""
    while isinstance(node, Rowwise):
        if isinstance(node, Broadcast):
            return True
        node = node.input
    return False
