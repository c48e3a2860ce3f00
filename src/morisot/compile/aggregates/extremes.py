"""Folds that select one element: `a if a[0] >= b[0] else b` gives the first element with the greatest key."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from morisot.compile.ir import expressions as ex
from morisot.compile.ir.expressions import Call, Case, Expr, Input, Shared
from morisot.compile.verdict import ColumnForm
from morisot.types.element import BOOL, DATE, DATETIME, FLOAT, INT, STR, Optional, Type, leaves

ACCUMULATOR, ELEMENT = 0, 1
"""The positions of a fold function's parameters."""

_LARGER = {"greater": True, "greater_equal": True, "less": False, "less_equal": False}
_WRITTEN = frozenset({INT, FLOAT, BOOL, STR, DATE, DATETIME})
"""The types that an initial value may consist of: those that have a literal in SQL."""


@dataclass(frozen=True)
class NativeExtreme:
    """A fold as the element with the greatest or smallest key. Of equal keys it is the first, or the last."""

    key: Expr
    """Of an element."""
    is_float: bool
    largest: bool
    last: bool
    keeps: Expr
    """Tests whether the accumulator is retained. It is needed for the initial value, which is not an element."""
    init: Any = None

    @property
    def raises(self) -> bool:
        """Whether the key may fail on some element."""
        return self.key.raises


def recognise_extreme(form: ColumnForm, element: Type) -> NativeExtreme | None:
    """Recognises a function of two elements that returns one of them by comparing a key."""
    if form.type != element:
        return None
    shared = dict(form.shared)
    found = [_written_out(leaf, shared) for leaf in form.result.leaves()]
    match found[0]:
        case Case(((test, taken),), _):
            keeps_accumulator = isinstance(taken, Input) and taken.parameter == ACCUMULATOR
        case _:
            return None
    for leaf, expr in zip(leaves(element), found, strict=True):
        retained, other = Input(ACCUMULATOR, leaf.path), Input(ELEMENT, leaf.path)
        if expr != Case(((test, retained if keeps_accumulator else other),), other if keeps_accumulator else retained):
            return None
    return _by_key(test, keeps_accumulator)


def _by_key(test: Expr, keeps_accumulator: bool) -> NativeExtreme | None:
    name, operands, is_float = comparison(test)
    if name not in _LARGER or len(operands) != 2:
        return None
    left, right = operands
    if right != _swapped(left) or left == right or len(parameters(left)) != 1:
        return None
    accumulator_first = parameters(left) == {ACCUMULATOR}
    larger, strict = _LARGER[name] == accumulator_first, not name.endswith("equal")
    keeps = test if keeps_accumulator else Call("not", (test,))
    return NativeExtreme(
        right if accumulator_first else left,
        is_float,
        larger if keeps_accumulator else not larger,
        strict if keeps_accumulator else not strict,
        keeps,
    )


def with_start(found: NativeExtreme, init: Any, type_: Type) -> NativeExtreme | None:
    """The same with an initial value; None if the initial value has no literal in SQL."""
    plain = (leaf.type.inner if isinstance(leaf.type, Optional) else leaf.type for leaf in leaves(type_))
    return dataclasses.replace(found, init=init) if all(each in _WRITTEN for each in plain) else None


def comparison(test: Expr) -> tuple[str, tuple[Expr, ...], bool]:
    """The name and the sides of a comparison, and whether it compares floats, which includes a test for NaN."""
    match test:
        case Call("and", (Call(name, operands), Call("not", (Call("is_nan"),)))):
            return name, operands, True
        case Call(name, operands):
            return name, operands, False
    return "", (), False


def parameters(expr: Expr) -> set[int]:
    """The parameters that an expression reads."""
    return {each.parameter for each in ex.walk(expr) if isinstance(each, Input)}


def _swapped(expr: Expr) -> Expr:
    """The expression with the two parameters exchanged."""
    return _replaced(expr, lambda each: Input(1 - each.parameter, each.path) if isinstance(each, Input) else None)


def _written_out(expr: Expr, shared: dict[str, Expr]) -> Expr:
    return _replaced(expr, lambda each: _written_out(shared[each.name], shared) if isinstance(each, Shared) else None)


def _replaced(expr: Expr, new: Any) -> Expr:
    """The expression with some of its parts replaced by others."""
    found: Expr | None = new(expr)
    if found is not None:
        return found
    changes = {
        field.name: _replaced_in(getattr(expr, field.name), new) for field in dataclasses.fields(expr) if field.init
    }
    return dataclasses.replace(expr, **changes)


def _replaced_in(value: Any, new: Any) -> Any:
    if isinstance(value, Expr):
        return _replaced(value, new)
    if isinstance(value, tuple):
        return tuple(_replaced_in(each, new) for each in value)
    return value
