"""The choice of each operator by itself: a file for each family, and the table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.physical.choose import aggregate, iterate, state, time, window
from morisot.physical.choose.rowwise import choose_rowwise
from morisot.physical.choose.source import choose_reading
from morisot.physical.ops import (
    CacheOp,
    Choice,
    ExchangeOp,
    LoopResultOp,
    NativeAggregateOp,
    NativeJoinOp,
    OrderedOp,
    Physical,
    ReadOp,
    Reason,
    TimestampsOp,
    UnionOp,
    WriteOp,
)
from morisot.plan.nodes import aggregate as aggregates
from morisot.plan.nodes import combine, join, partition, sink, source
from morisot.plan.nodes import iterate as loops
from morisot.plan.nodes import state as states
from morisot.plan.nodes import time as times
from morisot.plan.nodes import window as windows
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Rowwise

Chooser = Callable[[Any, frozenset[Node]], Choice]

_CHOOSERS: dict[type[Node], Chooser] = {
    source.StreamParIter: choose_rowwise,
    source.PathSource: choose_reading,
    Rowwise: choose_rowwise,
    aggregates.Sum: aggregate.choose_value,
    aggregates.Avg: aggregate.choose_value,
    aggregates.MinElement: aggregate.choose_value,
    aggregates.MaxElement: aggregate.choose_value,
    aggregates.Fold: aggregate.choose_fold,
    aggregates.Reduce: aggregate.choose_fold,
    aggregates.FoldAssoc: aggregate.choose_fold,
    aggregates.ReduceAssoc: aggregate.choose_fold,
    aggregates.SortedBy: aggregate.choose_sort,
    aggregates.Limit: aggregate.choose_selection,
    aggregates.Unique: aggregate.choose_selection,
    aggregates.UniqueWithin: state.choose_unique_within,
    aggregates.First: aggregate.choose_selection,
    states.RichMap: state.choose_rich,
    states.RichFilterMap: state.choose_rich,
    states.RichFlatMap: state.choose_rich,
    states.Numbered: state.choose_numbered,
    states.Apply: state.choose_apply,
    times.AddTimestamps: time.choose_timestamps,
    times.Reorder: time.choose_reorder,
    windows.Window: window.choose_window,
    windows.WindowJoin: state.choose_stream_join,
    join.IntervalJoin: state.choose_stream_join,
    join.Join: state.choose_join,
    combine.Zip: state.choose_zip,
    loops.Loop: iterate.choose_loop,
    loops.DeltaIterate: iterate.choose_delta,
    sink.ForEach: lambda node, _: Choice(
        WriteOp, {closure: Reason("stage", "it is called in this process") for _, closure in node.closures}
    ),
}
_KINDS: dict[type[Node], type[Physical]] = {
    aggregates.Aggregation: NativeAggregateOp,
    aggregates.WithAggregate: NativeJoinOp,
    combine.Merge: UnionOp,
    partition.Cache: CacheOp,
    partition.Ordered: OrderedOp,
    partition.Shuffle: ExchangeOp,
    partition.Parallelism: ExchangeOp,
    partition.RepartitionBy: ExchangeOp,
    times.DropTimestamps: TimestampsOp,
    loops.State: LoopResultOp,
    loops.Elements: LoopResultOp,
    sink.SinkNode: WriteOp,
}
"""Operators without a choice."""


def choose(node: Node, demoted: frozenset[Node]) -> Choice:
    """How an operator runs by itself. `demoted` are those whose native form failed on the data."""
    for cls in type(node).__mro__:
        if cls in _CHOOSERS:
            return _CHOOSERS[cls](node, demoted)
        if cls in _KINDS:
            return without_choice(node, _KINDS[cls])
    return without_choice(node, ReadOp)


def without_choice(node: Node, kind: type[Physical]) -> Choice:
    """The choice of an operator with one kind and without functions."""
    assert not node.closures, f"{node.operator} has functions without a choice of their forms"
    return Choice(kind)
