"""Expressions: from Python's syntax to symbolic values, one small function for each kind of node."""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from morisot.compile import forms, known, records
from morisot.compile.expr import Call, Expr, Literal, Raise
from morisot.compile.scope import Refused, Scope, refuse
from morisot.compile.scope import known as from_object
from morisot.compile.values import (
    FALSE,
    TRUE,
    Known,
    choose,
    conjunction,
    constant,
    convert,
    disjunction,
    expand,
    is_none,
    is_opaque,
    join_types,
    negate,
    pack,
    refine,
    required,
    truth,
    when,
)
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, FLOAT, INT, NONE, STR, List, Optional, Product, Record, Tuple, Type

Node = TypeVar("Node", bound=ast.AST)
Rule = Callable[[Any, Scope], "Value | Known"]
_RULES: dict[type[ast.AST], Rule] = {}

_STAGE = "nothing to change: it runs as Python"


def translates(kind: type[ast.AST]) -> Callable[[Rule], Rule]:
    """Registers the rule for one kind of node."""

    def register(rule: Rule) -> Rule:
        _RULES[kind] = rule
        return rule

    return register


def expression(node: ast.AST, scope: Scope) -> Value | Known:
    """The symbolic value of an expression, or the Python object it is known to be."""
    scope.sharing.step(node)
    rule = _RULES.get(type(node))
    if rule is None:
        refuse(node, f"{_describe(node)} has no column form", _STAGE)
    found = rule(node, scope)
    return refine(found, scope.facts) if isinstance(found, Value) else found


def value(node: ast.AST, scope: Scope) -> Value:
    """The symbolic value of an expression."""
    found = expression(node, scope)
    if isinstance(found, Known):
        refuse(node, f"{_name(found.object)} is not a value a column can hold", _STAGE)
    return found


def operand(node: ast.AST, scope: Scope) -> Value:
    """The value of an expression that something is done with: known in type, and not None."""
    return usable(value(node, scope), node)


def usable(found: Value, node: ast.AST) -> Value:
    """The value, with None ruled out."""
    if is_opaque(found.type):
        refuse(node, f"the type of {ast.unparse(node)} is not known", "annotate the function that made it, or pass returns=")
    if found.type == NONE:
        refuse(node, f"{ast.unparse(node)} is None")
    return required(found)


def condition(node: ast.AST, scope: Scope) -> Expr:
    """An expression where only its truth matters."""
    match node:
        case ast.BoolOp(ast.And(), values):
            return _connect(values, scope, conjunction, True)
        case ast.BoolOp(ast.Or(), values):
            return _connect(values, scope, disjunction, False)
        case ast.UnaryOp(ast.Not(), inner):
            return negate(condition(inner, scope))
    return truth_of(value(node, scope), node, scope)


def truth_of(found: Value, node: ast.AST, scope: Scope) -> Expr:
    if isinstance(found.type, Optional):
        found = scope.small(found)
    result = truth(found)
    if result is None or is_opaque(found.type):
        refuse(node, f"whether a value of type {found.type} is true is not known", "compare it with something")
    return result


def _connect(nodes: Sequence[ast.AST], scope: Scope, join: Callable[[Expr, Expr], Expr], go_on: bool) -> Expr:
    joined = condition(nodes[0], scope)
    for node in nodes[1:]:
        scope = scope.where(joined, go_on)
        joined = join(joined, condition(node, scope))
    return joined


def _describe(node: ast.AST) -> str:
    return {
        ast.Await: "await",
        ast.Yield: "yield",
        ast.YieldFrom: "yield from",
        ast.NamedExpr: ":=",
        ast.Dict: "a dict",
        ast.Set: "a set",
        ast.SetComp: "a set comprehension",
        ast.DictComp: "a dict comprehension",
        ast.GeneratorExp: "a generator",
        ast.Starred: "*",
        ast.Lambda: "a lambda inside",
    }.get(type(node), type(node).__name__)


def _name(found: Any) -> str:
    return str(getattr(found, "__name__", None) or type(found).__name__)


