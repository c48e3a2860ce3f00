"""Which operators provide their row order as hidden columns, instead of sorting their results into that order."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.physical import ops
from morisot.physical.ops import Choice
from morisot.physical.passes.require import depends_on_order
from morisot.plan.nodes import aggregate, combine, keyed, partition, rowwise, state, time, window
from morisot.plan.nodes.join import Join
from morisot.plan.nodes.node import Node

_ONE_TO_ONE = (
    *(rowwise.Map, rowwise.MapMemo, rowwise.Filter, rowwise.FilterMap, rowwise.Inspect, keyed.KeyBy, keyed.Unkey),
    *(partition.Broadcast, partition.Batched, combine.SplitBy, combine.Route, combine.Branch, time.AddTimestamps),
)
"""The operators that emit at most one element for each, so that the columns distinguish their elements."""
_REVERSING = frozenset({"min_element", "max_element", "fold", "reduce"})
"""The measures of windows that may compare row orders in the reverse direction."""


def carry(
    nodes: Iterable[Node], kept: Container[Node], choices: Mapping[Node, Choice], needed: frozenset[Node]
) -> tuple[frozenset[Node], frozenset[Node]]:
    """The operators that provide order columns, and those that read them.

    `nodes` has inputs before their readers. The rows of `kept` nodes are also read by others than operators.
    """
    nodes = tuple(nodes)
    carrying = _Carrying(choices, needed, _not_numeric(nodes), set())
    readers: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for value in dict.fromkeys(node.inputs):
            readers.setdefault(value, []).append(node)
    for node in reversed(nodes):
        if node in needed and node not in kept and carrying.may(node, readers[node]):
            carrying.found.add(node)
    for node in nodes:  # an operator has columns to pass on only if its input has
        if node in carrying.found and not _provides(node, choices[node]) and carrying.found.isdisjoint(node.inputs):
            carrying.found.discard(node)
    reading = (node for node in nodes if all(carrying.reads(node, value) for value in node.inputs))
    return frozenset(carrying.found), frozenset(node for node in reading if carrying.depends(node))


def _not_numeric(nodes: Iterable[Node]) -> set[Node]:
    """The operators whose order columns may be no numbers: keys of sorts, or several columns as one value."""
    several: set[Node] = set()
    found: set[Node] = set()
    for node in nodes:
        groups = isinstance(node, aggregate.Aggregation | aggregate.Unique | window.Window)
        inputs = set(node.inputs)
        if isinstance(node, aggregate.SortedBy) or inputs & found or (groups and inputs & several):
            found.add(node)
        if groups or isinstance(node, Join | window.WindowJoin | aggregate.SortedBy) or inputs & several:
            several.add(node)
    return found


@dataclass(frozen=True)
class _Carrying:
    """The operators that are found to provide order columns, readers first."""

    choices: Mapping[Node, Choice]
    needed: frozenset[Node]
    not_numeric: set[Node]
    found: set[Node]

    def may(self, node: Node, readers: Iterable[Node]) -> bool:
        """Whether an operator can provide order columns, and all readers that depend on the order read them."""
        choice = self.choices.get(node)
        if choice is None or not node.bounded or not (_passes_on(node, choice) or _provides(node, choice)):
            return False
        return all(self.reads(each, node) for each in readers if self.depends(each))

    def depends(self, node: Node) -> bool:
        return depends_on_order(node, self.choices.get(node), self.needed)

    def reads(self, node: Node, value: Node) -> bool:
        """Whether an operator reads the order columns of an input."""
        choice = self.choices.get(node)
        if choice is None or not node.bounded:
            return False
        if _passes_on(node, choice):
            return node in self.found
        return _compares(node, choice, self.needed, numeric=value not in self.not_numeric)


def _passes_on(node: Node, choice: Choice) -> bool:
    """Whether an operator passes the order columns of its input on, or combines those of its inputs."""
    if isinstance(node, Join):
        return choice.kind is ops.NativeJoinOp and node.variant != "outer"
    return isinstance(node, _ONE_TO_ONE) and choice.kind in (ops.ColumnsOp, ops.StageOp, ops.TimestampsOp)


def _provides(node: Node, choice: Choice) -> bool:
    """Whether an operator creates order columns."""
    if isinstance(node, Join):
        return _passes_on(node, choice)
    if isinstance(node, aggregate.SortedBy):
        return choice.kind is ops.SortOp and node.n is None and not node.offset
    if isinstance(node, state.Apply):
        return node.ordered
    if choice.kind is ops.NativeAggregateOp:
        return isinstance(node, window.Window | aggregate.Unique) or (
            isinstance(node, aggregate.Aggregation) and node.keyed
        )
    return choice.kind is ops.NativeJoinOp and isinstance(node, window.WindowJoin)


def _compares(node: Node, choice: Choice, needed: frozenset[Node], *, numeric: bool) -> bool:
    """Whether an operator compares elements by order columns. Only numbers can be compared in the reverse direction."""
    if not numeric and _reverses(node, choice):
        return False
    if node in needed and _has_incomplete_windows(node):  # these are after all others, by the largest number
        return False
    match choice.kind:
        case ops.NativeAggregateOp:
            return isinstance(node, aggregate.Aggregation | aggregate.Unique | window.Window)
        case ops.InOrderOp:
            return node not in needed
        case ops.SortOp:
            return isinstance(node, aggregate.SortedBy)
        case ops.NumberOp:
            return True
    return False


def _has_incomplete_windows(node: Node) -> bool:
    return isinstance(node, window.Window) and isinstance(node.kind, window.CountKind) and not node.kind.exact


def _reverses(node: Node, choice: Choice) -> bool:
    """Whether an operator may compare row orders in the reverse direction."""
    if isinstance(node, window.Window):
        return choice.kind is ops.NativeAggregateOp and any(each.kind in _REVERSING for each in node.measures)
    return isinstance(node, aggregate.MaxElement) or isinstance(choice.detail, NativeExtreme)
