"""Refuses, when the plan is built, operators whose result on unbounded input would differ from the bounded one."""

from __future__ import annotations

from morisot.compile.aggregates.folds import NativeFold
from morisot.errors import PlanError
from morisot.physical.choose.aggregate import recognised_fold
from morisot.plan.analysis.validate import breaks_running_values, mixed_above, unmatched_above
from morisot.plan.nodes.aggregate import Fold, Reduce
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import WriteSink

_BOUND_IT = (
    "bound the input (remove unbounded=True), or end the plan with collect_channel(), for_each(…) or write_…(…) and "
    "ctx.start()"
)


def is_commutative(node: Node) -> bool:
    """Whether a fold was recognised as sums, extremes and the like, whose results do not depend on the order."""
    return isinstance(node, Fold | Reduce) and isinstance(recognised_fold(node), NativeFold)


def refuse_unbounded(node: Node) -> None:
    """Raises an error for an operator that cannot run on unbounded input, or whose result would differ."""
    problem = node.unbounded_problem
    if problem is not None:
        reason, advice = problem
        said = f"{node.operator} cannot run on unbounded input: {reason}"
        raise PlanError(said, location=node.location, advice=advice or _BOUND_IT)
    if isinstance(node, WriteSink) and node.mode == "append":
        raise PlanError(
            f"{node.operator} cannot append to a directory while a stream runs",
            location=node.location,
            advice='write to a new directory, or pass mode="overwrite"',
        )
    if breaks_running_values(node):
        raise PlanError(
            f"{node.operator} cannot follow an aggregate on unbounded input: the aggregate emits a new value whenever "
            "one changed, and only the last of each key counts",
            location=node.location,
            advice="do it before the aggregate, or in for_each(…), which gets every change",
        )
    join = unmatched_above(node)
    if join is not None:
        raise PlanError(
            f"{node.operator} cannot follow {join.operator} on unbounded input: an element without a partner is "
            "emitted when the watermark has passed it, too late for an operator with timers",
            location=node.location,
            advice="use join, which emits pairs as soon as both have arrived, or drop_timestamps() after it",
        )
    mixed = mixed_above(node)
    if mixed is not None and not is_commutative(node):
        raise PlanError(
            f"{node.operator} cannot follow {mixed.operator} ({mixed.location}) on unbounded input: it depends on the "
            "order of elements, and those of several streams have no defined order",
            location=node.location,
            advice="order them by time first: add_timestamps(…, delay=…) on each stream, reorder() after "
            f"{mixed.operator}; or use an operator that needs no order, such as fold_assoc",
        )
