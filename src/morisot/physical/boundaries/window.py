"""Windows as native aggregates and window functions of Spark."""

from __future__ import annotations

from collections import Counter

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.aggregates.folds import NativeFold
from morisot.physical.boundaries.nodes import (
    BROADCAST,
    EXCHANGE,
    JOIN,
    SORT,
    WINDOW,
    Causing,
    Nodes,
    aggregated,
    canonical,
    moved,
    restored,
    times,
)
from morisot.physical.choose.window import is_framed, recognised_fold
from morisot.physical.ops import NativeAggregateOp
from morisot.plan.nodes import window
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, Type, contains_any, leaves
from morisot.types.infer import without_none

_FIXED = (INT, FLOAT, BOOL, DATE, DATETIME)
"""The types whose values Spark aggregates in a hash map. For others it sorts."""


def native_window(cause: Causing, node: window.Window) -> Nodes:
    """Aggregates by key and window, after the rows are assigned to windows."""
    by_key = cause.key is not None
    in_objects = any(each.kind == "map" for each in node.measures)  # lists are aggregated in a map of objects
    by_sort = not in_objects and any(_sorts_measure(node, each) for each in node.measures)
    by_sort = by_sort or (by_key and contains_any(cause.key or INT))
    by_sort = by_sort or (cause.compares_columns and not in_objects)
    match node.kind:
        case window.TimeKind():
            windows = extremes(cause) + _paned(cause.together, node.kind, by_sort=by_sort)
        case window.CountKind() if is_framed(node):  # the rows are numbered by the same window function
            windows = positioned(cause)
        case window.CountKind():  # numbered in one partition, or by key: then each window is in one partition
            windows = positioned(cause) + _paned(True, node.kind, by_sort=by_sort)
        case window.SessionKind():
            windows = begun(cause) + aggregated(True, by_sort=by_sort)
        case window.LastKind():
            windows = moved(cause.together) + Counter({SORT: 1, WINDOW: 1})
        case _:
            windows = aggregated(cause.together, by_sort=by_sort and by_key)
            if not by_key:
                return windows
    single = cause.distribution == "single" or not (by_key or isinstance(node.kind, window.TimeKind))
    return canonical(cause.key, structs=False) + windows + restored(cause, single=single)


def extremes(cause: Causing) -> Nodes:
    """The extremes of windows, which are broadcast to find the elements that have them."""
    operator = cause.operator
    if not isinstance(operator, NativeAggregateOp) or operator.selection is None:
        return Counter()
    return aggregated(cause.together) + Counter({EXCHANGE: 1, BROADCAST: 1, JOIN: 1})


def _paned(together: bool, kind: window.TimeKind | window.CountKind, *, by_sort: bool) -> Nodes:
    """One aggregate; for overlapping windows one by panes and one by windows."""
    steps = 1 if kind.slide >= kind.size else 2
    return times(steps, aggregated(together, by_sort=by_sort))


def positioned(cause: Causing) -> Nodes:
    """Row numbers of each key. Without keys Spark numbers the rows of one partition while it reads them."""
    if cause.key is None:
        return Counter({EXCHANGE: 1, SORT: 1})
    return moved(cause.together) + Counter({SORT: 1, WINDOW: 1})


def begun(cause: Causing) -> Nodes:
    """The starts of sessions: rows sorted by key and time, and two window functions."""
    return moved(cause.together) + Counter({SORT: 1, WINDOW: 2})


ENDED = {SORT: 1, WINDOW: 1}
"""The ends of sessions. The rows of a key, or all without keys, are in one partition already."""


def _sorts_measure(node: window.Window, measure: window.Measure) -> bool:
    """Whether Spark sorts to compute a measure of a window."""
    match measure.kind:
        case "first" | "last":
            return not is_fixed(node.element)
        case "min_element" | "max_element":  # by a value and the row order together
            return True
        case "min" | "max":
            return not is_fixed(measure.type)
        case "fold" | "reduce":
            fold = recognised_fold(node, measure)
            return isinstance(fold, NativeExtreme) or (isinstance(fold, NativeFold) and sorts_parts(fold))
        case _:
            return False


def sorts_parts(fold: NativeFold) -> bool:
    """Whether Spark sorts to compute a fold of native aggregates."""
    return not all(is_fixed(part.type) for part in fold.parts)


def is_fixed(type_: Type) -> bool:
    """Whether Spark aggregates all parts of a type in a hash map."""
    return all(without_none(leaf.type) in _FIXED for leaf in leaves(type_))
