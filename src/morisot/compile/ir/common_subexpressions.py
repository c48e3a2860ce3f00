"""Common subexpressions: a shared value also replaces equal expressions elsewhere: `words[0] if words else ""`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from morisot.compile.ir.expressions import Call, Case, Each, Expr, Shared, rebuilt, walk
from morisot.compile.verdict import ColumnForm, Value

_LARGEST = 1_000
"""The most parts of a form that is searched, because every part is compared with every shared value."""


def share_equal(form: ColumnForm) -> ColumnForm:
    """The form with every expression that equals a shared value replaced by it."""
    parts = (part for expr in (*form.result.leaves(), *(expr for _, expr in form.shared)) for part in walk(expr))
    if not form.shared or next(islice(parts, _LARGEST, None), None) is not None:
        return form
    names: dict[Expr, Expr] = {}

    def change(part: Expr) -> Expr | None:
        return names.get(part) if isinstance(part, Call | Case | Each) else None

    shared = []
    for name, expr in form.shared:  # a later one may use an earlier one
        shared.append((name, rebuilt(expr, change)))
        names[expr] = Shared(name)
    return ColumnForm(_replaced(form.result, change), tuple(shared))


def _replaced(value: Value, change: Callable[[Expr], Expr | None]) -> Value:
    expr = None if value.expr is None else rebuilt(value.expr, change)
    return Value(value.type, expr, tuple(_replaced(item, change) for item in value.items))
