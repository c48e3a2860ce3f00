"""Operators on numbers, texts, lists, sets and dicts: `a + b`, `-a`."""

from __future__ import annotations

import ast

from morisot.compile.exact import arithmetic, dicts, formats, forms, sets
from morisot.compile.ir.expressions import Call
from morisot.compile.ir.values import DELTA, Known, Set, constant, pack
from morisot.compile.syntax import try_except
from morisot.compile.syntax.lists import concatenate
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, condition, expression, operand, translates, usable, value_of
from morisot.compile.table import functions, rows
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, FLOAT, INT, STR, Dict, List, Tuple


@translates(ast.BinOp)
def _binary(node: ast.BinOp, scope: Scope) -> Value | Known:
    left, right = expression(node.left, scope), expression(node.right, scope)
    if isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor) and _are_collections(left, right):
        return _combined(node, left, right, scope)
    if isinstance(node.op, ast.Mod) and isinstance(left, Value) and left.type == STR:
        return formats.by_percent(node, left, value_of(right, node.right), scope)
    a, b = usable(value_of(left, node.left), node.left), usable(value_of(right, node.right), node.right)
    return binary(node, node.op, a, b, scope)


def _are_collections(*sides: Value | Known) -> bool:
    return any(
        type(side.object) in (set, frozenset, dict) if isinstance(side, Known) else isinstance(side.type, Set | Dict)
        for side in sides
    )


def _combined(node: ast.BinOp, left: Value | Known, right: Value | Known, scope: Scope) -> Value:
    """Operators on sets, and `|` on dicts."""
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
        return concatenate(node, left, right)
    if isinstance(op, ast.Mult) and isinstance(left.type, List) and right.type == INT:
        few = forms.call("less_equal", pack(scope.small(right)), forms.integer(100_000))
        repeated = Call("repeat_list", (pack(left), pack(scope.small(right))))
        return Value(left.type, forms.guard(few, repeated, "a very long list"))
    if scope.trial is not None:
        try_except.record_division(op, left, right, scope)
    row = rows.find(functions.BINARY.get(type(op), ()), (left, right), widen=True)
    if row is None:
        reason = f"{_symbol(op)} on {left.type} and {right.type} has no exact column form"
        refuse(node, reason, _advice(op, left, right))
    cheaper = _CHEAPER.get(type(op)) if {left.type, right.type} <= {INT, DELTA} else None
    found = cheaper(pack(left), pack(right)) if cheaper is not None else None
    return Value(row.result, found) if found is not None else rows.apply(row, (left, right), scope.small)


_CHEAPER = {
    ast.FloorDiv: arithmetic.divided_twice,
    ast.Mult: arithmetic.multiple_below,
    ast.Sub: arithmetic.int_subtract,
}
"""Forms of an operator on ints whose operand is a quotient or remainder; they give None for other operands."""


def _advice(op: ast.operator, left: Value, right: Value) -> str:
    if not isinstance(op, ast.Pow) or FLOAT not in (left.type, right.type):
        return STAGE
    _, exponent = rows.constant_of(right)
    squared, rooted = (
        "write x * x if its last bit does not matter",
        "write math.sqrt(x) for numbers that are not negative",
    )
    return squared if exponent == 2 else rooted if exponent == 0.5 else STAGE


def _symbol(op: ast.operator) -> str:
    return ast.unparse(ast.BinOp(ast.Name("a"), op, ast.Name("b"))).removeprefix("a ").removesuffix(" b")


def _fold(node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value | None:
    """The value that Python computes of two constant numbers: `60 * 60`, `10 ** 9`."""
    a, b = (rows.constant_of(side)[1] for side in (left, right))
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        return None
    if isinstance(op, ast.Pow | ast.LShift) and abs(b) > 1100:
        return None
    try:
        result = constant(functions.FOLDS[type(op)](a, b))
    except Exception as error:  # it fails on every element, too: Python raises the exception
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
