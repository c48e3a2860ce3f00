"""Sorting of lists: `sorted`, `min` and `max`, with a key, reversed, or with a default."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from morisot.compile.exact.forms import guard, integer
from morisot.compile.ir.expressions import Call, Each, Expr, Field, Literal, Struct, Variable
from morisot.compile.ir.values import Known, Set, expand, pack
from morisot.compile.syntax import calls
from morisot.compile.syntax.expressions.access import Get, looked_up
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, Arguments, Keywords, choose_or_refuse, shown, usable, value_of
from morisot.compile.table import rows
from morisot.compile.verdict import Value
from morisot.types.element import (
    ANY,
    BOOL,
    BYTES,
    DATE,
    DATETIME,
    INT,
    NONE,
    STR,
    Dict,
    List,
    Tuple,
    Type,
    holds,
    holds_dict,
)

_ORDERED = (INT, STR, BYTES, DATE, DATETIME, BOOL)


def is_ordered(type_: Type) -> bool:
    """Whether Spark orders values of the type as Python does. It does not for floats (NaN) and None."""
    return type_ in _ORDERED or (isinstance(type_, Tuple) and all(map(is_ordered, type_.items)))


@calls.callable_class(Get)
def _get(node: ast.AST, function: Get, arguments: Arguments, keywords: Keywords, _: Scope) -> Value:
    (key,) = calls.plain(node, function, arguments, keywords, 1)
    type_ = function.owner.type
    assert isinstance(type_, Dict)
    if key.type != STR:
        refuse(node, f"a dict with keys of type {key.type} has no column form", STAGE)
    present, found = looked_up(function.owner, key)
    nothing = Value(NONE, Literal(None, NONE))
    return choose_or_refuse(node, present, expand(type_.value, found), nothing)


@calls.special(sorted)
def _sorted(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    if not keywords and not (len(arguments) == 1 and _is_dict(arguments[0])) and not _are_tuples(arguments):
        return calls.by_table(node, sorted, arguments, keywords, scope)
    source = _list(node, arguments, keywords, ("key", "reverse"))
    known, backwards = rows.constant_of(value_of(keywords["reverse"], node)) if "reverse" in keywords else (True, False)
    if not known:
        refuse(node, "sorted(reverse=…) with a value that is not constant has no column form", STAGE)
    if _by_itself(source, keywords.get("key")):
        ordered: Expr = Call("sorted", (pack(source),))
        return Value(source.type, Call("reverse_list", (ordered,)) if backwards else ordered)
    ranked = _ranked(node, source, keywords.get("key"), bool(backwards), scope)
    ordered = Call("sorted", (ranked,))
    ordered = Call("reverse_list", (ordered,)) if backwards else ordered
    return Value(List(_item(source)), Field(ordered, "item"))


@calls.special(min)
def _min(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    return _extreme(node, min, arguments, keywords, scope)


@calls.special(max)
def _max(node: ast.AST, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    return _extreme(node, max, arguments, keywords, scope)


def _by_itself(source: Value, key: Value | Known | None) -> bool:
    """Whether items are ordered by all they hold, so that equal ones are the same and need no order among them."""
    plain = key is None or (isinstance(key, Value) and key.type == NONE)
    return plain and isinstance(source.type, List) and is_ordered(source.type.item)


def _is_dict(argument: Value | Known) -> bool:
    return isinstance(argument, Value) and isinstance(argument.type, Dict)


def _are_tuples(arguments: Arguments) -> bool:
    """Whether the arguments are a list of tuples, which are ordered by their first items that differ."""
    (only,) = arguments if len(arguments) == 1 else (None,)
    return isinstance(only, Value) and isinstance(only.type, List) and isinstance(only.type.item, Tuple)


def _extreme(node: ast.AST, function: object, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    """The smallest or greatest item; of equal ones the first."""
    if not keywords and not (len(arguments) == 1 and _is_dict(arguments[0])) and not _are_tuples(arguments):
        return calls.by_table(node, function, arguments, keywords, scope)
    source = _list(node, arguments, keywords, ("key", "default"))
    greatest = function is max
    source = scope.small(source)
    extreme = "array_max" if greatest else "array_min"
    if _by_itself(source, keywords.get("key")):
        best: Expr = Call(extreme, (pack(source),))
    else:
        best = Field(Call(extreme, (_ranked(node, source, keywords.get("key"), greatest, scope),)), "item")
    some = Call("greater", (Call("size", (pack(source),)), integer(0)))
    item = _item(source)
    if "default" not in keywords:
        return expand(item, scope.small_expr(guard(some, best, "the extreme of an empty list"), item))
    first = expand(item, scope.small_expr(best, item))
    return choose_or_refuse(node, some, first, value_of(keywords["default"], node))


def _list(node: ast.AST, arguments: Arguments, keywords: Keywords, allowed: tuple[str, ...]) -> Value:
    if len(arguments) != 1 or not set(keywords) <= set(allowed):
        refuse(node, f"{ast.unparse(node)} has no column form", STAGE)
    source = value_of(arguments[0], node)
    if not isinstance(source.type, Set):
        source = usable(source, node)
    if isinstance(source.type, Dict):
        source = Value(List(STR), Call("keys", (pack(source),)))
    if not isinstance(source.type, List | Set) or source.type.item == NONE:
        refuse(node, f"the order of {source.type} has no column form", STAGE)
    if holds(source.type, ANY) or holds_dict(source.type):
        refuse(node, f"the order of {source.type} has no column form", STAGE)
    return source


def _item(source: Value) -> Type:
    """The type of the items of a list or set."""
    assert isinstance(source.type, List | Set)
    return source.type.item


def _distinguishes(keys: Sequence[Expr], leaves: Sequence[Expr]) -> bool:
    """Whether items that differ have different keys: the key has all parts of the item."""
    shown = [key.arguments[0] if isinstance(key, Call) and key.name == "negative" else key for key in keys]
    return all(leaf in shown for leaf in leaves)


def _ranked(node: ast.AST, source: Value, key: Value | Known | None, backwards: bool, scope: Scope) -> Expr:
    """Structs of key, index and item. The index orders items with equal keys, so that sorting is stable."""
    name, index_name = f"v{scope.loops}", f"i{scope.loops}"
    item = expand(_item(source), Variable(name))
    inner = dataclasses.replace(scope.on_path(), per_item=True, loops=scope.loops + 1)
    ranked = item
    if isinstance(key, Known):
        strict_before = len(scope.sharing.strict)
        ranked = inner.enforce_strict(usable(calls.apply(node, key.object, [item], {}, inner), node), strict_before)
    elif key is not None and key.type != NONE:
        refuse(node, f"a key of type {key.type} is called")
    if not is_ordered(ranked.type):
        refuse(node, f"{shown(sorted)} by {ranked.type} has no exact column form (NaN and None have no order)", STAGE)
    if isinstance(source.type, Set) and not _distinguishes(ranked.leaves(), item.leaves()):
        refuse(node, "items of a set with equal keys have no defined order", "add the item to the key: (key, item)")
    index: Expr = Variable(index_name)
    index = Call("negative", (index,)) if backwards else index
    keys = ranked.leaves()  # in one struct, because Spark compares nested structs more slowly
    names = (*(f"key{number}" for number in range(len(keys))), "index", "item")
    body = Struct(names, (*keys, index, pack(item)))
    return Each("transform", pack(source), name, body, index_name)
