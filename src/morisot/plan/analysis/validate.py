"""What a plan may not be, whatever the engine."""

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
    """Whether a node on unbounded input gives values that replace earlier ones."""
    return isinstance(node, Aggregation) and node.running and not node.bounded


def breaks_running_values(node: Node) -> bool:
    """Whether a node follows a running aggregate but cannot work on values that replace earlier ones.

    On unbounded input an aggregate emits a new value whenever one changed, and the last one of each key is its answer.
    One-to-one operators that keep the key, and sinks, keep that meaning; a filter, say, would let through a value that
    a later one has replaced. So would an operator that leaves out elements on which it fails.
    """
    if node.bounded or not node.inputs or not any(gives_running_values(each) for each in walk(*node.inputs)):
        return False
    if isinstance(node, SinkNode) or (isinstance(node, Unkey) and node.keep == "both"):
        return False
    one_to_one = isinstance(node, _ONE_TO_ONE) and node.on_error == "raise"
    return not (one_to_one and not any(isinstance(each, Unkey) for each in walk(*node.inputs)))


def unmatched_above(node: Node) -> IntervalJoin | None:
    """A join above an operator that waits for time, some results of which have timestamps the watermark has passed."""
    stack = [each for each in node.inputs if each.time is not None] if node.awaits_time and not node.bounded else []
    while stack:
        each = stack.pop()
        if isinstance(each, IntervalJoin) and each.variant != "inner":
            return each
        stack.extend(above for above in each.inputs if above.time is not None)
    return None


def mixed_above(node: Node) -> Node | None:
    """What brings streams together above an operator that sees the order, as they come: bounded input has an order.

    Functions that the user calls associative and commutative do not see it; which of equals is first does not matter.
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
    """Whether only the elements of each key come in the order that those of a bounded stream have."""
    return isinstance(node, WindowJoin) and isinstance(node.kind, CountKind) and isinstance(node.type, Keyed)


def _mixes(node: Node) -> bool:
    """Whether the elements of an unbounded stream come in another order than those of a bounded one."""
    if isinstance(node, Join):
        return node.left.bounded
    return isinstance(node, IntervalJoin) or (isinstance(node, Merge) and len(node.streams) > 1)
