"""Displays of tuples and lists: `(a, b)`, `[a, b]`, `[*xs, y]`."""

from __future__ import annotations

import ast

from morisot.compile.ir.expressions import Call, Literal
from morisot.compile.ir.values import Known, convert, join_types, pack
from morisot.compile.syntax import iteration
from morisot.compile.syntax.iteration import Unrolled
from morisot.compile.syntax.lists import concatenate, list_of
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, expression, translates, value, value_of
from morisot.compile.verdict import Value
from morisot.types.element import NONE, List, Tuple, Type


@translates(ast.Tuple)
def _tuple(node: ast.Tuple, scope: Scope) -> Value | Known:
    found = [part for item in node.elts for part in _parts(item, scope)]
    if not found:
        refuse(node, "an empty tuple has no column form", STAGE)
    if all(isinstance(item, Known) for item in found):  # classes, for isinstance
        return Known(tuple(item.object for item in found if isinstance(item, Known)))
    items = tuple(value_of(item, node) for item in found)
    return Value(Tuple(tuple(item.type for item in items)), items=items)


def _parts(item: ast.expr, scope: Scope) -> list[Value | Known]:
    """The items of `*pair`, or the item itself."""
    if not isinstance(item, ast.Starred):
        return [expression(item, scope)]
    items = iteration.source(item.value, scope)
    if not isinstance(items, Unrolled):
        refuse(item, f"a tuple with {ast.unparse(item)}, a list of any length, has no column form", "make it a list")
    return [*items.items]


@translates(ast.List)
def _list(node: ast.List, scope: Scope) -> Value:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return _starred(node, scope)
    items = [value(item, scope) for item in node.elts]
    type_: Type = NONE
    for index, item in enumerate(items):
        joined = item.type if index == 0 else join_types(type_, item.type)
        if joined is None:
            refuse(node, f"the list has items of type {type_} and {item.type}", "give all items one type")
        type_ = joined
    if not items:
        return Value(List(NONE), Literal((), List(NONE)))
    return Value(List(type_), Call("array", tuple(pack(convert(item, type_)) for item in items)))


def _starred(node: ast.List, scope: Scope) -> Value:
    """`[*xs, y]`: lists, one after the other."""
    whole: Value | None = None
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items = iteration.as_listed(item, iteration.source(item.value, scope))
            part = Value(List(items.type), items.expr)
        else:
            part = list_of(item, [value(item, scope)])
        whole = part if whole is None else concatenate(node, whole, part)
    assert whole is not None
    return whole
