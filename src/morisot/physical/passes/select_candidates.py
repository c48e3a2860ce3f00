"""Windows that select an element of a Parquet source: only the elements with the extreme value are compared.

Reading two columns twice costs less than sorting all columns once. So the extreme of each window is computed first.
"""

from __future__ import annotations

import dataclasses

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.ir.expressions import Input
from morisot.physical import ops
from morisot.physical.choose.window import recognised_fold
from morisot.physical.ops import SELECTED, Choice, Selection
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import StreamParquet
from morisot.plan.nodes.window import Measure, TimeKind, Window
from morisot.types.element import BOOL, DATE, DATETIME, INT, leaves

_HASHED = frozenset({INT, BOOL, DATE, DATETIME})
"""The types of which Spark keeps an extreme in a hash map, and whose equal values are the same."""


def select_candidates(graph: Neighbours) -> dict[Node, Choice]:
    """The choices, with the rung `candidates` for windows of all elements of Parquet files."""
    found = dict(graph.choices)
    for node, choice in graph.choices.items():
        if isinstance(node, Window) and _selects(node, choice) and _is_read_cheaply(node.input, graph):
            parts = dict.fromkeys((leaf.path for leaf in leaves(node.element)), SELECTED)
            found[node] = dataclasses.replace(choice, selection=Selection("candidates", parts))
    return found


def _selects(node: Window, choice: Choice) -> bool:
    """Whether a window of event time selects one element. With keys, there may be too many windows."""
    if choice.kind is not ops.NativeAggregateOp or node.input.keyed or len(node.measures) != 1:
        return False
    if not isinstance(node.kind, TimeKind) or node.kind.processing:
        return False
    return _compares_hashed(node, node.measures[0], choice)


def _compares_hashed(node: Window, measure: Measure, choice: Choice) -> bool:
    """Whether the compared values are of such a type."""
    if measure.kind in ("min_element", "max_element"):
        assert measure.function is not None
        return choice.columns[measure.function].type in _HASHED
    if measure.kind != "reduce":
        return False
    fold = recognised_fold(node, measure)
    if not isinstance(fold, NativeExtreme) or not isinstance(fold.key, Input):
        return False
    return any(leaf.path == fold.key.path and leaf.type in _HASHED for leaf in leaves(node.element))


def _is_read_cheaply(node: Node, graph: Neighbours) -> bool:
    """Whether the elements are rows of Parquet files, after operators that are expressions over columns."""
    while graph.readers[node] == 1 and (choice := graph.choices.get(node)) is not None:
        if isinstance(node, StreamParquet):
            return choice.kind is ops.ReadOp
        if choice.kind not in (ops.ColumnsOp, ops.TimestampsOp) or len(node.inputs) != 1:
            return False
        (node,) = node.inputs
    return False
