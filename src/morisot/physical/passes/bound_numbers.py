"""Simplifies arithmetic of column forms by the intervals of their ints: those of a range, of lengths and remainders."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from morisot.compile.ir.expressions import Input
from morisot.compile.ir.intervals import Interval, joined, simplified
from morisot.compile.verdict import ColumnForm
from morisot.physical.ops import Choice, ColumnsOp
from morisot.physical.passes.neighbours import Neighbours
from morisot.plan.nodes.aggregate import Aggregation
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.combine import Branch, Merge, SplitBy
from morisot.plan.nodes.keyed import KeyBy, Unkey
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.rowwise import Filter, Map
from morisot.plan.nodes.source import StreamRange
from morisot.types.element import INT, Keyed, leaves

Path = tuple[int, ...]
Bounds = dict[Path, Interval]
"""The intervals of leaves of an element, by their paths."""


def bound_numbers(graph: Neighbours) -> dict[Node, Choice]:
    """The choices, with simpler column forms. Inputs are chosen before their readers."""
    changed = dict(graph.choices)
    known: dict[Node, Bounds] = {}
    for node in graph.choices:
        if isinstance(node, StreamRange) and node.range:
            first, last = sorted((node.range[0], node.range[-1]))
            known[node] = {(): (first, last)}
        if not node.inputs:
            continue
        results: dict[Closure, list[Interval | None]] = {}
        if isinstance(node, Map | Filter | KeyBy | SplitBy | Aggregation):
            changed[node], results = _simplified(node, changed[node], known.get(node.inputs[0], {}))
        known[node] = _plain(node, _bounds(node, changed[node], known, results))
    return changed


def _simplified(node: Node, choice: Choice, given: Bounds) -> tuple[Choice, dict[Closure, list[Interval | None]]]:
    """The choice with simpler forms, and the intervals of the result of each function."""
    starts = _parameters(node)

    def of_input(leaf: Input) -> Interval | None:
        return given.get((*starts[leaf.parameter], *leaf.path)) if leaf.parameter < len(starts) else None

    columns: dict[Closure, ColumnForm] = {}
    results: dict[Closure, list[Interval | None]] = {}
    for closure, form in choice.columns.items():
        columns[closure], results[closure] = simplified(form, of_input)
    may_fail = choice.may_fail
    if choice.kind is ColumnsOp and not isinstance(node, SplitBy):
        may_fail = any(form.raises for form in columns.values())
    return dataclasses.replace(choice, columns=columns, may_fail=may_fail), results


def _parameters(node: Node) -> tuple[Path, ...]:
    """The parts of an element that are the parameters of an operator's functions."""
    if not isinstance(node.inputs[0].type, Keyed):
        return ((),)
    return ((1,),) if isinstance(node, KeyBy | Aggregation) else ((0,), (1,))


def _bounds(
    node: Node, choice: Choice, known: Mapping[Node, Bounds], results: Mapping[Closure, list[Interval | None]]
) -> Bounds:
    """The intervals of the elements that an operator emits, if it is one whose elements are followed."""
    before = known.get(node.inputs[0], {})
    keyed = isinstance(node.inputs[0].type, Keyed)
    match node:
        case Filter():
            return before
        case Branch():
            return known.get(node.input.input, {})
        case Merge(streams=streams):
            each = [known.get(stream, {}) for stream in streams]
            shared = set(each[0]).intersection(*each[1:])
            return {path: found for path in shared if (found := joined(one[path] for one in each)) is not None}
        case Unkey(keep="value"):
            return {path[1:]: found for path, found in before.items() if path[0] == 1}
        case Unkey(keep="key"):
            return {path[1:]: found for path, found in before.items() if path[0] == 0}
        case Unkey():
            return before
        case KeyBy() if choice.kind is ColumnsOp:
            key = _of_leaves(node, (0,), results[node.key])
            return key | {
                (1, *(path[1:] if keyed else path)): f for path, f in before.items() if not keyed or path[0] == 1
            }
        case Map() if choice.kind is ColumnsOp and type(node) is Map:
            kept = {path: found for path, found in before.items() if keyed and path[0] == 0}
            return kept | _of_leaves(node, (1,) if keyed else (), results[node.function])
    return {}


def _of_leaves(node: Node, start: Path, found: list[Interval | None]) -> Bounds:
    """The intervals of the leaves of one part of an element."""
    paths = [leaf.path for leaf in leaves(node.type) if leaf.path[: len(start)] == start]
    if len(paths) != len(found):
        return {}
    return {path: each for path, each in zip(paths, found, strict=True) if each is not None}


def _plain(node: Node, bounds: Bounds) -> Bounds:
    """The intervals of leaves that are ints."""
    ints = {leaf.path for leaf in leaves(node.type) if leaf.type == INT}
    return {path: found for path, found in bounds.items() if path in ints}
