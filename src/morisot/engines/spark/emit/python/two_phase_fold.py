"""Aggregates that run in Python: partial results of each partition, a shuffle, and a merge in row order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from morisot.engines.spark.emit.core.registry import emits
from morisot.engines.spark.emit.frames import schema
from morisot.engines.spark.emit.frames.frame import Frame
from morisot.engines.spark.emit.frames.sql import quoted
from morisot.engines.spark.emit.python import in_order
from morisot.engines.spark.emit.python.fused_stage import dumps, in_worker, partition_id
from morisot.engines.spark.emit.python.pickling import check_travels
from morisot.physical.ops import InOrderOp, TwoPhaseFoldOp
from morisot.plan.nodes import aggregate
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Type, arguments, leaves
from morisot.worker.aggregate import two_phase_fold
from morisot.worker.aggregate.accumulators import (
    ExtremeAccumulator,
    FoldAccumulator,
    MeanAccumulator,
    Mergeable,
    MergeableExtremeAccumulator,
    MergeableFoldAccumulator,
    ReduceAccumulator,
    SumAccumulator,
)
from morisot.worker.aggregate.two_phase_fold import MergeFold, PartialFold
from morisot.worker.report.origin import OnElement
from morisot.worker.rowwise.steps import Step
from morisot.worker.stateful.state import FoldMachine

if TYPE_CHECKING:
    from morisot.engines.spark.emit.core.emission import Emission

_ORIGINS = [quoted(name) for name in two_phase_fold.ORIGIN_COLUMNS]

_ACCUMULATORS: dict[type[Node], Callable[[Any, Type], Mergeable]] = {
    aggregate.ReduceAssoc: lambda node, result: ReduceAccumulator(node.function.function, result),
    aggregate.FoldAssoc: lambda node, result: MergeableFoldAccumulator(
        node.init, own(node, node.local), result, merge=node.combine.function
    ),
    aggregate.Sum: lambda node, _: SumAccumulator(own(node, node.value)),
    aggregate.Avg: lambda node, _: MeanAccumulator(own(node, node.value)),
    aggregate.MinElement: lambda node, result: extreme(node, result, largest=False),
    aggregate.MaxElement: lambda node, result: extreme(node, result, largest=True),
}


def extreme(
    node: aggregate.MinElement | aggregate.MaxElement, result: Type, *, largest: bool
) -> MergeableExtremeAccumulator:
    """The accumulator of the smallest or largest element."""
    return MergeableExtremeAccumulator(ExtremeAccumulator(own(node, node.value), largest, whole=True, type=result))


def own(node: Node, closure: Closure) -> Callable[..., Any]:
    """A function of one element. If elements may be skipped, its failures are distinguished from those of the fold."""
    return OnElement(closure.function) if node.leaves_out else closure.function


def mergeable(node: Node) -> Mergeable:
    """The accumulator of an aggregate whose partial results can be merged."""
    return _ACCUMULATORS[type(node)](node, arguments(node.type)[-1])


def in_order_machine(node: aggregate.Fold | aggregate.Reduce, emission: Emission) -> FoldMachine:
    """The machine of a fold in row order."""
    result, origin = arguments(node.type)[-1], in_order.origin(node, emission)
    if isinstance(node, aggregate.Fold):
        return FoldMachine("fold", FoldAccumulator(node.init, node.function.function, result), origin)
    return FoldMachine("reduce", ReduceAccumulator(node.function.function, result), origin)


@emits(TwoPhaseFoldOp, *_ACCUMULATORS)
def emit_fold(node: aggregate.Aggregation, emission: Emission, frame: Frame, steps: tuple[Step, ...]) -> Frame:
    for _, closure in node.closures:
        check_travels(closure)
    element, output = node.input.type, node.type
    key = element.key if isinstance(element, Keyed) else None
    accumulator, origin = mergeable(node), in_order.origin(node, emission)
    account = emission.account([origin.policy] if origin.policy else [], steps)
    partial = PartialFold(steps, frame.type, element, accumulator, origin, partition_id(), dumps, account)
    merge = MergeFold(key, output, accumulator, origin, dumps)
    partial_type = two_phase_fold.partial_type(key)
    partition, sequence, same = (quoted(leaf.column) for leaf in leaves(partial_type)[:3])
    rows = frame.df.mapInArrow(in_worker(partial), schema.ddl(partial_type))
    rows = rows.repartition(1) if key is None else rows.repartition(emission.parallelism, same)
    rows = rows.sortWithinPartitions(same, partition, sequence)
    if not emission.needs_order(node):
        return Frame(rows.mapInArrow(in_worker(merge), schema.ddl(output)), output)
    results = rows.mapInArrow(in_worker(dataclasses.replace(merge, ordered=True)), schema.ddl(output, *_ORIGINS))
    return Frame(results.orderBy(*_ORIGINS).drop(*two_phase_fold.ORIGIN_COLUMNS), output)


@emits(InOrderOp, aggregate.Fold, aggregate.Reduce)
def emit_fold_in_order(node: aggregate.Fold | aggregate.Reduce, emission: Emission, frame: Frame) -> Frame:
    """A fold without a native form, element by element."""
    return in_order.in_order(node, emission, frame.untimed(), in_order_machine(node, emission))
