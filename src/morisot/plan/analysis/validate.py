"""Validation of plans, for all engines."""

from __future__ import annotations

from morisot.plan.analysis.graph import walk
from morisot.plan.nodes.aggregate import Aggregation, FoldAssoc, ReduceAssoc, Unique
from morisot.plan.nodes.combine import Merge
from morisot.plan.nodes.join import IntervalJoin, Join
from morisot.plan.nodes.keyed import Unkey
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Inspect, Map, MapAsync, MapMemo
from morisot.plan.nodes.sink import SinkNode
from morisot.plan.nodes.time import Reorder
from morisot.plan.nodes.window import CountKind, WindowJoin
from morisot.types.element import Keyed

_ONE_TO_ONE = (Map, MapMemo, MapAsync, Inspect)


def gives_running_values(node: Node) -> bool:
    """Whether a node on unbounded input emits values that replace earlier ones."""
    return isinstance(node, Aggregation) and node.running and not node.bounded


def breaks_running_values(node: Node) -> bool:
    """Whether a node is downstream of a running aggregate but does not support values that replace earlier ones.

    On unbounded input an aggregate emits a new value whenever it changed. The last value of each key is its result.
    One-to-one operators that preserve the key, and sinks, preserve that meaning. A filter would not: it may drop the
    last value and pass an earlier one. Neither would an operator that skips elements on which it fails.
    """
    if node.bounded or not node.inputs or not any(gives_running_values(each) for each in walk(*node.inputs)):
        return False
    if isinstance(node, SinkNode) or (isinstance(node, Unkey) and node.keep == "both"):
        return False
    one_to_one = isinstance(node, _ONE_TO_ONE) and node.on_error == "raise"
    return not (one_to_one and not any(isinstance(each, Unkey) for each in walk(*node.inputs)))


def unmatched_above(node: Node) -> IntervalJoin | None:
    """An outer join upstream of an operator with timers: some of its results are late for that operator."""
    stack = [each for each in node.inputs if each.time is not None] if node.has_timers and not node.bounded else []
    while stack:
        each = stack.pop()
        if isinstance(each, IntervalJoin) and each.variant != "inner":
            return each
        stack.extend(above for above in each.inputs if above.time is not None)
    return None


def mixed_above(node: Node) -> Node | None:
    """An operator that unites streams upstream of one that depends on the row order, which is then undefined.

    Associative and commutative functions do not depend on the order. Which of equal elements is first does not matter.
    """
    takes_any = isinstance(node, SinkNode | FoldAssoc | ReduceAssoc | Reorder) or (
        isinstance(node, Unique) and node.time is None
    )
    if node.bounded or not node.observes_order or takes_any:
        return None
    stack = [(each, True) for each in node.inputs]
    while stack:
        each, by_key = stack.pop()
        if each.bounded:
            continue
        by_key = by_key and isinstance(each.type, Keyed)
        if _mixes(each) or (not by_key and _mixes_keys(each)):
            return each
        if each.keeps_order:
            stack.extend((above, by_key) for above in each.inputs)
    return None


def _mixes_keys(node: Node) -> bool:
    """Whether only the elements of each key have the order of a bounded stream."""
    return isinstance(node, WindowJoin) and isinstance(node.kind, CountKind) and isinstance(node.type, Keyed)


def _mixes(node: Node) -> bool:
    """Whether the elements of an unbounded stream have another order than those of a bounded one."""
    if isinstance(node, Join):
        return node.left.bounded
    return isinstance(node, IntervalJoin) or (isinstance(node, Merge) and len(node.streams) > 1)
