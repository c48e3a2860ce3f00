"""Lists of values and of captured constants, and their concatenation."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from morisot.compile.ir.expressions import Call, Literal
from morisot.compile.ir.values import NEVER, constant, convert, join_types, pack
from morisot.compile.syntax.scope import refuse
from morisot.compile.syntax.translate import STAGE
from morisot.compile.verdict import Value
from morisot.types.element import NONE, List, Type
from morisot.types.infer import of_value

_LARGEST = 500


def list_of(node: ast.AST, items: Sequence[Value]) -> Value:
    """The list of some values, which need a common type."""
    if not items:
        return Value(List(NONE), Literal((), List(NONE)))
    type_ = join_all(node, items)
    return Value(List(type_), Call("array", tuple(pack(convert(item, type_)) for item in items)))


def join_all(node: ast.AST, items: Sequence[Value]) -> Type:
    """The common type of several values."""
    type_ = items[0].type
    for item in items[1:]:
        joined = join_types(type_, item.type)
        if joined is None:
            refuse(node, f"the list has items of type {type_} and {item.type}", "give all items one type")
        type_ = joined
    if type_ in (NONE, NEVER):
        refuse(node, "a list of None has no column form", STAGE)
    return type_


def of_constants(values: list[Any]) -> Value | None:
    """A captured list as a column, if it has plain constants of one type; else None."""
    type_ = of_value(values)
    items = [constant(one) for one in values]
    if not isinstance(type_, List) or not values or len(values) > _LARGEST:
        return None
    found = [item for item in items if item is not None and item.expr is not None]
    if len(found) < len(values):
        return None
    return Value(type_, Literal(tuple(values), type_))


def concatenate(node: ast.AST, left: Value, right: Value) -> Value:
    joined = join_types(left.type, right.type)
    if joined is None:
        refuse(node, f"+ on {left.type} and {right.type}: the items differ in type", "give all items one type")
    return Value(joined, Call("concat", (pack(convert(left, joined)), pack(convert(right, joined)))))
