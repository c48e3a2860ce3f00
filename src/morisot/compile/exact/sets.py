"""Sets inside a closure: lists of their distinct items, which only operations independent of order may read."""

from __future__ import annotations

import ast
from typing import Any

from morisot.compile.exact.character_scans import simplified
from morisot.compile.exact.forms import call, text
from morisot.compile.ir.expressions import Call, Each, Expr, Variable
from morisot.compile.ir.values import Known, Set, conjunction, negate, pack
from morisot.compile.syntax import calls, iteration
from morisot.compile.syntax.lists import list_of
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, Arguments, Keywords, expression, translates, usable, value_of
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, INT, STR, List, Tuple, Type

_ITEMS = (INT, STR, BOOL, BYTES, DATE, DATETIME)


def _is_distinct(type_: Type) -> bool:
    """Whether Spark distinguishes values of the type as Python does. It does not for floats (NaN, -0.0) and None."""
    return type_ in _ITEMS or (isinstance(type_, Tuple) and all(map(_is_distinct, type_.items)))


@calls.special(set)
def _set(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value | Known:
    if len(arguments) != 1 or keywords:
        refuse(node, "an empty set has no column form", STAGE)
    (found,) = arguments
    if isinstance(found, Known):
        return _constant(node, found)
    known, constant = rows.constant_of(found)
    if known and isinstance(constant, str | tuple):
        return Known(frozenset(constant))
    found = usable(found, node)
    if isinstance(found.type, Tuple):
        found = list_of(node, found.items)
    return distinct(node, iteration.as_list(found, scope))


calls.special(frozenset)(_set)


def _constant(node: ast.AST, found: Known) -> Known:
    if type(found.object) not in (list, set, frozenset, dict, tuple):
        refuse(node, "a set of an unknown object has no column form", STAGE)
    try:
        return Known(frozenset(found.object))
    except TypeError as error:
        refuse(node, f"{ast.unparse(node)} always fails: {error}")


def distinct(node: ast.AST, found: Value) -> Value:
    """The set of a list's items."""
    if isinstance(found.type, Set):
        return found
    if not isinstance(found.type, List) or not _is_distinct(found.type.item):
        refuse(node, f"a set of {found.type} has no exact column form", STAGE)
    match found.expr:
        case Call("array_remove", (items, gone)):  # one pass computes both
            return Value(Set(found.type.item), call("except", items, call("array", gone)))
    return Value(Set(found.type.item), call("distinct", pack(found)))


@translates(ast.SetComp)
def _comprehension(node: ast.SetComp, scope: Scope) -> Value:
    whole = ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    return distinct(node, value_of(expression(whole, scope), node))


@translates(ast.Set)
def _display(node: ast.Set, scope: Scope) -> Value | Known:
    found = [expression(item, scope) for item in node.elts]
    constants = [(True, one.object) if isinstance(one, Known) else rows.constant_of(one) for one in found]
    if all(known for known, _ in constants):
        return _constant(node, Known([constant for _, constant in constants]))
    return distinct(node, list_of(node, [value_of(one, node) for one in found]))


def is_set(found: Value | Known) -> bool:
    if isinstance(found, Known):
        return type(found.object) in (set, frozenset)
    return isinstance(found.type, Set)


def _listed(node: ast.AST, found: Value | Known) -> Value:
    """The items of a set, also of a constant one."""
    if isinstance(found, Known) and not is_set(found):
        refuse(node, "a set is combined with another object", STAGE)
    if isinstance(found, Known):
        items = [value_of(from_object(one), node) for one in sorted(found.object, key=repr)]
        return distinct(node, list_of(node, items)) if items else refuse(node, "an empty set", STAGE)
    if not isinstance(found.type, Set):
        refuse(node, f"a set is combined with {found.type}", STAGE)
    return found


_COMBINED = {ast.BitAnd: "intersect", ast.BitOr: "union", ast.Sub: "except"}


def combined(node: ast.AST, op: ast.operator, left: Value | Known, right: Value | Known) -> Value:
    """`left & right`, `left | right`, `left - right`."""
    a, b = _listed(node, left), _listed(node, right)
    if type(op) not in _COMBINED or a.type != b.type:
        refuse(node, f"{a.type} and {b.type} are combined in a way that has no column form", STAGE)
    return Value(a.type, call(_COMBINED[type(op)], pack(a), pack(b)))


def compared(node: ast.AST, op: ast.cmpop, left: Value | Known, right: Value | Known, scope: Scope) -> Expr:
    """`left <= right` and the like: whether one set has all items of the other."""
    if isinstance(op, ast.LtE) and isinstance(left, Value) and isinstance(right, Known) and is_set(right):
        within = _within_constant(left, right.object, scope)
        if within is not None:
            return within
    a, b = _listed(node, left), _listed(node, right)
    if a.type != b.type:
        refuse(node, f"comparing {a.type} with {b.type} has no exact column form", STAGE)
    first, second = pack(scope.small(a)), pack(scope.small(b))
    same_size = call("equal", call("size", first), call("size", second))
    match op:
        case ast.LtE():
            return _within(first, second, scope)
        case ast.GtE():
            return _within(second, first, scope)
        case ast.Lt():
            return conjunction(negate(same_size), _within(first, second, scope))
        case ast.Gt():
            return conjunction(negate(same_size), _within(second, first, scope))
        case ast.Eq():
            return conjunction(same_size, _within(first, second, scope))
        case ast.NotEq():
            return negate(conjunction(same_size, _within(first, second, scope)))
    return refuse(node, "sets are compared in a way that has no column form", STAGE)


def _within_constant(found: Value, members: frozenset[Any], scope: Scope) -> Expr | None:
    """`set(text) <= {…}`: whether each item is one of some texts. Duplicates make no difference."""
    if found.type != Set(STR) or not members or not all(type(each) is str for each in members):
        return None
    item = Variable(iteration.variable(scope))
    items = found.expr.arguments[0] if isinstance(found.expr, Call) and found.expr.name == "distinct" else pack(found)
    return simplified(Each("forall", items, item.name, call("in", item, *(text(each) for each in sorted(members)))))


def _within(a: Expr, b: Expr, scope: Scope) -> Expr:
    item = Variable(iteration.variable(scope))
    return Each("forall", a, item.name, Call("array_member", (item, b)))
