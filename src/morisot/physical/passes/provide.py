"""The properties of the rows between two operators: their order, and their distribution over partitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from morisot.physical import ops
from morisot.physical.ops import Physical
from morisot.physical.passes.require import OrderRequirements
from morisot.plan.nodes import aggregate, keyed, partition, source, window
from morisot.plan.nodes.node import Node
from morisot.types.element import FLOAT, Keyed, Optional, contains_any, leaves

RowOrder = Literal["none", "partitions", "column"]
"""No order, that of partitions and of the rows in them, or that of hidden columns."""
Distribution = Literal["any", "key", "single"]
"""Any, each key in one partition, or all in one. Spark does not shuffle again what it knows to be distributed."""


@dataclass(frozen=True)
class Properties:
    """The properties that an operator provides to its readers."""

    order: RowOrder = "none"
    distribution: Distribution = "any"
    timed: bool = False
    """Whether a hidden column has the timestamps."""


def provide(operators: Iterable[Physical], order: OrderRequirements) -> dict[Physical, Properties]:
    """The properties of each operator's rows. Inputs come first."""
    found: dict[Physical, Properties] = {}
    for operator in operators:
        inputs = [found[each] for each in operator.inputs]
        found[operator] = Properties(
            _order(operator, inputs, order), _distribution(operator, inputs, order), operator.node.time is not None
        )
    return found


_ROWWISE = ops.ColumnsOp | ops.StageOp | ops.KernelOp | ops.TimestampsInPythonOp
_UNCHANGED = ops.CacheOp | ops.OrderedOp | ops.WriteOp | ops.TimestampsOp | ops.WatermarkOp
"""The kinds that pass on rows."""
_IN_MEMORY = (source.StreamIter, source.StreamRange, source.StreamArrow, source.StreamParIter)
"""The sources whose partitions are always in the order of their elements."""


def _order(operator: Physical, inputs: list[Properties], order: OrderRequirements) -> RowOrder:
    node = operator.node
    if isinstance(operator, _ROWWISE | _UNCHANGED) and inputs:
        return inputs[0].order
    if not node.bounded:
        return "column" if node in order.needed or node in order.shown else "none"
    if node in order.carried:
        return "column"
    if isinstance(operator, ops.ReadOp | ops.ParseOp | ops.Given | ops.LoopOp | ops.LoopResultOp):
        return "partitions" if node in order.seen or isinstance(node, _IN_MEMORY) else "none"
    if isinstance(operator, ops.UnionOp):
        return "partitions" if all(each.order == "partitions" for each in inputs) else "none"
    return "partitions" if node in order.needed or isinstance(operator, ops.SortOp) else "none"


def _distribution(operator: Physical, inputs: list[Properties], order: OrderRequirements) -> Distribution:
    node = operator.node
    before = inputs[0].distribution if inputs else "any"
    if isinstance(operator, _ROWWISE):
        # a new key is a new column, and all columns are new after a pass in Python
        same_columns = isinstance(operator, ops.ColumnsOp) and not isinstance(node, keyed.KeyBy)
        return before if same_columns or before == "single" else "any"
    return before if _moves_nothing(operator, before, order) else _distribution_by(operator, before, order)


def _moves_nothing(operator: Physical, before: Distribution, order: OrderRequirements) -> bool:
    """Whether an operator that is not row-wise does not move rows."""
    node, ordered = operator.node, operator.node in order.needed - order.carried
    if isinstance(operator, ops.ExchangeOp):
        return ordered and (isinstance(node, partition.RepartitionBy) or not node.bounded)
    if isinstance(operator, ops.NativeAggregateOp) and isinstance(node, window.Window):
        return isinstance(node.kind, window.TimeKind) and not ordered and before != "any"
    if isinstance(operator, ops.SortOp):
        return node in order.carried
    return isinstance(operator, _UNCHANGED)


def _distribution_by(operator: Physical, before: Distribution, order: OrderRequirements) -> Distribution:
    """How an operator distributes its results."""
    node, ordered = operator.node, operator.node in order.needed - order.carried
    key = node.inputs[0].type.key if node.inputs and isinstance(node.inputs[0].type, Keyed) else None
    by_column = key is not None and not contains_any(key) and not ordered
    match operator:
        case ops.NativeAggregateOp() if isinstance(node, aggregate.Unique) or not node.bounded:
            return "any"
        case ops.NativeAggregateOp() if isinstance(node, window.Window):
            return _distribution_by_window(node, by_column)
        case ops.NativeAggregateOp() | ops.CountTokensOp():
            return "single" if key is None else "key" if by_column else "any"
        case ops.TwoPhaseFoldOp():
            return "single" if key is None else "any"
        case ops.InOrderOp():
            timed = isinstance(node, window.Window) and node.kind.timed
            return "single" if isinstance(node, aggregate.SortedBy) or (key is None and not timed) else "any"
        case ops.SortOp():
            limited = isinstance(node, aggregate.Limit) or (isinstance(node, aggregate.SortedBy) and node.n is not None)
            return "single" if limited or before == "single" else "any"
        case ops.ExchangeOp():
            return _distribution_by_exchange(node, by_column)
        case _:
            return "any"


def _distribution_by_window(node: window.Window, by_column: bool) -> Distribution:
    if node.input.keyed:
        by_key = not isinstance(node.kind, window.TimeKind) and by_column
        return "key" if by_key else "any"
    return "any" if isinstance(node.kind, window.TimeKind) else "single"


def _distribution_by_exchange(node: Node, by_column: bool) -> Distribution:
    if isinstance(node, partition.RepartitionBy):
        assert isinstance(node.type, Keyed)
        plain = not any(leaf.type.children or leaf.type in (FLOAT, Optional(FLOAT)) for leaf in leaves(node.type.key))
        return "key" if by_column and plain else "any"
    return "single" if isinstance(node, partition.Parallelism) and node.n == 1 else "any"
