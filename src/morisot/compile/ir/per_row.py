"""Values that are computed once for a row, although a function of each item reads them.

Spark replaces a column that is read once by its expression, also if the reader is the function of a `filter`: then it
is computed for each item. A value that is the item of a list of one is not replaced.
"""

from __future__ import annotations

from collections.abc import Iterator

from morisot.compile.ir.expressions import Call, Each, Expr, Literal, Shared, Variable, rebuilt, walk
from morisot.compile.verdict import ColumnForm, Value
from morisot.types.element import INT


def computed_once(form: ColumnForm) -> ColumnForm:
    """The form with every shared value that a function of items reads bound outside of this function."""
    shared = tuple((name, _bound(expr)) for name, expr in form.shared)
    return ColumnForm(_with_leaves(form.result), shared)


def _with_leaves(value: Value) -> Value:
    if value.expr is not None:
        return Value(value.type, _bound(value.expr))
    return Value(value.type, items=tuple(map(_with_leaves, value.items)))


def _bound(expr: Expr) -> Expr:
    """The expression with the shared values of each outermost function of items bound around it."""
    inner = rebuilt(expr, lambda part: None if part is expr else _bound(part)) if not isinstance(expr, Each) else expr
    if not isinstance(inner, Each):
        return inner
    found: Expr = Each(inner.function, _bound(inner.items), inner.variable, inner.body, inner.index)
    for name in dict.fromkeys(_shared_in(inner.body)):
        found = _with_value(name, found)
    return found


def _shared_in(body: Expr) -> Iterator[str]:
    return (part.name for part in walk(body) if isinstance(part, Shared))


def _with_value(name: str, expr: Expr) -> Expr:
    """The expression that reads a shared value as the item of a list of one."""
    once = Variable(f"once_{name}")
    inner = rebuilt(expr, lambda part: once if part == Shared(name) else None)
    single = Each("transform", Call("array", (Shared(name),)), once.name, inner)
    return Call("get", (single, Literal(0, INT)))
