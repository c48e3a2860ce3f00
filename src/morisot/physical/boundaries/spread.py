"""How rows are spread over partitions: Spark does not move again what it knows to be together."""

from __future__ import annotations

from typing import Literal

from morisot.physical import ops
from morisot.physical.ops import Physical
from morisot.physical.plan import Plan
from morisot.plan.nodes import aggregate, keyed, partition, window
from morisot.plan.nodes.node import Node
from morisot.types.element import FLOAT, Keyed, Optional, contains_any, leaves

Spread = Literal["any", "key", "single"]
"""Somehow, those of a key in one partition, or all in one."""


def spread_of(operator: Physical, plan: Plan) -> Spread:
    """How Spark knows the rows of an operator to be spread; what it knows it does not move again."""
    keyed_alike = True
    while True:
        node = operator.node
        if isinstance(operator, ops.ColumnsOp | ops.StageOp | ops.KernelOp | ops.TimestampsInPythonOp):
            # a new key has a new column, and of what leaves Python all columns are new
            keyed_alike = keyed_alike and isinstance(operator, ops.ColumnsOp) and not isinstance(node, keyed.KeyBy)
        elif not _passes(operator, plan):
            spread = _spread_by(operator, plan)
            return "any" if spread == "key" and not keyed_alike else spread
        if not operator.inputs:
            return "any"
        operator = operator.inputs[0]


def _passes(operator: Physical, plan: Plan) -> bool:
    """Whether an operator that is not row-wise leaves rows where they are."""
    node, ordered = operator.node, operator.node in plan.order.needed
    if isinstance(operator, ops.ExchangeOp):
        return ordered and (isinstance(node, partition.RepartitionBy) or not node.bounded)
    if isinstance(operator, ops.NativeAggregateOp) and isinstance(node, window.Window):
        together = spread_of(operator.inputs[0], plan) != "any"
        return isinstance(node.kind, window.TimeKind) and not ordered and together
    return isinstance(operator, ops.TimestampsOp | ops.CacheOp | ops.WriteOp | ops.WatermarkOp)


def _spread_by(operator: Physical, plan: Plan) -> Spread:
    """How an operator spreads its results."""
    node, ordered = operator.node, operator.node in plan.order.needed
    key = node.inputs[0].type.key if node.inputs and isinstance(node.inputs[0].type, Keyed) else None
    by_column = key is not None and not contains_any(key) and not ordered
    match operator:
        case ops.NativeAggregateOp() if isinstance(node, aggregate.Unique) or not node.bounded:
            return "any"
        case ops.NativeAggregateOp() if isinstance(node, window.Window):
            return _spread_by_window(node, ordered, by_column)
        case ops.NativeAggregateOp():
            return "single" if key is None else "key" if by_column else "any"
        case ops.TwoPhaseFoldOp():
            return "single" if key is None else "any"
        case ops.InOrderOp():
            timed = isinstance(node, window.Window) and node.kind.timed
            return "single" if isinstance(node, aggregate.SortedBy) or (key is None and not timed) else "any"
        case ops.SortOp():
            limited = isinstance(node, aggregate.Limit) or (isinstance(node, aggregate.SortedBy) and node.n is not None)
            return "single" if limited or spread_of(operator.inputs[0], plan) == "single" else "any"
        case ops.ExchangeOp():
            return _spread_by_exchange(node, by_column)
        case _:
            return "any"


def _spread_by_window(node: window.Window, ordered: bool, by_column: bool) -> Spread:
    if node.input.keyed:
        by_key = not isinstance(node.kind, window.TimeKind) and by_column
        return "key" if by_key else "any"
    return "any" if isinstance(node.kind, window.TimeKind) else "single"


def _spread_by_exchange(node: Node, by_column: bool) -> Spread:
    if isinstance(node, partition.RepartitionBy):
        assert isinstance(node.type, Keyed)
        plain = not any(leaf.type.children or leaf.type in (FLOAT, Optional(FLOAT)) for leaf in leaves(node.type.key))
        return "key" if by_column and plain else "any"
    return "single" if isinstance(node, partition.Parallelism) and node.n == 1 else "any"