@translates(ast.Constant)
def _constant(node: ast.Constant, scope: Scope) -> Value | Known:
    return from_object(node.value)


@translates(ast.Name)
def _variable(node: ast.Name, scope: Scope) -> Value | Known:
    return scope.lookup(node)


@translates(ast.Tuple)
def _tuple(node: ast.Tuple, scope: Scope) -> Value:
    items = tuple(value(item, scope) for item in node.elts)
    if not items:
        refuse(node, "an empty tuple has no column form", _STAGE)
    return Value(Tuple(tuple(item.type for item in items)), items=items)


@translates(ast.List)
def _list(node: ast.List, scope: Scope) -> Value:
    items = [value(item, scope) for item in node.elts]
    type_: Type = NONE
    for place, item in enumerate(items):
        joined = item.type if place == 0 else join_types(type_, item.type)
        if joined is None:
            refuse(node, f"the list has items of type {type_} and {item.type}", "give all items one type")
        type_ = joined
    if not items:
        return Value(List(NONE), Literal([], List(NONE)))
    return Value(List(type_), Call("array", tuple(pack(convert(item, type_)) for item in items)))


@translates(ast.BinOp)
def _binary(node: ast.BinOp, scope: Scope) -> Value | Known:
    left, right = operand(node.left, scope), operand(node.right, scope)
    return binary(node, node.op, left, right, scope)


def binary(node: ast.AST, op: ast.operator, left: Value, right: Value, scope: Scope) -> Value:
    """`left op right`."""
    folded = _fold(node, op, left, right)
    if folded is not None:
        return folded
    if isinstance(op, ast.Add) and isinstance(left.type, Tuple) and isinstance(right.type, Tuple):
        return Value(Tuple(left.type.items + right.type.items), items=left.items + right.items)
    if isinstance(op, ast.Add) and isinstance(left.type, List) and isinstance(right.type, List):
        return _concatenate(node, left, right)
    row = known.find(known.BINARY.get(type(op), ()), (left, right), widen=True)
    if row is None:
        refuse(node, f"{_symbol(op)} on {left.type} and {right.type} has no exact column form", _advice(op, left, right))
    return known.apply(row, (left, right), scope.small)


def _advice(op: ast.operator, left: Value, right: Value) -> str:
    if isinstance(op, ast.Pow) and FLOAT in (left.type, right.type):
        return "write x * x if its last bit does not matter"
    return _STAGE


