"""Access to parts: attributes, indexes and slices."""

from __future__ import annotations

import ast
import types

from morisot.compile import known, records, texts
from morisot.compile.expr import Call, Expr, Literal
from morisot.compile.forms import guard
from morisot.compile.scope import Scope, refuse
from morisot.compile.scope import known as from_object
from morisot.compile.translate import STAGE, choose_or_refuse, expression, operand, translates, usable, value
from morisot.compile.values import Known, expand, pack
from morisot.compile.verdict import Value
from morisot.types.element import INT, NONE, STR, Dict, List, Product, Record, Tuple, Type


@translates(ast.Attribute)
def _attribute(node: ast.Attribute, scope: Scope) -> Value | Known:
    owner = expression(node.value, scope)
    if isinstance(owner, Known):
        if isinstance(owner.object, types.ModuleType) and hasattr(owner.object, node.attr):
            return from_object(getattr(owner.object, node.attr))
        refuse(node, f"{ast.unparse(node)} is read from an object", f"put {ast.unparse(node)} in a variable before")
    owner = usable(owner, node.value)
    if isinstance(owner.type, Record) and node.attr in owner.type.names:
        if not records.is_plain_field(owner.type.cls, node.attr):
            refuse(node, f"{owner.type}.{node.attr} is computed by the class", STAGE)
        return owner.items[owner.type.names.index(node.attr)]
    row = known.find(known.ATTRIBUTES.get((owner.type, node.attr), ()), (owner,))
    if row is None:
        refuse(node, f"the attribute {node.attr} of {owner.type} has no column form", STAGE)
    return known.apply(row, (owner,), scope.small)


@translates(ast.Subscript)
def _subscript(node: ast.Subscript, scope: Scope) -> Value | Known:
    owner = operand(node.value, scope)
    if isinstance(owner.type, Product):
        return _item_of_product(node, owner, scope)
    if isinstance(node.slice, ast.Slice):
        return _slice(node, node.slice, owner, scope)
    index = scope.small(operand(node.slice, scope))
    owner = scope.small(owner)
    if isinstance(owner.type, Dict) and index.type == STR:
        present, found = _looked_up(owner, index)
        return expand_small(owner.type.value, guard(present, found, "a key that is missing"), scope)
    if owner.type == STR and index.type == INT:
        return Value(STR, texts.text_index(pack(owner), pack(index)))
    if isinstance(owner.type, List) and index.type == INT:
        return expand_small(owner.type.item, texts.list_index(pack(owner), pack(index)), scope)
    return refuse(node, f"[…] on {owner.type} with {index.type} has no exact column form", STAGE)


def expand_small(type_: Type, expr: Expr, scope: Scope) -> Value:
    """The value in one column; kept if it has parts, since each part repeats it."""
    if isinstance(type_, Product):
        expr = scope.small_expr(expr, type_)
    return expand(type_, expr)


def _item_of_product(node: ast.Subscript, owner: Value, scope: Scope) -> Value:
    if isinstance(owner.type, Record) and not owner.type.is_tuple:
        refuse(node, f"{owner.type} is not a tuple and has no items", "read the field by its name")
    if isinstance(node.slice, ast.Slice):
        chosen = owner.items[_constant_slice(node.slice, scope)]
        if not chosen:
            refuse(node, "an empty tuple has no column form", STAGE)
        return Value(Tuple(tuple(item.type for item in chosen)), items=chosen)
    index = operand(node.slice, scope)
    found, place = known.constant_of(index)
    if not found or type(place) is not int:
        refuse(node, "the index of a tuple is not a constant", "use a list, or constant indexes")
    if not -len(owner.items) <= place < len(owner.items):
        refuse(node, f"{ast.unparse(node)} is out of range for {owner.type}")
    return owner.items[place]


def _constant_slice(node: ast.Slice, scope: Scope) -> slice:
    bounds = []
    for bound in (node.lower, node.upper, node.step):
        found, place = (True, None) if bound is None else known.constant_of(value(bound, scope))
        if not found or type(place) not in (int, type(None)):
            refuse(node, "the slice of a tuple is not constant", "use constant bounds")
        bounds.append(place)
    return slice(*bounds)


def _slice(node: ast.Subscript, bounds: ast.Slice, owner: Value, scope: Scope) -> Value:
    owner = scope.small(owner)
    if bounds.step is not None:
        step = known.constant_of(value(bounds.step, scope))
        if step == (True, -1) and bounds.lower is None and bounds.upper is None and owner.type == STR:
            return Value(STR, Call("reverse", (pack(owner),)))
        if step != (True, 1):
            refuse(node, "a slice with a step has no column form", STAGE)
    start, stop = (_bound(bound, scope) for bound in (bounds.lower, bounds.upper))
    if owner.type == STR:
        return Value(STR, texts.text_slice(pack(owner), start, stop))
    if isinstance(owner.type, List):
        return Value(owner.type, texts.list_slice(pack(owner), start, stop))
    return refuse(node, f"[…:…] on {owner.type} has no exact column form", STAGE)


def _bound(node: ast.AST | None, scope: Scope) -> Expr | None:
    found = None if node is None else value(node, scope)
    if node is None or found is None or found.type == NONE:
        return None
    found = scope.small(usable(found, node))
    if found.type != INT:
        refuse(node, f"a slice with a bound of type {found.type}", STAGE)
    return pack(found)


def _looked_up(owner: Value, key: Value) -> tuple[Expr, Expr]:
    """Whether a dict has a key, and what is there; `element_at` alone gives NULL for a key that is missing."""
    return Call("has_key", (pack(owner), pack(key))), Call("value_at", (pack(owner), pack(key)))


def dict_method(node: ast.Call, name: str, owner: Value, arguments: list[Value], scope: Scope) -> Value:
    """`d.get(key)` and `d.get(key, default)`."""
    assert isinstance(owner.type, Dict)
    if name != "get" or node.keywords or len(arguments) not in (1, 2):
        refuse(node, f"the method {name} of a dict has no column form", STAGE)
    key = scope.small(usable(arguments[0], node))
    if key.type != STR:
        refuse(node, f"a dict with keys of type {key.type} has no column form", STAGE)
    present, found = _looked_up(scope.small(owner), key)
    default = arguments[1] if len(arguments) == 2 else Value(NONE, Literal(None, NONE))
    return choose_or_refuse(node, present, expand_small(owner.type.value, found, scope), default)
