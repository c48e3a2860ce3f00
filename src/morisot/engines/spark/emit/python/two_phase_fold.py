"""Aggregates that run in Python: partial results where the data is, a shuffle of those, and a merge in order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.lowering.registry import emits
from morisot.engines.spark.emit.python import in_order
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker, partition_id
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.physical.ops import InOrderOp, TwoPhaseFoldOp
from morisot.plan.nodes import aggregate
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import ANY, Keyed, leaves
from morisot.worker.aggregate import fold
from morisot.worker.rowwise.stage import Step, policies
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.state import Folder, Reducer

if TYPE_CHECKING:
    from morisot.engines.spark.emit.lowering.planner import Lowering

_PLACES = [quoted(name) for name in fold.PLACE_COLUMNS]

_FOLDINGS: dict[type[Node], Callable[[Any], fold.Folding]] = {
    aggregate.ReduceAssoc: lambda node: fold.Reducing(node.function.function),
    aggregate.FoldAssoc: lambda node: fold.FoldingFrom(node.init, own(node, node.local), node.combine.function),
    aggregate.Sum: lambda node: fold.Summing(own(node, node.value)),
    aggregate.Avg: lambda node: fold.Averaging(own(node, node.value)),
    aggregate.MinElement: lambda node: fold.Choosing(own(node, node.value), largest=False),
    aggregate.MaxElement: lambda node: fold.Choosing(own(node, node.value), largest=True),
}


def own(node: Node, closure: Closure) -> Callable[..., Any]:
    """A function that gets one element: where elements may be left out, its failures are told from the fold's."""
    return fold.OnElement(closure.function) if node.leaves_out else closure.function


def folding_of(node: Node) -> fold.Folding:
    """What an aggregate that can be merged does with its elements in Python."""
    return _FOLDINGS[type(node)](node)


@emits(TwoPhaseFoldOp, *_FOLDINGS)
def lower_fold(node: aggregate.Aggregation, lowering: Lowering, frame: Frame, steps: tuple[Step, ...]) -> Frame:
    for _, closure in node.closures:
        check_travels(closure)
    element, output = node.input.type, node.type
    key = element.key if isinstance(element, Keyed) else None
    accumulator = ANY  # on the way an int may be beyond 64 bits; only the result has to fit its type
    policy = lowering.policy(node)
    task = fold.Fold(folding_of(node), node.operator, node.location, policy)
    account = lowering.account([*policies(steps), *([policy] if policy else [])])
    partial = fold.PartialFold(steps, frame.type, element, accumulator, task, partition_id(), dumps, account)
    merge = fold.MergeFold(key, accumulator, output, task, dumps)
    partial_type = fold.partial_type(key, accumulator)
    partition, sequence, same = (quoted(leaf.column) for leaf in leaves(partial_type)[:3])
    rows = frame.df.mapInArrow(in_worker(partial), schema.ddl(partial_type))
    rows = rows.repartition(1) if key is None else rows.repartition(lowering.parallelism, same)
    rows = rows.sortWithinPartitions(same, partition, sequence)
    if not lowering.needs_order(node):
        return Frame(rows.mapInArrow(in_worker(merge), schema.ddl(output)), output)
    placed = rows.mapInArrow(in_worker(dataclasses.replace(merge, ordered=True)), schema.ddl(output, *_PLACES))
    return Frame(placed.orderBy(*_PLACES).drop(*fold.PLACE_COLUMNS), output)


@emits(InOrderOp, aggregate.Fold, aggregate.Reduce)
def lower_fold_in_order(node: aggregate.Fold | aggregate.Reduce, lowering: Lowering, frame: Frame) -> Frame:
    """A fold that is no native aggregate: one element after the other."""
    origin = in_order.origin(node, lowering)
    machine: Machine = (
        Folder(node.init, node.function.function, origin)
        if isinstance(node, aggregate.Fold)
        else Reducer(node.function.function, origin)
    )
    return in_order.in_order(node, lowering, frame.untimed(), machine)
