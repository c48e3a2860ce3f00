"""Expressions: from Python's syntax to symbolic values, one small function for each kind of node."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any

from morisot.compile.exact import forms
from morisot.compile.ir.expressions import Call, Expr, Literal
from morisot.compile.ir.values import (
    Known,
    Set,
    choose,
    conjunction,
    constant,
    convert,
    disjunction,
    is_opaque,
    join_types,
    negate,
    pack,
    refine,
    required,
    truth,
)
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.table import functions, rows
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, FLOAT, INT, NONE, STR, Dict, List, Optional, Tuple, Type

Rule = Callable[[Any, Scope], "Value | Known"]
_RULES: dict[type[ast.AST], Rule] = {}

STAGE = "nothing to change: it runs as Python"
"""The advice where there is none."""


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
        refuse(node, f"{_describe(node)} has no column form", STAGE)
    found = rule(node, scope)
    return refine(found, scope.facts) if isinstance(found, Value) else found


def value(node: ast.AST, scope: Scope) -> Value:
    """The symbolic value of an expression."""
    return value_of(expression(node, scope), node)


def value_of(found: Value | Known, node: ast.AST) -> Value:
    """What was found, which has to be a value."""
    if isinstance(found, Known):
        refuse(node, f"{shown(found.object)} is not a value a column can hold", STAGE)
    return found


def operand(node: ast.AST, scope: Scope) -> Value:
    """The value of an expression that something is done with: known in type, and not None."""
    return usable(value(node, scope), node)


def usable(found: Value, node: ast.AST) -> Value:
    """The value, with None ruled out."""
    if is_opaque(found.type):
        advice = "annotate the return type of the function that made it, or pass returns="
        refuse(node, f"the type of {_source(node)} is not known", advice)
    if found.type == NONE:
        refuse(node, f"{_source(node)} is None")
    return required(found)


def _source(node: ast.AST) -> str:
    return ast.unparse(node) or "the argument"


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
    """`bool(found)`."""
    if isinstance(found.type, Optional):
        found = scope.small(found)
    if found.expr is None or isinstance(found.type, Optional):
        scope.owe(found)
    result = truth(found)
    if result is None or is_opaque(found.type):
        refuse(node, f"whether a value of type {found.type} is true is not known", "compare it with something")
    return result


def _connect(nodes: Sequence[ast.AST], scope: Scope, join: Callable[[Expr, Expr], Expr], go_on: bool) -> Expr:
    joined, inner = condition(nodes[0], scope), scope
    for node in nodes[1:]:
        inner = inner.where(joined, go_on)
        joined = join(joined, condition(node, inner))
    if go_on:
        scope.set_if[joined] = inner.set_here
    return joined


def _describe(node: ast.AST) -> str:
    return {
        ast.Await: "await",
        ast.Yield: "yield",
        ast.YieldFrom: "yield from",
        ast.Dict: "a dict",
        ast.Set: "a set",
        ast.SetComp: "a set comprehension",
        ast.DictComp: "a dict comprehension",
        ast.GeneratorExp: "a generator",
        ast.Starred: "*",
    }.get(type(node), type(node).__name__)


def shown(found: Any) -> str:
    """A Python object's name, for reasons: with its module if it comes with Python."""
    name = str(getattr(found, "__name__", None) or type(found).__name__)
    module = getattr(found, "__module__", None)
    return f"{module}.{name}" if comes_with_python(found) and module != "builtins" else name


def comes_with_python(found: Any) -> bool:
    """Whether an object is defined in the standard library."""
    return str(getattr(found, "__module__", None)).partition(".")[0] in sys.stdlib_module_names


@translates(ast.Constant)
def _constant(node: ast.Constant, _: Scope) -> Value | Known:
    return from_object(node.value)


@translates(ast.Name)
def _variable(node: ast.Name, scope: Scope) -> Value | Known:
    return scope.lookup(node)


@translates(ast.NamedExpr)
def _walrus(node: ast.NamedExpr, scope: Scope) -> Value | Known:
    """`(name := …)`: from here on the name is set, on the ways that come by here."""
    found = expression(node.value, scope)
    kept = scope.small(found) if isinstance(found, Value) else found
    scope.set_here[node.target.id] = kept
    return kept


@translates(ast.Tuple)
def _tuple(node: ast.Tuple, scope: Scope) -> Value | Known:
    found = [expression(item, scope) for item in node.elts]
    if not found:
        refuse(node, "an empty tuple has no column form", STAGE)
    if all(isinstance(item, Known) for item in found):  # classes, for isinstance
        return Known(tuple(item.object for item in found if isinstance(item, Known)))
    items = tuple(value_of(item, node) for item in found)
    return Value(Tuple(tuple(item.type for item in items)), items=items)


@translates(ast.List)
def _list(node: ast.List, scope: Scope) -> Value:
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return _starred(node, scope)
    items = [value(item, scope) for item in node.elts]
    type_: Type = NONE
    for place, item in enumerate(items):
        joined = item.type if place == 0 else join_types(type_, item.type)
        if joined is None:
            refuse(node, f"the list has items of type {type_} and {item.type}", "give all items one type")
        type_ = joined
    if not items:
        return Value(List(NONE), Literal((), List(NONE)))
    return Value(List(type_), Call("array", tuple(pack(convert(item, type_)) for item in items)))


def _starred(node: ast.List, scope: Scope) -> Value:
    """`[*xs, y]`: lists, one after the other."""
    from morisot.compile.syntax import iteration

    whole: Value | None = None
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items = iteration.as_listed(item, iteration.source(item.value, scope))
            part = Value(List(items.type), items.expr)
        else:
            part = iteration.list_of(item, [value(item, scope)])
        whole = part if whole is None else _concatenate(node, whole, part)
    assert whole is not None
    return whole


