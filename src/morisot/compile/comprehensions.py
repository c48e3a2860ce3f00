"""Comprehensions: `[f(x) for x in xs if p(x)]`, and what consumes them: any, all, sum, sorted, join."""

from __future__ import annotations

import ast
import dataclasses

from morisot.compile import affixes, rows
from morisot.compile.expr import Call, Each, Expr, Field, Literal, Struct, Variable
from morisot.compile.forms import call, checked, guard, integer, number
from morisot.compile.scope import Scope, refuse
from morisot.compile.translate import STAGE, condition, expression, operand, translates, truth_of, value
from morisot.compile.values import TRUE, Known, conjunction, convert, expand, join_types, pack, when
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, INT, NONE, STR, Dict, List, Product, Tuple

CONSUMERS = frozenset({any, all, sum, min, max, sorted, list})
"""Functions that take the items of a generator one after the other, so that a list serves as well."""


def listed(node: ast.expr) -> ast.expr:
    """A generator, or a view of a dict, as the list of its items."""
    if isinstance(node, ast.GeneratorExp):
        return ast.copy_location(ast.ListComp(node.elt, node.generators), node)
    match node:
        case ast.Call(ast.Attribute(_, "keys" | "values" | "items"), [], []):
            loop = ast.comprehension(ast.Name("item"), node, [], 0)
            return ast.copy_location(ast.ListComp(ast.copy_location(ast.Name("item"), node), [loop]), node)
    return node


@translates(ast.ListComp)
def _list_comprehension(node: ast.ListComp, scope: Scope) -> Value:
    return _loop(node, node.elt, node.generators, scope)


def _loop(node: ast.AST, element: ast.expr, loops: list[ast.comprehension], scope: Scope) -> Value:
    """One `for` of a comprehension; those inside it give lists that are joined."""
    first, *rest = loops
    items, inner, variable = _enter(first, scope)
    owed = len(scope.sharing.debts)
    if rest:
        found = inner.settle(_loop(node, element, rest, inner), owed)
        return Value(found.type, Call("flatten", (Each("transform", items, variable, pack(found)),)))
    found = inner.settle(value(element, inner), owed)
    if found.type == NONE:
        refuse(node, "a list of None has no column form", STAGE)
    expr = pack(found)
    return Value(List(found.type), items if expr == Variable(variable) else Each("transform", items, variable, expr))


def _enter(loop: ast.comprehension, scope: Scope) -> tuple[Expr, Scope, str]:
    """The items a `for` goes over, filtered; the scope inside it; and the name of its variable."""
    variable = f"v{scope.loops}"
    source, item = _source(loop, scope, Variable(variable))
    names = dict(_unpack(loop.target, item))
    inner = dataclasses.replace(scope.forked().having(names), per_item=True, loops=scope.loops + 1)
    test: Expr = TRUE
    for node in loop.ifs:
        test = conjunction(test, _test(node, inner))
        inner = inner.where(test)
    return (source if test == TRUE else Each("filter", source, variable, test)), inner, variable


def _test(node: ast.expr, scope: Scope) -> Expr:
    """A condition on an item."""
    owed = len(scope.sharing.debts)
    return pack(scope.settle(Value(BOOL, condition(node, scope)), owed))


def _source(loop: ast.comprehension, scope: Scope, variable: Variable) -> tuple[Expr, Value]:
    """The list a `for` goes over, and what one of its items is: of a list, a text, a range or a dict."""
    match loop.iter:
        case ast.Call(ast.Name("range") as name, arguments, []) if expression(name, scope) == Known(range):
            return _range(loop.iter, [operand(one, scope) for one in arguments], scope), Value(INT, variable)
        case ast.Call(ast.Attribute(owner, "keys" | "values" | "items" as view), [], []):
            found = operand(owner, scope)
            if isinstance(found.type, Dict) and view != "items":
                item = STR if view == "keys" else found.type.value
                return Call(view, (pack(found),)), expand(item, variable)
            if isinstance(found.type, Dict):
                key, kept = Value(STR, Field(variable, "key")), expand(found.type.value, Field(variable, "value"))
                return Call("entries", (pack(found),)), Value(Tuple((STR, kept.type)), items=(key, kept))
    source = as_list(operand(loop.iter, scope), scope)
    if not isinstance(source.type, List) or source.type.item == NONE or loop.is_async:
        refuse(loop.iter, f"a loop over {source.type} has no column form", STAGE)
    return pack(source), expand(source.type.item, variable)


