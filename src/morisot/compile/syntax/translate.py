"""Translation of Python's syntax to symbolic values: the table of rules, and functions that rules share.

A rule calls `expression` for the parts of its node, so that it does not depend on their rules. Most rules are in
`expressions`. Those without further dependencies are here.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from typing import Any

from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import (
    Known,
    choose,
    conjunction,
    disjunction,
    is_opaque,
    negate,
    pack,
    refine,
    required,
    truth,
)
from morisot.compile.syntax.reader import FunctionNode
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.verdict import Value
from morisot.types.element import ANY, BOOL, NONE, Optional, Type

Argument = Value | Known
Arguments = Sequence[Argument]
Keywords = dict[str, Argument]
Rule = Callable[[Any, Scope], "Value | Known"]
_RULES: dict[type[ast.AST], Rule] = {}

STAGE = "nothing to change: it runs as Python"
"""The advice where nothing can be changed."""


def translates(kind: type[ast.AST]) -> Callable[[Rule], Rule]:
    """Registers the rule for one kind of node."""

    def register(rule: Rule) -> Rule:
        _RULES[kind] = rule
        return rule

    return register


def expression(node: ast.AST, scope: Scope) -> Value | Known:
    """The symbolic value of an expression, or the Python object that it is known to be."""
    scope.sharing.step(node)
    rule = _RULES.get(type(node))
    if rule is None:
        refuse(node, f"{_describe(node)} has no column form", STAGE)
    found = rule(node, scope)
    if isinstance(found, Known):
        return found
    scope.note_evaluated(found)
    return refine(found, scope.facts)


def returned(node: FunctionNode, scope: Scope) -> Value:
    """The value that the body of a function returns. The scope has its parameters."""
    if isinstance(node, ast.Lambda):
        return value(node.body, scope)
    return value_of(_RULES[ast.FunctionDef](node, scope), node)


def value(node: ast.AST, scope: Scope) -> Value:
    """The symbolic value of an expression."""
    return value_of(expression(node, scope), node)


def value_of(found: Value | Known, node: ast.AST) -> Value:
    """The result of `expression`, which has to be a value."""
    if isinstance(found, Known):
        refuse(node, _why_no_value(found.object, node), STAGE)
    return found


def _why_no_value(found: Any, node: ast.AST) -> str:
    """Why no column holds a Python object that a function uses as a value."""
    if type(found) is int:
        return f"{_source(node)} has an int beyond 64 bits"
    if type(found) is float:
        return f"{_source(node)} has the float {found!r}, which Spark changes"
    named = hasattr(found, "__name__")
    return f"{shown(found) if named else f'an object of the class {shown(found)}'} is not a value a column can hold"


def operand(node: ast.AST, scope: Scope) -> Value:
    """The value of an operand, whose type has to be known. None is ruled out."""
    return usable(value(node, scope), node)


UNKNOWN_TYPE = "declare the type where the value is made: returns= of the operator before or of the source"
"""The advice for a value of an unknown type."""


def refuse_opaque(node: ast.AST, type_: Type, reason: str) -> None:
    """Refuses to compute with a value of an unknown type, or of one whose values can only be passed on."""
    if type_ == ANY:
        refuse(node, reason, UNKNOWN_TYPE)
    if is_opaque(type_):
        refuse(node, f"computing with a value of type {type_} has no column form", STAGE)


def usable(found: Value, node: ast.AST) -> Value:
    """The value as an operand: its type is known, and None is ruled out."""
    refuse_opaque(node, found.type, f"the type of {_source(node)} is not known")
    if found.type == NONE:
        refuse(node, f"an operand is always None: {_source(node)}")
    return required(found)


def _source(node: ast.AST) -> str:
    return ast.unparse(node) or "the argument"


def condition(node: ast.AST, scope: Scope) -> Expr:
    """The truth value of an expression."""
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
        scope.add_strict(found)
    result = truth(found)
    refuse_opaque(node, found.type, f"whether {_source(node)} is true is not known: its type is {found.type}")
    if result is None:
        advice = "write the condition with the fields or items of the value"
        refuse(node, f"whether a value of type {found.type} is true has no column form", advice)
    return result


def _connect(nodes: Sequence[ast.AST], scope: Scope, join: Callable[[Expr, Expr], Expr], continues_on: bool) -> Expr:
    joined, inner = condition(nodes[0], scope), scope
    for node in nodes[1:]:
        scope.add_strict(Value(BOOL, joined))  # Spark drops it if the other operand decides alone
        inner = inner.where(joined, continues_on)
        joined = join(joined, condition(node, inner))
    if continues_on:
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
    """The name of a Python object for messages, with its module if it is in the standard library."""
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
    """`(name := …)`: from here on the name is set, on the paths through this expression."""
    found = expression(node.value, scope)
    shared = scope.small(found) if isinstance(found, Value) else found
    scope.set_here[node.target.id] = shared
    return shared


@translates(ast.BoolOp)
def _operands(node: ast.BoolOp, scope: Scope) -> Value:
    """`a and b` gives one of its operands, not a bool."""
    first = value(node.values[0], scope)
    rest = node.values[1:]
    stop_on = isinstance(node.op, ast.Or)
    return _operand_chain(node, first, rest, stop_on, scope)


def _operand_chain(node: ast.BoolOp, first: Value, rest: list[ast.expr], stop_on: bool, scope: Scope) -> Value:
    if not rest:
        return first
    first = scope.small(first) if first.type != BOOL else first
    test = truth_of(first, node, scope)
    scope.add_strict(Value(BOOL, test))
    inner = scope.where(test, not stop_on)
    second = _operand_chain(node, value(rest[0], inner), rest[1:], stop_on, inner)
    if first.type == second.type == BOOL:
        return Value(BOOL, (disjunction if stop_on else conjunction)(pack(first), pack(second)))
    refined = refine(first, scope.where(test).facts) if stop_on else first
    chosen = choose(test, refined, second) if stop_on else choose(test, second, refined)
    if chosen is None:
        refuse(node, f"{ast.unparse(node)} is {first.type} or {second.type}", "give both sides one type")
    return chosen


@translates(ast.IfExp)
def _conditional(node: ast.IfExp, scope: Scope) -> Value:
    test = condition(node.test, scope)
    scope.add_strict(Value(BOOL, test))
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
