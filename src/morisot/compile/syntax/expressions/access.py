"""Attributes, indexes and slices."""

from __future__ import annotations

import ast
import enum
import inspect
import types
from dataclasses import dataclass
from typing import ClassVar

from morisot.compile.exact import regex, texts
from morisot.compile.exact.forms import guard, number
from morisot.compile.ir.expressions import Call, Expr, Literal
from morisot.compile.ir.values import Known, Match, expand, negate, pack
from morisot.compile.syntax import try_except
from morisot.compile.syntax.expressions import lookups
from morisot.compile.syntax.inlining import inline
from morisot.compile.syntax.lists import of_constants
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import (
    STAGE,
    choose_or_refuse,
    expression,
    operand,
    shown,
    translates,
    usable,
    value,
    value_of,
)
from morisot.compile.table import methods, records, rows
from morisot.compile.verdict import Value
from morisot.types.element import DATE, DATETIME, INT, NONE, STR, Dict, List, Product, Record, Tuple, Type


@translates(ast.Attribute)
def _attribute(node: ast.Attribute, scope: Scope) -> Value | Known:
    part = _part_of_date(node, scope)
    if part is not None:
        return part
    owner = expression(node.value, scope)
    if isinstance(owner, Value):
        return attribute(node, usable(owner, node.value), node.attr, scope)
    if isinstance(owner.object, enum.Enum) and node.attr in ("value", "name"):
        return from_object(getattr(owner.object, node.attr))
    if isinstance(owner.object, types.ModuleType | type) and hasattr(owner.object, node.attr):
        return from_object(getattr(owner.object, node.attr))
    if not is_plain_attribute(owner.object, node.attr):
        refuse(node, f"the method {node.attr} of {shown(type(owner.object))} has no column form", STAGE)
    return refuse(node, f"{ast.unparse(node)} is read from an object", f"put {ast.unparse(node)} in a variable before")


def is_plain_attribute(found: object, name: str) -> bool:
    """Whether an attribute of an object is a value, and no method. Properties are not called."""
    return not callable(inspect.getattr_static(found, name, None))


def attribute(node: ast.AST, owner: Value, name: str, scope: Scope) -> Value | Known:
    """`owner.name`: a field, an attribute of the record's class, or a part of a date."""
    if isinstance(owner.type, Record) and name in owner.type.names:
        if not records.is_plain_field(owner.type.cls, name):
            refuse(node, f"{owner.type}.{name} is computed by the class", STAGE)
        scope.add_strict(owner)
        return owner.items[owner.type.names.index(name)]
    if isinstance(owner.type, Record):
        return _of_class(node, owner, owner.type.cls, name, scope)
    if isinstance(owner.type, Dict) and name == "get":
        return Known(Get(scope.small(owner)))
    row = rows.find(methods.ATTRIBUTES.get((owner.type, name), ()), (owner,))
    if row is None:
        refuse(node, f"the attribute {name} of {owner.type} has no column form", STAGE)
    return rows.apply(row, (owner,), scope.small)


def _of_class(node: ast.AST, owner: Value, cls: type, name: str, scope: Scope) -> Value | Known:
    """An attribute of a record's class: a property or a constant."""
    found = records.class_attribute(cls, name)
    if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
        return inline(node, found.fget, [owner], {}, scope)
    if found is not None and not hasattr(found, "__get__"):
        return from_object(found)
    return refuse(node, f"the attribute {name} of {owner.type} has no column form", STAGE)


@translates(ast.Subscript)
def _subscript(node: ast.Subscript, scope: Scope) -> Value | Known:
    calendar = _iso_calendar(node, scope)
    if calendar is not None:
        return calendar
    found = expression(node.value, scope)
    if isinstance(found, Known):
        if type(found.object) is dict and not isinstance(node.slice, ast.Slice):
            return lookups.item(node, found.object, value(node.slice, scope), scope)
        found = (of_constants(found.object) if type(found.object) is list else None) or found
    owner = usable(value_of(found, node.value), node.value)
    if isinstance(node.slice, ast.Slice):
        if isinstance(owner.type, Product):
            return _slice_of_product(node, node.slice, owner, scope)
        return _slice(node, node.slice, owner, scope)
    return item(node, owner, operand(node.slice, scope), scope)


@dataclass(frozen=True, eq=False)
class Get:
    """`d.get` as a function: `max(d, key=d.get)`."""

    __name__: ClassVar[str] = "get"
    owner: Value


def _part_of_date(node: ast.Attribute, scope: Scope) -> Value | None:
    """`d.timetuple().tm_yday` and `d.isocalendar().week`."""
    match node:
        case ast.Attribute(ast.Call(ast.Attribute(inner, "timetuple"), [], []), "tm_yday"):
            part = "day_of_year"
        case ast.Attribute(ast.Call(ast.Attribute(inner, "isocalendar"), [], []), "week" | "year" as name):
            part = f"iso_{name}"
        case _:
            return None
    owner = expression(inner, scope)
    if not isinstance(owner, Value) or owner.type not in (DATE, DATETIME):
        return None
    return Value(INT, Call(part, (pack(owner),)))


_CALENDAR = ("iso_year", "iso_week", "weekday")