def as_list(source: Value, scope: Scope) -> Value:
    """The items of a text or dict, one after the other; other values as they are."""
    if source.type == STR:
        return Value(List(STR), affixes.characters(pack(scope.small(source))))
    return Value(List(STR), Call("keys", (pack(source),))) if isinstance(source.type, Dict) else source


_LONGEST_RANGE = 1_000_000


def _range(node: ast.expr, arguments: list[Value], scope: Scope) -> Expr:
    """`range(stop)`, `range(start, stop)`, `range(start, stop, step)` with a constant step."""
    if not 1 <= len(arguments) <= 3 or any(one.type != INT for one in arguments):
        refuse(node, "a range of other than ints has no column form", STAGE)
    bounds = [pack(scope.small(one)) for one in arguments]
    start, stop = (integer(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
    step = 1 if len(bounds) < 3 else number(bounds[2])
    if not step:
        refuse(node, "a range whose step is not constant has no column form", STAGE)
    last = checked("subtract", stop, integer(1 if step > 0 else -1))
    empty = call("greater_equal" if step > 0 else "less_equal", start, stop)
    reach = integer(int(step) * _LONGEST_RANGE)
    near = call("less" if step > 0 else "greater", stop, checked("add", start, reach))
    numbers = guard(near, call("sequence", start, last, integer(int(step))), "a very long range")
    return when(empty, Literal((), List(INT)), numbers)


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
        return Value(BOOL, Each(function, items, variable, _test(node.elt, inner)))
    source = operand(listed(node), scope)
    if not isinstance(source.type, List) or source.type.item == NONE:
        refuse(node, f"any or all of {source.type} has no column form", STAGE)
    test = truth_of(expand(source.type.item, Variable("v")), node, dataclasses.replace(scope, per_item=True))
    return Value(BOOL, Each(function, pack(source), "v", test))


@translates(ast.DictComp)
def _dict_comprehension(node: ast.DictComp, scope: Scope) -> Value:
    """`{k: v for …}`: where a key comes twice Python keeps the last; Spark fails, and is confused from then on."""
    if len(node.generators) > 1:
        refuse(node, "a dict comprehension with several loops has no column form", STAGE)
    items, inner, variable = _enter(node.generators[0], scope)
    owed = len(scope.sharing.debts)
    key = inner.settle(operand(node.key, inner), owed)
    kept = inner.settle(value(node.value, inner), owed)
    if key.type != STR or kept.type == NONE:
        refuse(node, f"a dict from {key.type} to {kept.type} has no column form", STAGE)
    entries = Each("transform", items, variable, Struct(("key", "value"), (pack(key), pack(kept))))
    keys = Each("transform", items, variable, pack(key))
    once = call("equal", call("size", call("distinct", keys)), call("size", keys))
    return Value(Dict(kept.type), guard(once, call("map_of_entries", entries), "a key that comes twice"))


@translates(ast.Dict)
def _dict(node: ast.Dict, scope: Scope) -> Value:
    """`{"a": x, "b": y}`: the keys are constants, so that none comes twice."""
    found: dict[str, Value] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        known, key = rows.constant_of(value(key_node, scope)) if key_node else (False, None)
        if not known or type(key) is not str or key in found:
            refuse(node, "a dict whose keys are not constant texts has no column form", STAGE)
        found[key] = value(value_node, scope)
    if not found:
        refuse(node, "the type of the values of an empty dict is not known", STAGE)
    type_ = next(iter(found.values())).type
    for one in found.values():
        joined = join_types(type_, one.type)
        if joined is None:
            refuse(node, f"the dict has values of type {type_} and {one.type}", "give all values one type")
        type_ = joined
    if type_ == NONE:
        refuse(node, "a dict of None has no column form", STAGE)
    pairs = ((Literal(key, STR), pack(convert(one, type_))) for key, one in found.items())
    return Value(Dict(type_), Call("map", tuple(part for pair in pairs for part in pair)))