@translates(ast.BinOp)
def _binary(node: ast.BinOp, scope: Scope) -> Value | Known:
    left, right = expression(node.left, scope), expression(node.right, scope)
    if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor) and _are_collections(left, right):
        return _combined(node, left, right, scope)
    if isinstance(node.op, ast.Mod) and isinstance(left, Value) and left.type == STR:
        from morisot.compile.exact import formats

        return formats.by_percent(node, left, value_of(right, node.right), scope)
    a, b = usable(value_of(left, node.left), node.left), usable(value_of(right, node.right), node.right)
    return binary(node, node.op, a, b, scope)


def _are_collections(*sides: Value | Known) -> bool:
    return any(
        type(side.object) in (set, frozenset, dict) if isinstance(side, Known) else isinstance(side.type, Set | Dict)
        for side in sides
    )


def _combined(node: ast.BinOp, left: Value | Known, right: Value | Known, scope: Scope) -> Value:
    """Sets, and dicts merged by |."""
    from morisot.compile.exact import dicts, sets

    if sets.is_set(left) or sets.is_set(right):
        return sets.combined(node, node.op, left, right)
    first = dicts.as_dict(left)
    if first is None or not isinstance(node.op, ast.BitOr):
        refuse(node, "these dicts are combined in a way that has no column form", STAGE)
    return dicts.merge(node, first, right, scope)


def binary(node: ast.AST, op: ast.operator, left: Value, right: Value, scope: Scope) -> Value:
    """`left op right`."""
    folded = _fold(node, op, left, right)
    if folded is not None:
        return folded
    if isinstance(op, ast.Add) and isinstance(left.type, Tuple) and isinstance(right.type, Tuple):
        return Value(Tuple(left.type.items + right.type.items), items=left.items + right.items)
    if isinstance(op, ast.Add) and isinstance(left.type, List) and isinstance(right.type, List):
        return _concatenate(node, left, right)
    if isinstance(op, ast.Mult) and isinstance(left.type, List) and right.type == INT:
        few = forms.call("less_equal", pack(scope.small(right)), forms.integer(100_000))
        repeated = Call("repeat_list", (pack(left), pack(scope.small(right))))
        return Value(left.type, forms.guard(few, repeated, "a very long list"))
    if scope.trial is not None:
        from morisot.compile.syntax import try_except

        try_except.record_division(op, left, right, scope)
    row = rows.find(functions.BINARY.get(type(op), ()), (left, right), widen=True)
    if row is None:
        reason = f"{_symbol(op)} on {left.type} and {right.type} has no exact column form"
        refuse(node, reason, _advice(op, left, right))
    return rows.apply(row, (left, right), scope.small)


def _advice(op: ast.operator, left: Value, right: Value) -> str:
    if isinstance(op, ast.Pow) and FLOAT in (left.type, right.type):
        return "write x * x if its last bit does not matter"
    return STAGE


def _symbol(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b"))).removeprefix("a ").removesuffix(" b")


def _concatenate(node: ast.AST, left: Value, right: Value) -> Value:
    joined = join_types(left.type, right.type)
    if joined is None:
        refuse(node, f"+ on {left.type} and {right.type}: the items differ in type", "give all items one type")
    return Value(joined, Call("concat", (pack(convert(left, joined)), pack(convert(right, joined)))))


def _fold(node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value | None:
    """Python's own result where both sides are constant numbers: `60 * 60`, `10 ** 9`."""
    a, b = (rows.constant_of(side)[1] for side in (left, right))
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return None
    if isinstance(op, ast.Pow | ast.LShift) and abs(b) > 1100:
        return None
    try:
        result = constant(functions.FOLDS[type(op)](a, b))
    except Exception as error:  # what fails on constants fails on every element: Python will say how
        refuse(node, f"{ast.unparse(node)} always fails: {error}")
    return result or refuse(node, f"{ast.unparse(node)} has a value that no column can hold", STAGE)


@translates(ast.UnaryOp)
def _unary(node: ast.UnaryOp, scope: Scope) -> Value | Known:
    if isinstance(node.op, ast.Not):
        return Value(BOOL, condition(node, scope))
    inner = operand(node.operand, scope)
    found, number = rows.constant_of(inner)
    if isinstance(node.op, ast.USub) and found and type(number) in (int, float):
        return from_object(-number)
    row = rows.find(functions.UNARY[type(node.op)], (inner,), widen=True)
    if row is None:
        refuse(node, f"{ast.unparse(node)} on {inner.type} has no exact column form", STAGE)
    return rows.apply(row, (inner,), scope.small)


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
    kept = refine(first, scope.where(test).facts) if stop_on else first
    chosen = choose(test, kept, second) if stop_on else choose(test, second, kept)
    if chosen is None:
        refuse(node, f"{ast.unparse(node)} is {first.type} or {second.type}", "give both sides one type")
    return chosen


@translates(ast.IfExp)
def _conditional(node: ast.IfExp, scope: Scope) -> Value:
    test = condition(node.test, scope)
    scope.owe(Value(BOOL, test))
    then, otherwise = value(node.body, scope.where(test)), value(node.orelse, scope.where(test, False))
    return choose_or_refuse(node, test, then, otherwise)


def choose_or_refuse(node: ast.AST, test: Expr, then: Value, otherwise: Value) -> Value:
    """`then if test else otherwise`, which must have one type."""
    chosen = choose(test, then, otherwise)
    if chosen is None:
        refuse(
            node,
            f"the result is {then.type} in one branch and {otherwise.type} in the other",
            "give both branches one type, such as 0.0 for 0",
        )
    return chosen