def _iso_calendar(node: ast.Subscript, scope: Scope) -> Value | None:
    """`d.isocalendar()[1]`. The tuple itself is of a class without a column form."""
    match node:
        case ast.Subscript(ast.Call(ast.Attribute(inner, "isocalendar"), [], []), ast.Constant(int(part_number))):
            owner = expression(inner, scope)
            if isinstance(owner, Value) and owner.type in (DATE, DATETIME) and part_number in (0, 1, 2):
                part: Expr = Call(_CALENDAR[int(part_number)], (pack(owner),))
                return Value(INT, part if part_number != 2 else Call("add", (part, Literal(1, INT))))
    return None


def item(node: ast.AST, owner: Value, index: Value, scope: Scope) -> Value:
    """`owner[index]`."""
    if isinstance(owner.type, Product):
        scope.add_strict(owner)
        return _item_of_product(node, owner, index)
    if isinstance(scope.sharing.written_out(pack(owner)), Call):
        scope.add_strict(owner)  # Spark may evaluate one item of array(…) or map(…) without the others
    end = texts.split_end(pack(owner), number(pack(index))) if owner.type == List(STR) and index.type == INT else None
    if end is not None:
        return Value(STR, end)
    index, owner = scope.small(index), scope.small(owner)
    if isinstance(owner.type, Match):
        return regex.group(node, owner, index, scope)
    if isinstance(owner.type, Dict) and index.type == STR:
        present, found = looked_up(owner, index)
        try_except.record(KeyError, negate(present), scope)
        return expand_small(owner.type.value, guard(present, found, "a key that is missing"), scope)
    if owner.type == STR and index.type == INT:
        return Value(STR, texts.text_index(pack(owner), pack(index)))
    if isinstance(owner.type, List) and index.type == INT:
        try_except.record(IndexError, negate(texts.is_inside(pack(index), Call("size", (pack(owner),)))), scope)
        return expand_small(owner.type.item, texts.list_index(pack(owner), pack(index)), scope)
    return refuse(node, f"[…] on {owner.type} with {index.type} has no exact column form", STAGE)


def expand_small(type_: Type, expr: Expr, scope: Scope) -> Value:
    """The value of one column. It is computed once if it has parts, because each part repeats it."""
    if isinstance(type_, Product):
        expr = scope.small_expr(expr, type_)
    return expand(type_, expr)


def _slice_of_product(node: ast.AST, bounds: ast.Slice, owner: Value, scope: Scope) -> Value:
    _check_tuple(node, owner)
    scope.add_strict(owner)
    chosen = owner.items[_constant_slice(bounds, scope)]
    if not chosen:
        refuse(node, "an empty tuple has no column form", STAGE)
    return Value(Tuple(tuple(item.type for item in chosen)), items=chosen)


def _item_of_product(node: ast.AST, owner: Value, index: Value) -> Value:
    _check_tuple(node, owner)
    found, position = rows.constant_of(index)
    if not found or type(position) is not int:
        refuse(node, "the index of a tuple is not a constant", "use a list, or constant indexes")
    if not -len(owner.items) <= position < len(owner.items):
        refuse(node, f"{ast.unparse(node)} is out of range for {owner.type}")
    return owner.items[position]


def _check_tuple(node: ast.AST, owner: Value) -> None:
    if isinstance(owner.type, Record) and not owner.type.is_tuple:
        refuse(node, f"{owner.type} is not a tuple and has no items", "read the field by its name")


def _constant_slice(node: ast.Slice, scope: Scope) -> slice:
    bounds = []
    for bound in (node.lower, node.upper, node.step):
        found, position = (True, None) if bound is None else rows.constant_of(value(bound, scope))
        if not found or type(position) not in (int, type(None)):
            refuse(node, "the slice of a tuple is not constant", "use constant bounds")
        bounds.append(position)
    return slice(*bounds)


def _slice(node: ast.Subscript, bounds: ast.Slice, owner: Value, scope: Scope) -> Value:
    owner = scope.small(owner)
    if bounds.step is not None:
        step = rows.constant_of(value(bounds.step, scope))
        if step == (True, -1) and bounds.lower is None and bounds.upper is None and owner.type == STR:
            return Value(STR, Call("reverse", (pack(owner),)))
        if step == (True, -1) and bounds.lower is None and bounds.upper is None and isinstance(owner.type, List):
            return Value(owner.type, Call("reverse_list", (pack(owner),)))
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


def looked_up(owner: Value, key: Value) -> tuple[Expr, Expr]:
    """Whether a dict has a key, and its value. `element_at` alone gives NULL for a missing key."""
    return Call("has_key", (pack(owner), pack(key))), Call("value_at", (pack(owner), pack(key)))


def dict_method(node: ast.Call, name: str, owner: Value, arguments: list[Value], scope: Scope) -> Value:
    """`d.get(key)` and `d.get(key, default)`."""
    assert isinstance(owner.type, Dict)
    if name != "get" or node.keywords or len(arguments) not in (1, 2):
        refuse(node, f"the method {name} of a dict has no column form", STAGE)
    key = scope.small(usable(arguments[0], node))
    if key.type != STR:
        refuse(node, f"a dict with keys of type {key.type} has no column form", STAGE)
    present, found = looked_up(scope.small(owner), key)
    default = arguments[1] if len(arguments) == 2 else Value(NONE, Literal(None, NONE))
    return choose_or_refuse(node, present, expand_small(owner.type.value, found, scope), default)
