"""Requirements of operators and sinks on the row order of their inputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from morisot.compile.aggregates.folds import NativeFold
from morisot.physical import ops
from morisot.physical.ops import Choice
from morisot.plan.analysis.graph import walk
from morisot.plan.nodes import aggregate
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.sink import SinkNode, WriteSink
from morisot.types.element import Keyed, contains_any

_PASSING = (
    *(ops.ColumnsOp, ops.StageOp, ops.KernelOp, ops.TimestampsOp, ops.TimestampsInPythonOp, ops.WatermarkOp),
    *(ops.UnionOp, ops.CacheOp, ops.OrderedOp, ops.WriteOp),
)
"""The kinds that leave rows where they are. Others restore the row order if it is needed, and drop it otherwise."""


@dataclass(frozen=True)
class OrderRequirements:
    """The operators whose row order matters, by the readers that depend on it."""

    needed: frozenset[Node]
    """The result of an operator depends on it."""
    seen: frozenset[Node]
    """An operator, a sink or the caller observes it."""
    shown: frozenset[Node]
    """Like `seen`, without sinks that write files on unbounded input, which have no order."""
    carried: frozenset[Node] = frozenset()
    """The operators of `needed` that provide it as hidden columns, to the operators that compare elements."""
    compared: frozenset[Node] = frozenset()
    """The operators that read such columns."""


def require(roots: Iterable[Node], choices: Mapping[Node, Choice]) -> OrderRequirements:
    """The requirements of some roots that run together. Only the operators with choices run."""
    roots = tuple(roots)
    readers = (root.inputs if isinstance(root, SinkNode) and root.takes_any_order else (root,) for root in roots)
    needed = _required(tuple(itertools.chain.from_iterable(readers)), frozenset(), frozenset(), choices)
    shown = (root for root in roots if root.bounded or not isinstance(root, WriteSink))
    return OrderRequirements(
        needed, _required(roots, roots, needed, choices), _required(roots, tuple(shown), needed, choices)
    )


def _required(
    roots: tuple[Node, ...], observed: Iterable[Node], needed: frozenset[Node], choices: Mapping[Node, Choice]
) -> frozenset[Node]:
    """The nodes whose row order is required, if it is for some of them.

    An order that is observed and not needed is that of the rows where they are: an operator that moves rows drops it.
    """
    found = {*observed, *needed}
    for node in reversed(list(walk(*roots))):
        choice = choices.get(node)
        if observes_order(node, choice):
            found.update(node.seen_in_order)
        elif node in found and _follows_from_input(node) and (not observed or node in needed or _stays(node, choice)):
            found.update(node.inputs)
    return frozenset(found)


def observes_order(node: Node, choice: Choice | None) -> bool:
    """Whether the result of an operator depends on the row order of its input, in the form in which it runs."""
    if choice is None or not node.observes_order:
        return node.observes_order
    if choice.selection is not None:
        return choice.selection.observes_order
    if choice.unique_keys:
        return False
    if isinstance(node, aggregate.Unique) and choice.kind is ops.NativeAggregateOp:
        return node.time is not None or contains_any(node.type)
    return not isinstance(choice.detail, NativeFold) or _has_any_key(node)


def _has_any_key(node: Node) -> bool:
    """Whether equal keys may differ, and the first one represents them."""
    type_ = node.inputs[0].type
    return isinstance(type_, Keyed) and contains_any(type_.key)


def depends_on_order(node: Node, choice: Choice | None, needed: frozenset[Node]) -> bool:
    """Whether an operator needs the row order of its inputs."""
    if isinstance(node, SinkNode) and node.takes_any_order:
        return False
    return observes_order(node, choice) or (node in needed and _follows_from_input(node))


def _follows_from_input(node: Node) -> bool:
    """Whether the row order of the results is that of the input: for keys that of their first elements."""
    by_first = isinstance(node, aggregate.Unique) or (isinstance(node, aggregate.Aggregation) and node.keyed)
    return node.keeps_order or by_first


def _stays(node: Node, choice: Choice | None) -> bool:
    """Whether an operator passes on an order that is not needed. On unbounded input the order is in a column."""
    return choice is None or not node.bounded or choice.kind in _PASSING
