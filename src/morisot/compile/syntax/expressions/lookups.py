"""Lookups in captured dicts and lists: `TABLE[x]`, `TABLE.get(x, default)`, `NAMES[i]`."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from morisot.compile.exact.forms import call, guard, integer
from morisot.compile.ir.expressions import Expr, Literal, Raise
from morisot.compile.ir.values import TRUE, Known, convert, join_types, negate, pack, when
from morisot.compile.syntax import try_except
from morisot.compile.syntax.expressions.comparisons import compare, equal
from morisot.compile.syntax.lists import of_constants
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, choose_or_refuse, usable
from morisot.compile.verdict import Value
from morisot.types.element import INT, NONE, STR, List, Product, Type, is_hashable

_MOST_BRANCHES = 50
"""A dict is a CASE with a branch for each key: 40 ns a row for 50 keys, 2.3 µs for 200, which the JIT does not compile.
A larger dict is a list of keys to search and a list of values."""


def item(node: ast.AST, table: dict[Any, Any], key: Value, scope: Scope) -> Value:
    """`TABLE[key]`."""
    try_except.record(KeyError, negate(_has(node, table, key, scope)), scope)
    searched = _searched(table, key, scope)
    if searched is not None:
        there, found = searched
        return Value(found.type, guard(there, pack(found), "a key that is missing"))
    branches = _branches(node, table, key, scope)
    if not branches:
        refuse(node, "an empty dict is read")
    types = [found.type for _, found in branches]
    joined = _joined(node, types)
    return _chosen(branches, joined, ())


def _chosen(branches: Sequence[tuple[Expr, Value]], type_: Type, path: tuple[int, ...]) -> Value:
    """The value of the branch taken, leaf by leaf. It fails if no branch is taken."""
    if isinstance(type_, Product):
        children = enumerate(child for _, child in type_.children)
        return Value(type_, items=tuple(_chosen(branches, child, (*path, position)) for position, child in children))
    chosen: Expr = Raise("a key that is missing")
    for test, found in reversed(branches):
        chosen = when(test, pack(convert(_part(found, path), type_)), chosen)
    return Value(type_, chosen)


def _part(found: Value, path: tuple[int, ...]) -> Value:
    for position in path:
        found = found.items[position]
    return found


def get(node: ast.AST, table: dict[Any, Any], arguments: Sequence[Value], scope: Scope) -> Value:
    """`TABLE.get(key)` and `TABLE.get(key, default)`."""
    if len(arguments) not in (1, 2) or getattr(node, "keywords", None):
        refuse(node, "get is not called with a key and a default", STAGE)
    chosen = arguments[1] if len(arguments) == 2 else Value(NONE, Literal(None, NONE))
    searched = _searched(table, arguments[0], scope)
    if searched is not None:
        return choose_or_refuse(node, *searched, chosen)
    for test, found in reversed(_branches(node, table, arguments[0], scope)):
        chosen = choose_or_refuse(node, test, found, chosen)
    return chosen


def _branches(node: ast.AST, table: dict[Any, Any], key: Value, scope: Scope) -> list[tuple[Expr, Value]]:
    if len(table) > 2 * _MOST_BRANCHES:
        refuse(node, f"a dict of {len(table)} keys has no column form", "join with a stream of its items instead")
    if not is_hashable(key.type):
        refuse(node, f"a value of type {key.type} is no key: it cannot be hashed")
    key = scope.small(key)
    branches = []
    for known_key, known_value in table.items():
        wanted, found = from_object(known_key), from_object(known_value)
        if isinstance(wanted, Known) or isinstance(found, Known) or _is_nan(known_key):
            refuse(node, "a dict that does not hold plain constants has no column form", STAGE)
        branches.append((equal(node, key, wanted, scope), found))
    return branches


def _has(node: ast.AST, table: dict[Any, Any], key: Value, scope: Scope) -> Expr:
    """Whether the dict has the key. Only a `try` around the lookup needs it."""
    return compare(node, ast.In(), key, Known(table), scope) if scope.trial is not None else TRUE


def _searched(table: dict[Any, Any], key: Value, scope: Scope) -> tuple[Expr, Value] | None:
    """Whether a large dict has a key, and its value; None if keys or values are not plain constants of one type."""
    keys, values = of_constants(list(table)), of_constants(list(table.values()))
    if len(table) <= _MOST_BRANCHES or keys is None or values is None:
        return None
    if key.type not in (INT, STR) or keys.type != List(key.type) or not isinstance(values.type, List):
        return None
    position = scope.small_expr(call("array_position", pack(keys), pack(key)), INT)
    found = call("get", pack(values), call("subtract", position, integer(1)))
    return call("greater", position, integer(0)), Value(values.type.item, found)


def index_or_count(node: ast.AST, name: str, values: list[Any], arguments: Sequence[Value], scope: Scope) -> Value:
    """`NAMES.index(x)` and `NAMES.count(x)` of a captured list."""
    whole = of_constants(values)
    item_ = usable(arguments[0], node) if len(arguments) == 1 else None
    if whole is None or item_ is None or whole.type != List(item_.type) or item_.type not in (INT, STR):
        refuse(node, f"the method {name} of this list has no exact column form", STAGE)
    if name == "count":
        return Value(INT, call("occurrences", pack(whole), pack(item_)))
    found = scope.small_expr(call("array_position", pack(whole), pack(item_)), INT)
    try_except.record(ValueError, call("equal", found, integer(0)), scope)
    there = call("greater", found, integer(0))
    return Value(INT, guard(there, call("subtract", found, integer(1)), "a value that is not in the list"))


def _is_nan(key: Any) -> bool:
    return isinstance(key, float) and math.isnan(key)


def _joined(node: ast.AST, types: Sequence[Type]) -> Type:
    joined = types[0]
    for type_ in types[1:]:
        both = join_types(joined, type_)
        if both is None:
            refuse(node, f"the dict has values of type {joined} and {type_}", "give all values one type")
        joined = both
    return joined
