"""Comparisons: order, equality, `is None` and `in`, also where a value may be None."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from morisot.compile.exact import character_scans, forms, sets
from morisot.compile.ir.expressions import Call, Expr, Literal
from morisot.compile.ir.values import (
    EMPTY_LIST,
    FALSE,
    TRUE,
    Known,
    Match,
    Set,
    conjunction,
    disjunction,
    expand,
    is_none,
    join_types,
    literal_of,
    negate,
    pack,
    when,
)
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, expression, refuse_opaque, shown, translates, usable
from morisot.compile.table import functions, records, rows
from morisot.compile.verdict import Value
from morisot.types.element import (
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Dict,
    List,
    Optional,
    Product,
    Record,
    Tuple,
    Type,
    is_hashable,
)
from morisot.types.infer import without_none


@translates(ast.Compare)
def _comparison(node: ast.Compare, scope: Scope) -> Value:
    left: Value | Known = expression(node.left, scope)
    result: Expr = TRUE
    for index, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = _container(right_node, scope) if isinstance(op, ast.In | ast.NotIn) else expression(right_node, scope)
        if isinstance(right, Value) and index < len(node.ops) - 1:
            right = scope.small(right)
        result = conjunction(result, compare(node, op, left, right, scope))
        scope, left = scope.where(result), right
    return Value(BOOL, result)


def _container(node: ast.expr, scope: Scope) -> Value | Known:
    """The right operand of `in`. Of a display only the items matter, not whether it is a list or a set."""
    if isinstance(node, ast.Set | ast.List) and node.elts:
        return expression(ast.copy_location(ast.Tuple(node.elts, ast.Load()), node), scope)
    return expression(node, scope)


def compare(node: ast.AST, op: ast.cmpop, left: Value | Known, right: Value | Known, scope: Scope) -> Expr:
    """`left op right`."""
    if not isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) and (_is_set(left) or _is_set(right)):
        return sets.compared(node, op, left, right, scope)
    if isinstance(left, Known):
        refuse(node, f"a comparison with {shown(left.object)} has no column form", STAGE)
    sides = [side for side in (left, right) if isinstance(side, Value)]
    if isinstance(op, ast.Is | ast.IsNot) or any(map(_decides_alone, sides)):
        for side in sides:
            scope.add_strict(side)
    match op:
        case ast.Is() | ast.IsNot():
            same = _is(node, left, right)
            return same if isinstance(op, ast.Is) else negate(same)
        case ast.In() | ast.NotIn():
            found = _contains(node, left, right, scope)
            return found if isinstance(op, ast.In) else negate(found)
    if isinstance(right, Known):
        refuse(node, f"a comparison with {shown(right.object)} has no column form", STAGE)
    match op:
        case ast.Eq():
            return equal(node, left, right, scope)
        case ast.NotEq():
            same = equal(node, left, right, scope)
            return negate(same) if not _is_plain_equal(same) else Call("unequal", same.parts)
        case _:
            return _ordered(node, op, usable(left, node), usable(right, node), scope)


def _decides_alone(side: Value) -> bool:
    """Whether one operand, or its first item, may decide a comparison: Python has evaluated both before."""
    return side.type == NONE or isinstance(side.type, Optional | Product)


def _is_set(side: Value | Known) -> bool:
    return type(side.object) in (set, frozenset) if isinstance(side, Known) else isinstance(side.type, Set)


def _is_plain_equal(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name == "equal"


def _is(node: ast.AST, left: Value, right: Value | Known) -> Expr:
    if isinstance(right, Known) or NONE not in (left.type, right.type):
        refuse(node, "`is` has a column form for None only", "use == instead")
    tested = left if right.type == NONE else right
    refuse_opaque(node, tested.type, f"whether a value of type {tested.type} is None is not known")
    return is_none(tested)


def equal(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    """`left == right`, also for operands that may be None."""
    for side in (left, right):
        refuse_opaque(node, side.type, f"the result of == on {left.type} and {right.type} is not known")
        if isinstance(side.type, Match):
            refuse(node, "== on a match has no column form", "compare its groups")
    if NONE in (left.type, right.type):
        return is_none(left if right.type == NONE else right)
    if isinstance(left.type, Optional) or isinstance(right.type, Optional):
        return _equal_or_none(node, scope.small(left), scope.small(right), scope)
    if isinstance(left.type, Product) and isinstance(right.type, Product):
        return _equal_products(node, left, right, scope)
    if isinstance(left.type, List) and isinstance(right.type, List):
        return _compare_lists(node, "equal", left, right, scope)
    row = rows.find(functions.COMPARE[ast.Eq], (left, right), widen=True)
    if row is not None:
        return pack(rows.apply(row, (left, right), scope.small))
    fails = any(leaf.raises for side in (left, right) for leaf in side.leaves())
    if fails or isinstance(left.type, List | Dict) or isinstance(right.type, List | Dict):
        refuse(node, f"== on {left.type} and {right.type} has no exact column form", STAGE)
    return FALSE  # values of different types are never equal


def _equal_or_none(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    a, b = (expand(side.type.inner, pack(side)) if isinstance(side.type, Optional) else side for side in (left, right))
    same = equal(node, a, b, scope)
    if isinstance(same, Call) and same.name == "equal":
        return Call("same", same.arguments)
    missing = [is_none(side) for side in (left, right)]
    return when(disjunction(*missing), conjunction(*missing), same)


def _equal_products(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    if _compared_by_class(node, left) is not _compared_by_class(node, right) or len(left.items) != len(right.items):
        if any(leaf.raises for side in (left, right) for leaf in side.leaves()):
            refuse(node, f"== on {left.type} and {right.type} has no exact column form", STAGE)
        return FALSE
    result: Expr = TRUE
    for a, b in zip(left.items, right.items, strict=True):
        result = conjunction(result, _equal_items(node, a, b, scope))
    return result


def _compared_by_class(node: ast.AST, side: Value) -> type | None:
    """The class of a dataclass, whose records are equal only to records of the same class; None for tuples."""
    if not isinstance(side.type, Record) or records.compares_as_tuple(side.type.cls):
        return None
    if not records.compares_as_dataclass(side.type.cls):
        refuse(node, f"{side.type} has an == of its own", "compare its fields")
    return side.type.cls


def _compare_lists(node: ast.AST, name: str, left: Value, right: Value, scope: Scope) -> Expr:
    """Compares lists. Spark compares item by item, as Python does if no item is None or NaN."""
    joined = join_types(left.type, right.type)
    if EMPTY_LIST in (left.type, right.type) and name == "equal":
        sizes = [Call("size", (pack(side),)) for side in (left, right)]
        return Call("equal", tuple(sizes))
    if joined is None or joined != left.type or joined != right.type or not _is_comparable(joined):
        refuse(node, f"comparing {left.type} with {right.type} has no exact column form", STAGE)
    texts = [character_scans.spelled(pack(side), scope.sharing.written_out) for side in (left, right)]
    if texts[0] is not None and texts[1] is not None:  # the order of characters is the order of the texts
        return Call(name, (texts[0], texts[1]))
    return Call(name, (pack(scope.small(left)), pack(scope.small(right))))


def _is_comparable(type_: Type) -> bool:
    match type_:
        case List(item):
            return _is_comparable(item)
        case Tuple(items):
            return all(map(_is_comparable, items))
    return type_ in (INT, STR, BOOL, BYTES, DATE, DATETIME)


def _has_none(members: Sequence[Value]) -> Expr:
    """Whether one of the values is None."""
    found: Expr = FALSE
    for member in members:
        if member.type == NONE or isinstance(member.type, Optional):
            found = disjunction(found, is_none(member))
    return found


def _equal_items(node: ast.AST, a: Value, b: Value, scope: Scope) -> Expr:
    """Compares items of containers. Python compares them by identity first, so that a NaN may equal itself."""
    if not without_none(a.type) == without_none(b.type) == FLOAT or _is_a_number(a) or _is_a_number(b):
        return equal(node, a, b, scope)
    a, b = scope.small(a), scope.small(b)
    both_nan = conjunction(Call("is_nan", (pack(a),)), Call("is_nan", (pack(b),)))
    return forms.guard(negate(both_nan), equal(node, a, b, scope), "NaN in a container")


def _is_a_number(side: Value) -> bool:
    """Whether a value is a constant, and not NaN."""
    literal = literal_of(side)
    return literal is not None and not (isinstance(literal.value, float) and math.isnan(literal.value))


def _ordered(node: ast.AST, op: ast.cmpop, left: Value, right: Value, scope: Scope) -> Expr:
    if _are_ordered_as_tuples(left, right):
        return _ordered_tuples(node, op, left, right, scope)
    if isinstance(left.type, List) and isinstance(right.type, List):
        return _compare_lists(node, _NAMES[type(op)], left, right, scope)
    row = rows.find(functions.COMPARE[type(op)], (left, right), widen=True)
    if row is None:
        refuse(node, f"comparing {left.type} with {right.type} has no exact column form", STAGE)
    return pack(rows.apply(row, (left, right), scope.small))


_NAMES = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater", ast.GtE: "greater_equal"}


def _are_ordered_as_tuples(left: Value, right: Value) -> bool:
    return len(left.items) == len(right.items) and all(
        isinstance(side.type, Tuple) or (isinstance(side.type, Record) and records.is_ordered_as_tuple(side.type.cls))
        for side in (left, right)
    )


def _ordered_tuples(node: ast.AST, op: ast.cmpop, left: Value, right: Value, scope: Scope) -> Expr:
    """Tuples are ordered by their first items that differ."""
    result: Expr = TRUE if isinstance(op, ast.LtE | ast.GtE) else FALSE
    for a, b in reversed(list(zip(left.items, right.items, strict=True))):
        if FLOAT in (without_none(a.type), without_none(b.type)):
            refuse(node, "the order of tuples with floats (NaN) has no column form", "compare the items one by one")
        first, second = scope.small(usable(a, node)), scope.small(usable(b, node))
        result = when(equal(node, first, second, scope), result, _ordered(node, op, first, second, scope))
    return result


def _contains(node: ast.AST, item: Value, container: Value | Known, scope: Scope) -> Expr:
    if isinstance(container, Known):
        if type(container.object) not in (list, set, frozenset, dict):
            refuse(node, f"`in` {shown(container.object)} has no column form", STAGE)
        if type(container.object) is not list and not is_hashable(item.type):
            refuse(node, f"a value of type {item.type} is in no set: it cannot be hashed")
        return _member(node, item, [from_object(one) for one in container.object], scope)
    if isinstance(container.type, Product):
        scope.add_strict(container)
        return _member(node, item, list(container.items), scope)
    if isinstance(container.type, Set):
        container = Value(List(container.type.item), pack(container))
    pair = (usable(item, node), usable(container, node))
    if isinstance(container.type, Dict) and pair[0].type == STR:
        return Call("has_key", (pack(pair[1]), pack(pair[0])))
    row = rows.find(functions.IN, pair)
    if row is None:
        refuse(node, f"`in` on {item.type} and {container.type} has no exact column form", STAGE)
    return pack(rows.apply(row, pair, scope.small))


_LONGEST_MEMBERSHIP = 10_000


def _member(node: ast.AST, item: Value, members: Sequence[Value | Known], scope: Scope) -> Expr:
    """`item in (a, b, c)`: equality with each, or Spark's IN if all are constants of the item's type."""
    values = [member for member in members if isinstance(member, Value)]
    if len(values) < len(members) or len(members) > _LONGEST_MEMBERSHIP:
        refuse(node, "`in` a collection that is not made of few plain constants has no column form", STAGE)
    if any(member.type == FLOAT and math.isnan(rows.constant_of(member)[1] or 0.0) for member in values):
        refuse(node, "`in` a collection with NaN has no column form", "use math.isnan")
    item = scope.small(item)
    if isinstance(item.type, Optional):
        values = [scope.small(member) for member in values]
        inner = expand(item.type.inner, pack(item))
        present = _member(node, inner, [member for member in values if member.type != NONE], scope)
        return when(is_none(item), _has_none(values), present)
    plain = [member for member in values if isinstance(member.expr, Literal) and member.type == item.type]
    if item.type in (INT, STR) and plain:
        others = [member for member in values if member not in plain]
        found: Expr = Call("in", (pack(item), *(pack(member) for member in plain)))
    else:
        others, found = values, FALSE
    if len(others) > 64:
        refuse(node, f"`in` {len(others)} values of other types has no column form", STAGE)
    for member in others:
        found = disjunction(found, _equal_items(node, item, member, scope))
    return found
