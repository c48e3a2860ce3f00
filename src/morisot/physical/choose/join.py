"""Joins: whether Spark compares keys as Python does, and what the user said of a side."""

from __future__ import annotations

from morisot.plan.nodes.node import Node
from morisot.plan.nodes.partition import Broadcast
from morisot.plan.nodes.rowwise import Rowwise
from morisot.types.element import Keyed, Type, contains_any, leaves
from morisot.types.infer import without_none


def compares_natively(left: Type, right: Type) -> bool:
    """Whether the keys' columns are equal exactly where Python's values are."""
    assert isinstance(left, Keyed)
    assert isinstance(right, Keyed)
    if contains_any(left.key) or contains_any(right.key):
        return False
    ours, theirs = ([without_none(leaf.type) for leaf in leaves(key)] for key in (left.key, right.key))
    # None inside a struct is equal to None for Python; Spark's structs are compared field by field only if flat
    return ours == theirs and not any(type_.children for type_ in ours)


def is_broadcast(node: Node) -> bool:
    """Whether the user said broadcast(), and then only operators that look at one element at a time."""
    while isinstance(node, Rowwise):
        if isinstance(node, Broadcast):
            return True
        node = node.input
    return False