def _symbol(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b"))).removeprefix("a ").removesuffix(" b")


def _concatenate(node: ast.AST, left: Value, right: Value) -> Value:
    joined = join_types(left.type, right.type)
    if joined is None:
        refuse(node, f"+ on {left.type} and {right.type}: the items differ in type", "give all items one type")
    return Value(joined, Call("concat", (pack(convert(left, joined)), pack(convert(right, joined)))))


def _fold(node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value | None:
    """Python's own result where both sides are constant numbers: `60 * 60`, `10 ** 9`."""
    a, b = (side.expr.value if isinstance(side.expr, Literal) else None for side in (left, right))
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return None
    if isinstance(op, ast.Pow | ast.LShift) and abs(b) > 1100:
        return None
    try:
        return constant(known.FOLDS[type(op)](a, b))
    except Exception as error:  # what fails on constants fails on every element: Python will say how
        refuse(node, f"{ast.unparse(node)} always fails: {error}")


@translates(ast.UnaryOp)
def _unary(node: ast.UnaryOp, scope: Scope) -> Value | Known:
    if isinstance(node.op, ast.Not):
        return Value(BOOL, condition(node, scope))
    inner = operand(node.operand, scope)
    if isinstance(node.op, ast.USub) and isinstance(inner.expr, Literal) and type(inner.expr.value) in (int, float):
        return from_object(-inner.expr.value)
    row = known.find(known.UNARY[type(node.op)], (inner,), widen=True)
    if row is None:
        refuse(node, f"{ast.unparse(node)} on {inner.type} has no exact column form", _STAGE)
    return known.apply(row, (inner,), scope.small)


@translates(ast.BoolOp)
def _operands(node: ast.BoolOp, scope: Scope) -> Value:
    """`a and b` gives one of its operands, not just a bool."""
    first = value(node.values[0], scope)
    rest = node.values[1:]
    stop_on = isinstance(node.op, ast.Or)
    return _operand_chain(node, first, rest, stop_on, scope)


def _operand_chain(node: ast.BoolOp, first: Value, rest: list[ast.expr], stop_on: bool, scope: Scope) -> Value:
    if not rest:
        return first
    first = scope.small(first) if first.type != BOOL else first
    test = truth_of(first, node, scope)
    inner = scope.where(test, not stop_on)
    second = _operand_chain(node, value(rest[0], inner), rest[1:], stop_on, inner)
    if first.type == second.type == BOOL:
        return Value(BOOL, (disjunction if stop_on else conjunction)(pack(first), pack(second)))
    kept = _known_false(first, test) if not stop_on else refine(first, scope.where(test, True).facts)
    chosen = choose(test, kept, second) if stop_on else choose(test, second, kept)
    if chosen is None:
        refuse(node, f"{ast.unparse(node)} is {first.type} or {second.type}", "give both sides one type")
    return chosen


def _known_false(found: Value, test: Expr) -> Value:
    return found


@translates(ast.IfExp)
def _conditional(node: ast.IfExp, scope: Scope) -> Value:
    test = condition(node.test, scope)
    then, otherwise = value(node.body, scope.where(test)), value(node.orelse, scope.where(test, False))
    return choose_or_refuse(node, test, then, otherwise)


def choose_or_refuse(node: ast.AST, test: Expr, then: Value, otherwise: Value) -> Value:
    chosen = choose(test, then, otherwise)
    if chosen is None:
        refuse(
            node,
            f"the result is {then.type} in one branch and {otherwise.type} in the other",
            "give both branches one type, such as 0.0 for 0",
        )
    return chosen


@translates(ast.Compare)
def _comparison(node: ast.Compare, scope: Scope) -> Value:
    left: Value | Known = expression(node.left, scope)
    result: Expr = TRUE
    for place, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = expression(right_node, scope)
        if isinstance(right, Value) and place < len(node.ops) - 1:
            right = scope.small(right)
        result = conjunction(result, compare(node, op, left, right, scope))
        scope, left = scope.where(result), right
    return Value(BOOL, result)


def compare(node: ast.AST, op: ast.cmpop, left: Value | Known, right: Value | Known, scope: Scope) -> Expr:
    """`left op right`."""
    if isinstance(left, Known):
        refuse(node, f"{_name(left.object)} is compared", _STAGE)
    match op:
        case ast.Is() | ast.IsNot():
            same = _is(node, left, right)
            return same if isinstance(op, ast.Is) else negate(same)
        case ast.In() | ast.NotIn():
            found = _contains(node, left, right, scope)
            return found if isinstance(op, ast.In) else negate(found)
    if isinstance(right, Known):
        refuse(node, f"a comparison with {_name(right.object)} has no column form", _STAGE)
    match op:
        case ast.Eq():
            return equal(node, left, right, scope)
        case ast.NotEq():
            same = equal(node, left, right, scope)
            return negate(same) if not _is_plain_equal(same) else Call("unequal", same.parts)
        case _:
            return _ordered(node, op, usable(left, node), usable(right, node), scope)


def _is_plain_equal(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name == "equal"


def _is(node: ast.AST, left: Value, right: Value | Known) -> Expr:
    if isinstance(right, Known) or NONE not in (left.type, right.type):
        refuse(node, "`is` is understood for None only", "use == instead")
    tested = left if right.type == NONE else right
    if is_opaque(tested.type):
        refuse(node, f"whether a value of type {tested.type} is None is not known", "annotate the function that made it")
    return is_none(tested)


def equal(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    """`left == right`, also where one may be None."""
    if is_opaque(left.type) or is_opaque(right.type):
        refuse(node, f"== on {left.type} and {right.type} is not known", "annotate the function that made the value")
    if NONE in (left.type, right.type):
        return is_none(left if right.type == NONE else right)
    if isinstance(left.type, Optional) or isinstance(right.type, Optional):
        return _equal_or_none(node, scope.small(left), scope.small(right), scope)
    if isinstance(left.type, Product) and isinstance(right.type, Product):
        return _equal_products(node, left, right, scope)
    row = known.find(known.COMPARE[ast.Eq], (left, right), widen=True)
    if row is not None:
        return pack(known.apply(row, (left, right), scope.small))
    if isinstance(left.type, List) or isinstance(right.type, List):
        refuse(node, f"== on {left.type} and {right.type} has no exact column form", _STAGE)
    raising = any(leaf.raises for side in (left, right) for leaf in side.leaves())
    return Call("and", (Raise("never"), FALSE)) if raising else FALSE


def _equal_or_none(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    inner = [expand(side.type.inner, pack(side)) if isinstance(side.type, Optional) else side for side in (left, right)]
    same = equal(node, *inner, scope)
    if isinstance(same, Call) and same.name == "equal":
        return Call("same", same.arguments)
    missing = [is_none(side) for side in (left, right)]
    return when(disjunction(*missing), conjunction(*missing), same)


def _equal_products(node: ast.AST, left: Value, right: Value, scope: Scope) -> Expr:
    for side in (left, right):
        if isinstance(side.type, Record) and not records.compares_as_tuple(side.type.cls):
            refuse(node, f"{side.type} has an == of its own", "compare its fields")
    if len(left.items) != len(right.items):
        return FALSE
    result: Expr = TRUE
    for a, b in zip(left.items, right.items, strict=True):
        if FLOAT in (a.type, b.type) and None in (_literal(a), _literal(b)):
            # Inside a tuple Python compares by identity first, so that a NaN may equal itself.
            a, b = scope.small(a), scope.small(b)
            same = forms.guard(negate(_both_nan(a, b)), equal(node, a, b, scope), "NaN in a tuple")
        else:
            same = equal(node, a, b, scope)
        result = conjunction(result, same)
    return result


def _literal(found: Value) -> Literal | None:
    return found.expr if isinstance(found.expr, Literal) else None


def _both_nan(a: Value, b: Value) -> Expr:
    tests = [Call("is_nan", (pack(side),)) if side.type == FLOAT else FALSE for side in (a, b)]
    return FALSE if FALSE in tests else conjunction(*tests)


def _ordered(node: ast.AST, op: ast.cmpop, left: Value, right: Value, scope: Scope) -> Expr:
    if isinstance(left.type, Tuple) and isinstance(right.type, Tuple) and len(left.items) == len(right.items):
        return _ordered_tuples(node, op, left, right, scope)
    row = known.find(known.COMPARE[type(op)], (left, right), widen=True)
    if row is None:
        refuse(node, f"comparing {left.type} with {right.type} has no exact column form", _STAGE)
    return pack(known.apply(row, (left, right), scope.small))


def _ordered_tuples(node: ast.AST, op: ast.cmpop, left: Value, right: Value, scope: Scope) -> Expr:
    """Tuples are ordered by their first items that differ."""
    result: Expr = TRUE if isinstance(op, ast.LtE | ast.GtE) else FALSE
    for a, b in reversed(list(zip(left.items, right.items, strict=True))):
        if FLOAT in (a.type, b.type):
            refuse(node, "the order of tuples with floats has no exact column form (NaN)", "compare the items one by one")
        a, b = scope.small(usable(a, node)), scope.small(usable(b, node))
        result = when(equal(node, a, b, scope), result, _ordered(node, op, a, b, scope))
    return result


def _contains(node: ast.AST, item: Value, container: Value | Known, scope: Scope) -> Expr:
    if isinstance(container, Known):
        if type(container.object) not in (list, set, frozenset, dict):
            refuse(node, f"`in` {_name(container.object)} has no column form", _STAGE)
        return _member(node, item, [from_object(one) for one in container.object], scope)
    if isinstance(container.type, Product):
        return _member(node, item, list(container.items), scope)
    pair = (usable(item, node), usable(container, node))
    row = known.find(known.IN, pair)
    if row is None:
        refuse(node, f"`in` on {item.type} and {container.type} has no exact column form", _STAGE)
    return pack(known.apply(row, pair, scope.small))


_LONGEST_MEMBERSHIP = 10_000


def _member(node: ast.AST, item: Value, members: list[Value | Known], scope: Scope) -> Expr:
    """`item in (a, b, c)`: equality with each, or Spark's IN where all are constants of the item's type."""
    values = [member for member in members if isinstance(member, Value)]
    if len(values) < len(members) or len(members) > _LONGEST_MEMBERSHIP:
        refuse(node, "`in` a collection that is not made of few plain constants has no column form", _STAGE)
    if any(isinstance(member.expr, Literal) and member.expr.value != member.expr.value for member in values):
        refuse(node, "`in` a collection with NaN has no column form", "use math.isnan")
    item = scope.small(item)
    if isinstance(item.type, Optional):
        has_none = any(member.type == NONE for member in values)
        inner = expand(item.type.inner, pack(item))
        present = _member(node, inner, [member for member in members if member.type != NONE], scope)  # type: ignore[union-attr]
        return when(is_none(item), Literal(has_none, BOOL), present)
    plain = [member for member in values if isinstance(member.expr, Literal) and member.type == item.type]
    if item.type in (INT, STR) and plain:
        others = [member for member in values if member not in plain]
        found: Expr = Call("in", (pack(item), *(pack(member) for member in plain)))
    else:
        others, found = values, FALSE
    if len(others) > 64:
        refuse(node, f"`in` {len(others)} values of other types has no column form", _STAGE)
    for member in others:
        found = disjunction(found, equal(node, item, member, scope))
    return found


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
            refuse(node, f"{owner.type}.{node.attr} is computed by the class", _STAGE)
        return owner.items[owner.type.names.index(node.attr)]
    row = known.find(known.ATTRIBUTES.get((owner.type, node.attr), ()), (owner,))
    if row is None:
        refuse(node, f"the attribute {node.attr} of {owner.type} has no column form", _STAGE)
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
    if owner.type == STR and index.type == INT:
        return Value(STR, forms.text_index(pack(owner), pack(index)))
    if isinstance(owner.type, List) and index.type == INT:
        return expand_small(owner.type.item, forms.list_index(pack(owner), pack(index)), scope)
    refuse(node, f"[…] on {owner.type} with {index.type} has no exact column form", _STAGE)


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
            refuse(node, "an empty tuple has no column form", _STAGE)
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
            refuse(node, "a slice with a step has no column form", _STAGE)
    start, stop = (_bound(bound, scope) for bound in (bounds.lower, bounds.upper))
    if owner.type == STR:
        return Value(STR, forms.text_slice(pack(owner), start, stop))
    if isinstance(owner.type, List):
        return Value(owner.type, forms.list_slice(pack(owner), start, stop))
    refuse(node, f"[…:…] on {owner.type} has no exact column form", _STAGE)


def _bound(node: ast.AST | None, scope: Scope) -> Expr | None:
    found = None if node is None else value(node, scope)
    if node is None or found is None or found.type == NONE:
        return None
    found = scope.small(usable(found, node))
    if found.type != INT:
        refuse(node, f"a slice with a bound of type {found.type}", _STAGE)
    return pack(found)


@translates(ast.JoinedStr)
def _format(node: ast.JoinedStr, scope: Scope) -> Value:
    pieces = [_piece(piece, scope) for piece in node.values]
    return Value(STR, Call("concat", tuple(pieces)) if pieces else Literal("", STR))


def _piece(node: ast.expr, scope: Scope) -> Expr:
    if isinstance(node, ast.Constant):
        return Literal(node.value, STR)
    assert isinstance(node, ast.FormattedValue)
    if node.format_spec is not None or node.conversion not in (-1, ord("s")):
        refuse(node, "a format specification has no column form", _STAGE)
    found = operand(node.value, scope)
    row = known.find(known.FUNCTIONS[str], (found,))
    if row is None:
        refuse(node, f"the text of a value of type {found.type} has no column form", _STAGE)
    return pack(known.apply(row, (found,), scope.small))
