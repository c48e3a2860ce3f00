"""Aggregates and selections: native ones if they give exactly Python's results, else folds in Python."""

from __future__ import annotations

import dataclasses

from morisot.compile.aggregates.extremes import NativeExtreme
from morisot.compile.aggregates.folds import NativeFold, recognise_fold, recognise_fold_assoc, recognise_reduce
from morisot.compile.choose import verdict_of
from morisot.compile.ir.values import required_parts
from morisot.compile.table.records import compares_by_fields
from morisot.compile.verdict import ColumnForm, Refusal, Verdict
from morisot.physical.choose.rowwise import MOVED, OWN_OUTCOME
from morisot.physical.ops import (
    COLUMN,
    Choice,
    InOrderOp,
    KeyedStateOp,
    NativeAggregateOp,
    Physical,
    Reason,
    SortOp,
    TwoPhaseFoldOp,
)
from morisot.plan.nodes.aggregate import (
    Avg,
    First,
    Fold,
    FoldAssoc,
    Limit,
    MaxElement,
    MinElement,
    Reduce,
    ReduceAssoc,
    SortedBy,
    Sum,
    Unique,
)
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Record, Type, arguments, leaves

SUMMABLE = (INT, FLOAT, BOOL)
"""The types that Spark adds as Python does."""
ORDERED = (INT, FLOAT, BOOL, STR, DATE, DATETIME)
"""The types that Spark compares as Python does, except NaN."""
RUNNING = "on unbounded input its state is in Python"

ValueNode = Sum | Avg | MinElement | MaxElement
FoldNode = ReduceAssoc | FoldAssoc | Fold | Reduce


def choose_value(node: ValueNode, demoted: frozenset[Node]) -> Choice:
    """An aggregate of the result of a function for each element."""
    if not node.bounded:
        return Choice(KeyedStateOp, all_of(node, Reason("stage", RUNNING)))
    verdict = verdict_of(node.value, node.signature("value"))
    summed = isinstance(node, Sum | Avg)
    verdict = present(verdict)
    if not isinstance(verdict, ColumnForm):
        return Choice(TwoPhaseFoldOp, {node.value: Reason.of("stage", verdict.refusal)})
    if node in demoted:
        return Choice(TwoPhaseFoldOp, {node.value: Reason("stage", MOVED)})
    if node.leaves_out and verdict.raises:
        return Choice(TwoPhaseFoldOp, {node.value: Reason("stage", OWN_OUTCOME)})
    if verdict.type not in (SUMMABLE if summed else ORDERED):
        return Choice(
            TwoPhaseFoldOp, {node.value: Reason("stage", f"values of type {verdict.type} are folded in Python")}
        )
    # a partial sum of ints may be beyond 64 bits; the largest of several floats may depend on a NaN
    unsafe = verdict.type != FLOAT if summed else verdict.type == FLOAT
    return Choice(NativeAggregateOp, {node.value: COLUMN}, {node.value: verdict}, verdict.raises or unsafe)


def present(verdict: Verdict) -> Verdict:
    """A column form that fails on None. In Python a sum or comparison of None fails, or it is the only value."""
    if not isinstance(verdict, ColumnForm):
        return verdict
    return dataclasses.replace(verdict, result=required_parts(verdict.result))


def choose_fold(node: FoldNode, demoted: frozenset[Node]) -> Choice:
    """A fold: native if it consists of native aggregates."""
    if not node.bounded:
        return Choice(KeyedStateOp, all_of(node, Reason("stage", RUNNING)))
    merges = isinstance(node, FoldAssoc | ReduceAssoc)
    in_python: type[Physical] = TwoPhaseFoldOp if merges else InOrderOp
    if node in demoted:
        return Choice(in_python, all_of(node, Reason("stage", MOVED)))
    fold = recognised_fold(node)
    if isinstance(fold, Refusal):
        how = "partition by partition" if merges else "element by element"
        reason = Reason.of("stage", fold, f"this fold runs in Python, {how}: {fold}")
        return Choice(in_python, all_of(node, reason))
    if node.leaves_out and fold.raises:
        return Choice(in_python, all_of(node, Reason("stage", OWN_OUTCOME)))
    return Choice(NativeAggregateOp, all_of(node, COLUMN), may_fail=True, detail=fold)


def recognised_fold(node: FoldNode) -> NativeFold | NativeExtreme | Refusal:
    """The fold as native aggregates, or the reason why it is none."""
    accumulator = arguments(node.type)[-1]
    match node:
        case FoldAssoc():
            return recognise_fold_assoc(node.init, node.local, node.combine, accumulator, node.element)
        case Fold():
            return recognise_fold(node.init, node.function, accumulator, node.element)
        case _:
            return recognise_reduce(node.function, node.element)


def choose_sort(node: SortedBy, demoted: frozenset[Node]) -> Choice:
    """A sort: native if Spark compares the keys as Python does."""
    verdict = present(verdict_of(node.key, node.signature("key")))
    if not isinstance(verdict, ColumnForm):
        return Choice(InOrderOp, {node.key: Reason.of("stage", verdict.refusal)})
    if node in demoted:
        return Choice(InOrderOp, {node.key: Reason("stage", MOVED)})
    types = [leaf.type for leaf in leaves(verdict.type)]
    if not (has_order_of_parts(verdict.type) and all(type_ in ORDERED for type_ in types)):
        reason = Reason("stage", f"values of type {verdict.type} are compared in Python")
        return Choice(InOrderOp, {node.key: reason})
    return Choice(SortOp, {node.key: COLUMN}, {node.key: verdict}, verdict.raises or FLOAT in types)


def has_order_of_parts(type_: Type) -> bool:
    """Whether Python compares two values part by part. A record class may have no order, or an order of its own."""
    if isinstance(type_, Record) and not compares_by_fields(type_.cls):
        return False
    return all(has_order_of_parts(child) for _, child in type_.children)


def choose_selection(node: Limit | Unique | First, demoted: frozenset[Node]) -> Choice:
    """A selection of elements: native on bounded input, a state on unbounded input."""
    if not node.bounded:
        return Choice(KeyedStateOp)
    return Choice(SortOp if isinstance(node, Limit) else NativeAggregateOp)


def all_of(node: Node, reason: Reason) -> dict[Closure, Reason]:
    """The same reason for each function of an operator."""
    return {closure: reason for _, closure in node.closures}
