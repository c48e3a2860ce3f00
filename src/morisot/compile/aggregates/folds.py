"""Folds that Spark's native aggregates compute. They are recognised by their form, never by executing them.

A fold is native when each leaf of its accumulator is folded by itself, with an operation whose order does not matter,
and the merge of two partial results does the same. Everything else runs in Python, in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from morisot.compile.aggregates.extremes import (
    ACCUMULATOR,
    ELEMENT,
    NativeExtreme,
    comparison,
    recognise_extreme,
    with_start,
)
from morisot.compile.choose import verdict_of
from morisot.compile.ir import expressions as ex
from morisot.compile.ir.expressions import Call, Case, Expr, Input
from morisot.compile.ir.values import negate, pack, required
from morisot.compile.verdict import ColumnForm, Refusal, Value
from morisot.plan.nodes.closure import Closure
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Leaf, Optional, Type, leaves

Kind = Literal["sum", "max", "min", "bool_or", "bool_and", "bit_or", "bit_and", "bit_xor"]

_ORDERED = frozenset({INT, STR, DATE, DATETIME})
_OPERATIONS: dict[str, tuple[Kind, frozenset[Type]]] = {
    "add": ("sum", frozenset({INT})),  # no sum of floats: it depends on their order
    "greatest": ("max", _ORDERED),
    "least": ("min", _ORDERED),
    "or": ("bool_or", frozenset({BOOL})),
    "and": ("bool_and", frozenset({BOOL})),
    "bit_or": ("bit_or", frozenset({INT})),
    "bit_and": ("bit_and", frozenset({INT})),
    "bit_xor": ("bit_xor", frozenset({INT})),
}
_NEUTRAL: dict[Kind, Any] = {"sum": 0, "bit_xor": 0}
"""Neutral initial values, which may be used once per partition. Other operations may repeat any initial value."""


@dataclass(frozen=True)
class FoldPart:
    """One leaf of the accumulator: a native aggregate of `operand` over the elements for which `condition` holds."""

    kind: Kind
    operand: Expr
    condition: Expr | None
    type: Type
    init: Any = None


@dataclass(frozen=True)
class NativeFold:
    """A fold as one aggregate for each leaf. `form` has the values to compute before."""

    parts: tuple[FoldPart, ...]
    form: ColumnForm

    @property
    def raises(self) -> bool:
        """Whether an element may fail. A sum beyond 64 bits is not the failure of an element."""
        return may_fail(self.parts, self.form)


def recognise_fold(
    init: Any, function: Closure, accumulator: Type, element: Type
) -> NativeFold | NativeExtreme | Refusal:
    """`fold` as native aggregates, or the reason why it is none."""
    form = verdict_of(function, (accumulator, element))
    if not isinstance(form, ColumnForm):
        return form.refusal
    if form.type != accumulator:
        return Refusal(
            f"the accumulator has the type {accumulator}, and the result of the function has the type {form.type}"
        )
    extreme = recognise_extreme(form, element)
    if extreme is not None:
        return with_start(extreme, init, element) or _REFUSAL
    if any(reads(expr, ACCUMULATOR) for _, expr in form.shared):
        return Refusal("an intermediate value depends on the accumulator")
    parts = []
    starts = leaf_values(init, accumulator)
    for leaf, step, start in zip(leaves(accumulator), form.result.leaves(), starts, strict=True):
        part = part_from(start, step, leaf)
        if part is None:
            return _REFUSAL
        parts.append(part)
    return NativeFold(tuple(parts), form)


def recognise_fold_assoc(
    init: Any, local: Closure, combine: Closure, accumulator: Type, element: Type
) -> NativeFold | NativeExtreme | Refusal:
    """`fold_assoc` as native aggregates, or the reason why it is none."""
    fold = recognise_fold(init, local, accumulator, element)
    if isinstance(fold, Refusal):
        return fold
    merge_form = verdict_of(combine, (accumulator, accumulator))
    if not isinstance(merge_form, ColumnForm):
        return merge_form.refusal
    if isinstance(fold, NativeExtreme):
        merged = recognise_extreme(merge_form, accumulator)
        same = merged is not None and with_start(merged, init, accumulator) == fold
        return fold if same else _OTHER_MERGE
    if merge_form.shared or merge_form.type != accumulator:
        return _OTHER_MERGE
    for leaf, part, merge in zip(leaves(accumulator), fold.parts, merge_form.result.leaves(), strict=True):
        if _part(merge, leaf.path, leaf.type) != FoldPart(part.kind, Input(ELEMENT, leaf.path), None, leaf.type):
            return _OTHER_MERGE
        if part.kind in _NEUTRAL and part.init != _NEUTRAL[part.kind]:
            return Refusal(f"it starts from {part.init!r}, which every partition would count again")
    return fold


def recognise_reduce(function: Closure, element: Type) -> NativeFold | NativeExtreme | Refusal:
    """`reduce` and `reduce_assoc` as native aggregates, or the reason why they are none."""
    form = verdict_of(function, (element, element))
    if not isinstance(form, ColumnForm):
        return form.refusal
    if isinstance(element, Optional) and form.type == element.inner:
        fold = recognise_reduce(function, element.inner)
        return _of_present(fold, element) if isinstance(fold, NativeFold) else fold
    extreme = recognise_extreme(form, element)
    if extreme is not None:
        return extreme
    if form.shared or form.type != element:
        return _REFUSAL
    parts = []
    for leaf, step in zip(leaves(element), form.result.leaves(), strict=True):
        part = _part(step, leaf.path, leaf.type)
        if part is None or part.operand != Input(ELEMENT, leaf.path) or part.condition is not None:
            return _REFUSAL
        parts.append(part)
    return NativeFold(tuple(parts), form)


def _of_present(fold: NativeFold, element: Optional) -> NativeFold:
    """The same fold of elements that may be None, with a guard against None: Python's operators fail on it."""
    value = pack(required(Value(element, Input(ELEMENT))))
    return NativeFold(tuple(dataclasses.replace(part, operand=value) for part in fold.parts), fold.form)


