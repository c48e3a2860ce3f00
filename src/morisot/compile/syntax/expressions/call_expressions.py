"""`f(x)`, `x.f()` and lambdas: the called function and its arguments."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.syntax import iteration
from morisot.compile.syntax.calls import (
    CALLABLE_CLASSES,
    OBJECT_METHODS,
    SPECIAL_METHODS,
    UNREAD,
    add_all_strict,
    applied,
    apply,
    apply_method,
    callable_class,
    is_hashable,
    is_users,
    refuse_unknown,
    with_fields,
)
from morisot.compile.syntax.expressions import access, comprehensions, lookups
from morisot.compile.syntax.inlining import InnerLambda, inline
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import (
    STAGE,
    Arguments,
    Keywords,
    comes_with_python,
    expression,
    shown,
    translates,
    usable,
    value,
)
from morisot.compile.table import methods, records, rows
from morisot.compile.verdict import Value
from morisot.types.element import Dict, Record


@translates(ast.Call)
def call(node: ast.Call, scope: Scope) -> Value | Known:
    """`f(x)` and `x.f()`."""
    if any(keyword.arg is None for keyword in node.keywords):
        refuse(node, "a call with ** has no column form", "pass each argument by its name")
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return call(*_spread(node, scope))
    if isinstance(node.func, ast.Attribute):
        owner = expression(node.func.value, scope)
        if isinstance(owner, Value):
            return _method(node, node.func.attr, usable(owner, node.func.value), scope)
        if type(owner.object) is dict and node.func.attr == "get":
            given = [value(one, scope) for one in node.args]
            add_all_strict(given, scope)
            return lookups.get(node, owner.object, given, scope)
        if type(owner.object) is list and node.func.attr in ("index", "count"):
            values = [value(one, scope) for one in node.args]
            return lookups.index_or_count(node, node.func.attr, owner.object, values, scope)
        if type(owner.object) in OBJECT_METHODS:
            return OBJECT_METHODS[type(owner.object)](node, owner.object, node.func.attr, scope)
    function = expression(node.func, scope)
    if isinstance(function, Value):
        refuse(node, f"a value of type {function.type} is called", STAGE)
    called = function.object
    if (isinstance(called, type) and called in CALLABLE_CLASSES) or called == str.maketrans:
        return _make(node, called, scope)
    if is_hashable(called) and called in UNREAD:
        return UNREAD[called](node, scope)
    refuse_unknown(node, called)
    if (called is any or called is all) and len(node.args) == 1 and not node.keywords:
        return comprehensions.quantified("exists" if called is any else "forall", node.args[0], scope)
    consumes = is_hashable(called) and called in comprehensions.CONSUMERS
    arguments = [expression(comprehensions.listed(one) if consumes else one, scope) for one in node.args]
    keywords = {keyword.arg or "": expression(keyword.value, scope) for keyword in node.keywords}
    return applied(node, called, arguments, keywords, scope)


def _spread(node: ast.Call, scope: Scope) -> tuple[ast.Call, Scope]:
    """`f(*pair)` as `f(first, second)`, with names that no variable has."""
    arguments: list[ast.expr] = []
    names: dict[str, Value | Known | None] = {}
    for argument in node.args:
        if not isinstance(argument, ast.Starred):
            arguments.append(argument)
            continue
        items = iteration.source(argument.value, scope)
        if not isinstance(items, iteration.Unrolled):
            refuse(argument, f"a call with {ast.unparse(argument)}, a list of any length, has no column form", STAGE)
        for item in items.items:
            name = f"<{argument.lineno}:{argument.col_offset}:{len(arguments)}:{scope.depth}>"
            names[name] = scope.small(item)
            arguments.append(ast.copy_location(ast.Name(name, ast.Load()), argument))
    return ast.copy_location(ast.Call(node.func, arguments, node.keywords), node), scope.having(names)


def _make(node: ast.Call, cls: Any, scope: Scope) -> Known:
    """`itemgetter(1)`, `partial(f, 2)`, `str.maketrans("a", "b")`: an object constructed from constants."""
    found = [expression(one, scope) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
    constants = [(True, one.object) if isinstance(one, Known) else rows.constant_of(one) for one in found]
    if not all(known_ for known_, _ in constants):
        refuse(node, f"{shown(cls)} of a value that is not constant has no column form", STAGE)
    objects = [one for _, one in constants]
    names = [keyword.arg or "" for keyword in node.keywords]
    count = len(node.args)
    try:
        return Known(cls(*objects[:count], **dict(zip(names, objects[count:], strict=True))))
    except Exception as error:  # a call that fails on constants fails on every element: Python raises its exception
        refuse(node, f"{ast.unparse(node)} always fails: {error}")


def _method(node: ast.Call, name: str, owner: Value, scope: Scope) -> Value:
    if isinstance(owner.type, Record):
        return _record_method(node, name, owner, scope)
    rule = SPECIAL_METHODS.get((owner.type, name)) or SPECIAL_METHODS.get((type(owner.type), name))
    if rule is not None:
        return rule(node, owner, scope)
    arguments = [value(comprehensions.listed(one) if name == "join" else one, scope) for one in node.args]
    add_all_strict(arguments, scope)
    if isinstance(owner.type, Dict):
        return access.dict_method(node, name, owner, arguments, scope)
    for keyword in node.keywords:
        order = methods.KEYWORDS.get(name, ())
        if keyword.arg not in order or order.index(keyword.arg) > len(arguments):
            advice = "pass the argument by position" if order else STAGE
            refuse(node, f".{name}({keyword.arg}=…) has no column form", advice)
        if order.index(keyword.arg) == len(arguments):
            arguments.append(value(keyword.value, scope))
    return apply_method(node, name, owner, arguments, scope)


def _record_method(node: ast.Call, name: str, owner: Value, scope: Scope) -> Value:
    """A method of a record's class, compiled like any function. `_replace` has a rule."""
    assert isinstance(owner.type, Record)
    arguments = [expression(one, scope) for one in node.args]
    keywords = {keyword.arg or "": expression(keyword.value, scope) for keyword in node.keywords}
    found = records.class_attribute(owner.type.cls, name)
    if name == "_replace" and owner.type.is_tuple and not arguments and comes_with_python(found):
        return with_fields(node, owner, keywords)
    if isinstance(found, staticmethod):
        return apply(node, found.__func__, arguments, keywords, scope)
    if not is_users(found):
        refuse(node, f"the method {name} of {owner.type} has no exact column form", STAGE)
    return inline(node, found, [owner, *arguments], keywords, scope)


@translates(ast.Lambda)
def _lambda(node: ast.Lambda, scope: Scope) -> Known:
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults:
        refuse(node, "a lambda inside has no column form unless its parameters are plain", STAGE)
    return Known(InnerLambda(node, scope))


@callable_class(InnerLambda)
def _call_inner(node: ast.AST, function: InnerLambda, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    names = [one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args)]
    if keywords or len(names) != len(arguments):
        refuse(node, f"a lambda of {len(names)} parameters gets {len(arguments) + len(keywords)} arguments")
    bound = {**function.scope.names, **dict(zip(names, arguments, strict=True))}
    inner = dataclasses.replace(scope.on_path(), function=function.scope.function, names=bound)
    strict_before = len(scope.sharing.strict)
    for argument in arguments:
        if isinstance(argument, Value):
            inner.add_strict(argument)
    return inner.enforce_strict(value(function.node.body, inner), strict_before)
