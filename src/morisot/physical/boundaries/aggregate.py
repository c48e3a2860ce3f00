"""Aggregates, folds and sorts."""

from __future__ import annotations

from collections import Counter

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.aggregates.folds import NativeFold
from morisot.physical import ops
from morisot.physical.boundaries.nodes import (
    AGGREGATE,
    EXCHANGE,
    PYTHON,
    SORT,
    Causing,
    Nodes,
    aggregated,
    canonical,
    moved,
    restored,
)
from morisot.physical.boundaries.streams import instances
from morisot.physical.boundaries.window import is_fixed, native_window, sorts_parts
from morisot.physical.ops import Physical
from morisot.plan.nodes import aggregate, window
from morisot.types.element import Keyed, contains_any, leaves


def native_aggregate(cause: Causing) -> Nodes:
    """An aggregate by key or of the whole stream, and a sort if the order of keys is restored."""
    node = cause.node
    if isinstance(node, window.Window):
        return native_window(cause, node)
    if not node.bounded:  # partial, of the micro-batch, with the state, and the result
        return Counter({AGGREGATE: 4, EXCHANGE: 1}) + canonical(cause.key, structs=False)
    if isinstance(node, aggregate.Unique):
        by_bytes = contains_any(node.type)
        by_sort = by_bytes or cause.by_columns
        single = cause.distribution == "single"
        distinct = aggregated(single, by_sort=by_sort)
        return distinct + Counter({PYTHON: 1 if by_bytes else 0}) + restored(cause, single=single)
    if cause.key is None:
        return aggregated(cause.together)
    by_sort = (
        sorts(cause.operator) or contains_any(cause.key) or (cause.by_columns and (cause.ordered or cause.carries))
    )
    grouped = aggregated(cause.together, by_sort=by_sort)
    return grouped + canonical(cause.key, structs=False) + restored(cause, single=cause.distribution == "single")


def sorts(operator: Physical) -> bool:
    """Whether Spark sorts to aggregate by key: for whole elements, and for extremes of values of variable size."""
    if isinstance(operator, ops.NativeAggregateOp) and operator.selection is not None:
        return _sorts_selection(operator, operator.selection)
    detail = operator.detail if isinstance(operator, ops.NativeAggregateOp) else None
    if isinstance(operator.node, aggregate.MinElement | aggregate.MaxElement | aggregate.First):
        return True
    return isinstance(detail, NativeExtreme) or (isinstance(detail, NativeFold) and sorts_parts(detail))


def _sorts_selection(operator: Physical, selection: ops.Selection) -> bool:
    type_ = operator.node.type
    at = (1,) if isinstance(type_, Keyed) else ()
    types = {leaf.path: leaf.type for leaf in leaves(type_)}
    computed = [path for path, part in selection.parts.items() if part.how in ("compared", "guarded")]
    return selection.rung == "struct" or any(not is_fixed(types[*at, *path]) for path in computed)


def two_phase_fold(cause: Causing) -> Nodes:
    """Partial results in Python, a shuffle, a sort by key and row order, and a pass that merges them."""
    fold = Counter({PYTHON: 2, EXCHANGE: 1, SORT: 1})
    return fold + instances(cause) + restored(cause, single=cause.key is None)


def count_tokens(cause: Causing) -> Nodes:
    """A pass in Python that counts, and a sum of its counts by key or of the whole stream."""
    summed = aggregated(together=False)
    return Counter({PYTHON: 1}) + summed + (restored(cause) if cause.node.keyed else Counter())


def sort(cause: Causing) -> Nodes:
    """A shuffle into ranges and a sort. With a limit Spark sorts the first rows of each partition."""
    node = cause.node
    if cause.carries:
        return Counter()
    limited = isinstance(node, aggregate.Limit) or (isinstance(node, aggregate.SortedBy) and node.n is not None)
    return moved(limited or cause.distribution == "single") + Counter({SORT: 1})
