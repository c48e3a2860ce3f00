"""Functions of a list that is never empty, such as that of a window: without the guards against an empty list."""

from __future__ import annotations

from morisot.compile.ir.expressions import Call, Case, Each, Expr, Input, Literal, Shared, rebuilt
from morisot.compile.ir.strictness import may_raise
from morisot.compile.verdict import ColumnForm, Value

_KEEPS_SIZE = frozenset({"sorted", "reverse_list", "distinct"})


def of_nonempty(form: ColumnForm, items: Input) -> ColumnForm:
    """The form for a list `items` that has at least one item."""
    shared: dict[str, Expr] = {}
    for name, expr in form.shared:
        shared[name] = _simplified(expr, items, shared)
    return ColumnForm(_with_leaves(form.result, items, shared), tuple(shared.items()))


def _with_leaves(value: Value, items: Input, shared: dict[str, Expr]) -> Value:
    if value.expr is not None:
        return Value(value.type, _simplified(value.expr, items, shared))
    return Value(value.type, items=tuple(_with_leaves(item, items, shared) for item in value.items))


def _simplified(expr: Expr, items: Input, shared: dict[str, Expr]) -> Expr:
    """The expression without conditions that hold."""
    inner = rebuilt(expr, lambda part: None if part is expr else _simplified(part, items, shared))
    match inner:
        case Case(((test, then),), _) if _holds(test, items, shared):
            return then
        case _:
            return inner


def _holds(test: Expr, items: Input, shared: dict[str, Expr]) -> bool:
    """Whether a condition holds because the list is not empty, or because nothing that it evaluates can fail."""
    match test:
        case Call("greater", (Call("size", (sized,)), Literal(0))):
            return _is_nonempty(sized, items, shared)
        case Call("evaluated", arguments):
            return not any(may_raise(each, shared) for each in arguments)
        case _:
            return False


def _is_nonempty(expr: Expr, items: Input, shared: dict[str, Expr]) -> bool:
    match expr:
        case Shared(name):
            return _is_nonempty(shared[name], items, shared)
        case Each("transform", of, _, _, _):
            return _is_nonempty(of, items, shared)
        case Call(name, (of,)) if name in _KEEPS_SIZE:
            return _is_nonempty(of, items, shared)
        case Call("concat", parts):
            return any(_is_nonempty(part, items, shared) for part in parts)
        case _:
            return expr == items
