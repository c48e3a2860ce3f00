"""Comprehensions: `[f(x) for x in xs if p(x)]`, and their consumers: any, all, next, sum, sorted, join."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from morisot.compile.exact import character_scans, dicts, text_edges
from morisot.compile.exact.forms import call, integer
from morisot.compile.ir.expressions import Call, Each, Expr, Literal, Variable
from morisot.compile.ir.values import FALSE, TRUE, Known, conjunction, convert, disjunction, expand, negate, pack, when
from morisot.compile.syntax import iteration, products
from morisot.compile.syntax.iteration import Listed, Unrolled
from morisot.compile.syntax.lists import join_all, list_of
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, choose_or_refuse, condition, translates, truth_of, value
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, NONE, STR, List, Product

CONSUMERS = frozenset({any, all, sum, min, max, sorted, list, set, frozenset, dict})
"""Functions that consume a generator completely, so that a list gives the same result."""


def listed(node: ast.expr) -> ast.expr:
    """A generator, a view of a dict, or the iterator of map, zip and the like, as a list comprehension."""
    if isinstance(node, ast.GeneratorExp):
        return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    match node:
        case ast.Call(ast.Attribute(_, "keys" | "values" | "items"), [], []):
            return _each_of(node)
        case ast.Call(ast.Name(name), _, []) if name in iteration.LAZY:
            return _each_of(node)
    return node


def _each_of(node: ast.expr) -> ast.ListComp:
    item = ast.copy_location(ast.Name(iteration.ITEM), node)
    return ast.copy_location(ast.ListComp(item, [ast.comprehension(item, node, [], 0)]), node)


@translates(ast.ListComp)
def _list_comprehension(node: ast.ListComp, scope: Scope) -> Value:
    return _loop(node, node.elt, node.generators, scope)


def _loop(node: ast.AST, element: ast.expr, loops: list[ast.comprehension], scope: Scope) -> Value:
    """One `for` of a comprehension. The lists of the inner `for` clauses are concatenated."""
    first, *rest = loops
    source = _source(first, scope)
    if isinstance(source, Unrolled):
        return _unrolled(node, element, loops, source, scope)
    items, inner, variable = _enter(first, source, scope)
    strict_before = len(scope.sharing.strict)
    if rest:
        found = inner.enforce_strict(_loop(node, element, rest, inner), strict_before)
        return Value(found.type, Call("flatten", (Each("transform", items, variable, pack(found)),)))
    found = inner.enforce_strict(value(element, inner), strict_before)
    if found.type == NONE:
        refuse(node, "a list of None has no column form", STAGE)
    expr = pack(found)
    unchanged = expr == Variable(variable) or (found == source.item(scope) and not source.entries)
    return Value(List(found.type), items if unchanged else Each("transform", items, variable, expr))


def _unrolled(
    node: ast.AST, element: ast.expr, loops: list[ast.comprehension], source: Unrolled, scope: Scope
) -> Value:
    """A loop over items that are known individually is unrolled: it is faster, and each item has its own type."""
    loop, *rest = loops
    items = [_filtered_item(loop, item, scope) for item in source.items]
    if not rest and all(test == TRUE for test, _ in items):
        return list_of(node, [value(element, inner) for _, inner in items])
    scopes = [inner for _, inner in items]
    lists = [_loop(node, element, rest, inner) if rest else list_of(node, [value(element, inner)]) for inner in scopes]
    if not lists:
        return list_of(node, [])
    joined = join_all(node, lists)
    none = Literal((), joined)
    parts = (when(test, pack(convert(one, joined)), none) for (test, _), one in zip(items, lists, strict=True))
    return Value(joined, Call("concat", tuple(parts)))


def _filtered_item(loop: ast.comprehension, item: Value, scope: Scope) -> tuple[Expr, Scope]:
    """The condition that an unrolled item passes the `if` clauses of a loop, and the scope inside the loop."""
    inner = scope.on_path().having(dict(_unpack(loop.target, item)))
    test: Expr = TRUE
    for node in loop.ifs:
        test = conjunction(test, _test(node, inner))
        inner = inner.where(test)
    return test, inner


def _test(node: ast.expr, scope: Scope) -> Expr:
    """A condition on an item."""
    strict_before = len(scope.sharing.strict)
    return pack(scope.enforce_strict(Value(BOOL, condition(node, scope)), strict_before))


def _source(loop: ast.comprehension, scope: Scope) -> Unrolled | Listed:
    if loop.is_async:
        refuse(loop.iter, "an asynchronous loop has no column form", STAGE)
    return iteration.source(loop.iter, scope)


def _enter(loop: ast.comprehension, source: Unrolled | Listed, scope: Scope) -> tuple[Expr, Scope, str]:
    """The filtered items that a `for` iterates over, the scope inside it, and the name of its variable."""
    listed_ = source if isinstance(source, Listed) else iteration.as_listed(loop.iter, source)
    names = dict(_unpack(loop.target, listed_.item(scope)))
    variable, items = iteration.variable(scope), listed_.expr
    inner = iteration.inside(scope).having(names)
    test: Expr = TRUE
    for node in loop.ifs:
        test = conjunction(test, _test(node, inner))
        inner = inner.where(test)
    if test == TRUE:
        return items, inner, variable
    text = character_scans.of_kind(items, variable, test)
    if text is not None:
        return text_edges.characters(scope.small_expr(text, STR)), inner, variable
    return Each("filter", items, variable, test), inner, variable


def _unpack(target: ast.expr, item: Value) -> list[tuple[str, Value | Known | None]]:
    match target:
        case ast.Name(name):
            return [(name, item)]
        case ast.Tuple(targets) | ast.List(targets) if isinstance(item.type, Product):
            return [pair for one, part in products.unpacked(target, targets, item) for pair in _unpacked(one, part)]
        case _:
            return refuse(target, f"{item.type} does not unpack into {ast.unparse(target)}", STAGE)


def _unpacked(target: ast.expr, part: Value | None) -> list[tuple[str, Value | Known | None]]:
    """The names of a target; None for the starred part of a tuple whose items have no common type."""
    if part is None:
        assert isinstance(target, ast.Name)
        return [(target.id, None)]
    return _unpack(target, part)


def quantified(function: str, node: ast.expr, scope: Scope) -> Value:
    """`any(…)` as Spark's `exists`, `all(…)` as `forall`."""
    comprehension = listed(node)
    if isinstance(comprehension, ast.ListComp) and len(comprehension.generators) == 1:
        (loop,) = comprehension.generators
        source = _source(loop, scope)
        if isinstance(source, Unrolled):
            return Value(BOOL, _connected(function, comprehension.elt, loop, source, scope))
        items, inner, variable = _enter(loop, source, scope)
        return Value(BOOL, character_scans.simplified(Each(function, items, variable, _test(comprehension.elt, inner))))
    source = iteration.source(node, scope)
    if isinstance(source, Unrolled):
        item = ast.copy_location(ast.Name(iteration.ITEM), node)
        return Value(BOOL, _connected(function, item, ast.comprehension(item, node, [], 0), source, scope))
    test = truth_of(source.item(scope), node, iteration.inside(scope))
    return Value(BOOL, Each(function, source.expr, iteration.variable(scope), test))


