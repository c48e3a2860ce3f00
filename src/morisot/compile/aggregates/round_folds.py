"""The local fold of a loop as Spark's native aggregates, so that the elements of a round do not pass through Python.

A round then has one delta, however many partitions there are, because such a fold gives the same result in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from morisot.compile.aggregates.extremes import ACCUMULATOR
from morisot.compile.aggregates.folds import FoldPart, leaf_values, may_fail, part_from, reads
from morisot.compile.choose import verdict_of
from morisot.compile.ir.expressions import Input
from morisot.compile.verdict import ColumnForm
from morisot.plan.nodes.closure import Closure
from morisot.types import infer
from morisot.types.element import BOOL, FLOAT, INT, Tuple, Type, leaves

_NUMBERS = frozenset({INT, FLOAT, BOOL})


@dataclass(frozen=True)
class NumericFold:
    """One aggregate for each leaf of the delta, None for a leaf that never changes. `form` has shared values."""

    type: Type
    starts: tuple[Any, ...]
    parts: tuple[FoldPart | None, ...]
    form: ColumnForm

    @property
    def raises(self) -> bool:
        """Whether an element may fail."""
        return may_fail(filter(None, self.parts), self.form)


def recognise_round_fold(delta: Any, function: Closure, element: Type) -> NumericFold | None:
    """A fold that folds each of several numbers by itself, in any order; None for other folds."""
    type_ = infer.of_value(delta)
    if not _is_numeric(type_):
        return None
    form = verdict_of(function, (type_, element))
    if not isinstance(form, ColumnForm) or form.type != type_:
        return None
    if any(reads(expr, ACCUMULATOR) for _, expr in form.shared):
        return None
    starts, parts = tuple(leaf_values(delta, type_)), list[FoldPart | None]()
    for leaf, step, start in zip(leaves(type_), form.result.leaves(), starts, strict=True):
        if step == Input(ACCUMULATOR, leaf.path):
            parts.append(None)
            continue
        part = part_from(start, step, leaf)
        if part is None:
            return None
        parts.append(part)
    return NumericFold(type_, starts, tuple(parts), form)


def _is_numeric(type_: Type) -> bool:
    """Whether the type is a number or a tuple of numbers: such values are built without calling the user's code."""
    if isinstance(type_, Tuple):
        return all(_is_numeric(child) for _, child in type_.children)
    return type_ in _NUMBERS
