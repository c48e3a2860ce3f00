"""Comprehensions: `[f(x) for x in xs if p(x)]`, and what consumes them: any, all, sum, sorted, join."""

from __future__ import annotations

import ast
import dataclasses

from morisot.compile.expr import Call, Each, Expr, Variable
from morisot.compile.scope import Scope, refuse
from morisot.compile.translate import STAGE, condition, operand, translates, value
from morisot.compile.values import TRUE, Known, conjunction, expand, pack
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, NONE, List, Product

CONSUMERS = frozenset({any, all, sum, min, max, sorted, list})
"""Functions that take the items of a generator one after the other, so that a list serves as well."""


def listed(node: ast.expr) -> ast.expr:
    """A generator as the list of its items."""
    if isinstance(node, ast.GeneratorExp):
        return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    return node


@translates(ast.ListComp)
def _list_comprehension(node: ast.ListComp, scope: Scope) -> Value:
    return _loop(node, node.elt, node.generators, scope)


def _loop(node: ast.AST, element: ast.expr, loops: list[ast.comprehension], scope: Scope) -> Value:
    """One `for` of a comprehension; those inside it give lists that are joined."""
    first, *rest = loops
    items, inner, variable = _enter(first, scope)
    if rest:
        found = _loop(node, element, rest, inner)
        return Value(found.type, Call("flatten", (Each("transform", items, variable, pack(found)),)))
    found = value(element, inner)
    if found.type == NONE:
        refuse(node, "a list of None has no column form", STAGE)
    expr = pack(found)
    return Value(List(found.type), items if expr == Variable(variable) else Each("transform", items, variable, expr))


def _enter(loop: ast.comprehension, scope: Scope) -> tuple[Expr, Scope, str]:
    """The items a `for` goes over, filtered; the scope inside it; and the name of its variable."""
    source = operand(loop.iter, scope)
    if not isinstance(source.type, List) or source.type.item == NONE or loop.is_async:
        refuse(loop.iter, f"a loop over {source.type} has no column form", STAGE)
    variable = f"v{scope.loops}"
    item = expand(source.type.item, Variable(variable))
    names = dict(_unpack(loop.target, item))
    inner = dataclasses.replace(scope.forked().having(names), per_item=True, loops=scope.loops + 1)
    test: Expr = TRUE
    for node in loop.ifs:
        test = conjunction(test, condition(node, inner))
        inner = inner.where(test)
    items = pack(source)
    return (items if test == TRUE else Each("filter", items, variable, test)), inner, variable


def _unpack(target: ast.expr, item: Value) -> list[tuple[str, Value | Known]]:
    match target:
        case ast.Name(name):
            return [(name, item)]
        case ast.Tuple(targets) if isinstance(item.type, Product) and len(targets) == len(item.items):
            return [pair for one, part in zip(targets, item.items, strict=True) for pair in _unpack(one, part)]
        case _:
            return refuse(target, f"{item.type} does not unpack into {ast.unparse(target)}")


def quantified(function: str, node: ast.expr, scope: Scope) -> Value:
    """`any(…)` is `exists`, `all(…)` is `forall`."""
    if isinstance(node, ast.GeneratorExp | ast.ListComp) and len(node.generators) == 1:
        items, inner, variable = _enter(node.generators[0], scope)
        return Value(BOOL, Each(function, items, variable, condition(node.elt, inner)))
    source = operand(listed(node), scope)
    if source.type != List(BOOL):
        refuse(node, f"any or all of {source.type} has no column form", STAGE)
    return Value(BOOL, Each(function, pack(source), "v", Variable("v")))