def _connected(function: str, element: ast.expr, loop: ast.comprehension, source: Unrolled, scope: Scope) -> Expr:
    """`any` and `all` of items that are known individually: OR and AND, from left to right."""
    stops_on = function == "exists"
    joined: Expr = FALSE if stops_on else TRUE
    here = scope
    for item in source.items:
        passes, inner = _filtered_item(loop, item, here)
        found = condition(element, inner)
        found = conjunction(passes, found) if stops_on else disjunction(negate(passes), found)
        joined = disjunction(joined, found) if stops_on else conjunction(joined, found)
        here = scope.where(joined, not stops_on)
    return joined


def first(node: ast.Call, scope: Scope) -> Value:
    """`next(generator, default)`."""
    if len(node.args) != 2 or node.keywords:
        refuse(node, "next without a default has no column form", "give next a default")
    generator, default = node.args
    comprehension = listed(generator)
    if not isinstance(comprehension, ast.ListComp):
        refuse(node, "next of an iterator that is stored in a variable has no column form", STAGE)
    otherwise = value(default, scope)
    scope.add_strict(otherwise)
    if len(comprehension.generators) == 1:
        (loop,) = comprehension.generators
        source = _source(loop, scope)
        if isinstance(source, Unrolled):
            return _first_of(comprehension, source.items, otherwise, scope)
    items = scope.small(_loop(node, comprehension.elt, comprehension.generators, scope))
    assert isinstance(items.type, List)
    some = call("greater", call("size", pack(items)), integer(0))
    found = expand(items.type.item, scope.small_expr(call("get", pack(items), integer(0)), items.type.item))
    return choose_or_refuse(node, some, found, otherwise)


def _first_of(node: ast.ListComp, items: Sequence[Value], otherwise: Value, scope: Scope) -> Value:
    if not items:
        return otherwise
    test, inner = _filtered_item(node.generators[0], items[0], scope)
    found = value(node.elt, inner)
    if test == TRUE:
        return found
    test = scope.small_expr(test, BOOL)
    rest = _first_of(node, items[1:], otherwise, scope.where(test, False))
    return choose_or_refuse(node, test, found, rest)


@translates(ast.DictComp)
def _dict_comprehension(node: ast.DictComp, scope: Scope) -> Value:
    """`{k: v for …}`. Of a repeated key Python keeps the last value; Spark fails on it."""
    pairs = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    return dicts.of_pairs(node, _loop(node, pairs, node.generators, scope), scope)