_OTHER_MERGE = Refusal("the merge of two partial results is not the operation of the fold")
_REFUSAL = Refusal(
    "it is not a sum, minimum, maximum, any or all of each part by itself, nor the element with the greatest key",
    advice="fold each part with +, max, min, or, and; a float sum depends on the order and stays in Python",
)


def leaf_values(value: Any, type_: Type) -> Iterable[Any]:
    """The values of a product's leaves, in order."""
    if not type_.children:
        return [value]
    names = [name for name, _ in type_.children]
    items = value if isinstance(value, tuple) else [getattr(value, name) for name in names]
    return [leaf for item, (_, child) in zip(items, type_.children, strict=True) for leaf in leaf_values(item, child)]


def may_fail(parts: Iterable[FoldPart], form: ColumnForm) -> bool:
    """Whether an expression that a fold evaluates for an element may fail."""
    exprs = [expr for part in parts for expr in (part.operand, part.condition) if expr is not None]
    return any(expr.raises for expr in (*exprs, *(expr for _, expr in form.shared)))


def part_from(start: Any, step: Expr, leaf: Leaf) -> FoldPart | None:
    """The aggregate of one leaf from its initial value on; None if there is no native one."""
    part = _part(step, leaf.path, leaf.type)
    if part is None or (leaf.type == FLOAT and str(start) in ("nan", "-0.0")):
        return None
    return dataclasses.replace(part, init=start)


def _part(step: Expr, path: tuple[int, ...], type_: Type) -> FoldPart | None:
    """The aggregate of one leaf; None if there is no native one."""
    held = Input(ACCUMULATOR, path)
    match step:
        case Call("subtract", (left, right)) if left == held and type_ == INT:
            return _of("sum", Call("negative", (right,), fails=True), None, type_)
        case Call(name, (left, right)) if name in _OPERATIONS and held in (left, right):
            kind, types = _OPERATIONS[name]
            return _of(kind, right if left == held else left, None, type_) if type_ in types else None
        case Case(((condition, taken),), unchanged) if unchanged == held and not reads(condition, ACCUMULATOR):
            return _under(condition, _part(taken, path, type_))
        case Case(((condition, unchanged),), taken) if unchanged == held and not reads(condition, ACCUMULATOR):
            return _under(negate(condition), _part(taken, path, type_))
        case Case(((test, taken),), other) if type_ in _ORDERED or type_ == FLOAT:
            name, operands, _ = comparison(test)
            return _extreme(name, operands, taken, other, held, type_)
    return None


def _extreme(
    name: str, operands: tuple[Expr, ...], taken: Expr, other: Expr, held: Expr, type_: Type
) -> FoldPart | None:
    """`x if x > acc else acc` and its seven variants."""
    if {taken, other} != set(operands) or held not in operands or len(set(operands)) < 2:
        return None
    larger = {"greater": True, "greater_equal": True, "less": False, "less_equal": False}.get(name)
    if larger is None:
        return None
    takes_left = taken == operands[0]
    operand = operands[1] if operands[0] == held else operands[0]
    return _of("max" if larger == takes_left else "min", operand, None, type_)


def _under(condition: Expr, part: FoldPart | None) -> FoldPart | None:
    if part is None or part.condition is not None:
        return None
    return FoldPart(part.kind, part.operand, condition, part.type)


def _of(kind: Kind, operand: Expr, condition: Expr | None, type_: Type) -> FoldPart | None:
    """The part; None if its operand depends on the accumulator."""
    return None if reads(operand, ACCUMULATOR) else FoldPart(kind, operand, condition, type_)


def reads(expr: Expr, parameter: int) -> bool:
    return any(isinstance(each, Input) and each.parameter == parameter for each in ex.walk(expr))
