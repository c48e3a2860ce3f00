"""Whether the result of a function on a list depends on the order of the list.

A list of a window is collected in any order. If no order can be seen in the result, it need not be sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from morisot.compile.ir.expressions import Call, Case, Each, Expr, Input, Shared
from morisot.compile.ir.strictness import may_raise
from morisot.compile.verdict import ColumnForm


class _Order(IntEnum):
    """What the order of the input changes in a value."""

    NOTHING = 0
    ITEMS = 1
    """It is a list: the order of its items."""
    VALUE = 2


_OF_ITEMS = frozenset({"size", "array_min", "array_max", "sorted", "sum", "sum_of_bools"})
"""Functions of a list whose result is the same for every order of equal items, of the types that they are used for.

A sum of ints fails if a partial sum is beyond 64 bits. Then the operator is demoted.
"""
_WITH_LIST_LAST = frozenset({"array_member"})
_KEEPS_ITEMS = frozenset({"flatten", "reverse_list", "concat"})


def depends_on_order(form: ColumnForm, items: Input) -> bool:
    """Whether the result of a function differs, or it fails, for another order of the list `items`."""
    shared = dict(form.shared)
    found: dict[str, _Order] = {}
    for name, expr in form.shared:
        found[name] = _order(expr, items, found, shared)
    return any(_order(leaf, items, found, shared) != _Order.NOTHING for leaf in form.result.leaves())


def _order(expr: Expr, items: Input, found: Mapping[str, _Order], shared: dict[str, Expr]) -> _Order:
    if expr == items:
        return _Order.ITEMS
    if isinstance(expr, Shared):
        return found[expr.name]
    parts = [_order(part, items, found, shared) for part in expr.parts]
    most = max(parts, default=_Order.NOTHING)
    if most != _Order.ITEMS:
        return most
    match expr:
        case Call("evaluated"):
            return _Order.NOTHING
        case Call(name) if name in _OF_ITEMS and len(parts) == 1:
            return _Order.NOTHING
        case Call(name, (item, _)) if name in _WITH_LIST_LAST:
            return _order(item, items, found, shared)
        case Call(name) if name in _KEEPS_ITEMS:
            return _Order.ITEMS
        case Each("transform" | "filter", index="") if parts[1] == _Order.NOTHING:
            return _Order.ITEMS
        case Each("exists" | "forall", _, _, body) if parts[1] == _Order.NOTHING and not may_raise(body, shared):
            return _Order.NOTHING
        case Case() if all(_order(test, items, found, shared) == _Order.NOTHING for test, _ in expr.branches):
            return _Order.ITEMS
        case _:
            return _Order.VALUE
