"""Unpacking: `a, b = pair`, `first, *rest = text.split()`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

from morisot.compile.exact import texts
from morisot.compile.exact.forms import call, guard, integer
from morisot.compile.ir.expressions import Call
from morisot.compile.ir.values import Known, expand, negate, pack
from morisot.compile.syntax import products, try_except
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, usable
from morisot.compile.verdict import Value
from morisot.types.element import List, Product


def stored(node: ast.AST) -> Counter[str]:
    """How often each name is assigned in a function, including its parameters."""
    names: list[str] = []
    for inner in ast.walk(node):
        match inner:
            case ast.Name(name, ast.Store()) | ast.MatchAs(_, str(name)) | ast.arg(name):
                names.append(name)
            case ast.FunctionDef(name) if inner is not node:
                names.append(name)
    return Counter(names)


def parts(
    node: ast.AST, targets: list[ast.expr], found: Value | Known, scope: Scope
) -> Iterator[tuple[Any, Value | None]]:
    """Each target with its value; None for the starred part of a tuple whose items have no common type."""
    if isinstance(found, Known):
        refuse(node, "only a tuple or a list can be unpacked", STAGE)
    found = usable(found, node)
    scope.add_strict(found)
    stars = [index for index, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if isinstance(found.type, Product):
        return iter(products.unpacked(node, targets, found))
    if isinstance(found.type, List):
        return _of_list(targets, found, found.type, stars, scope)
    return refuse(node, f"{found.type} does not unpack into {len(targets)} names", STAGE)


def _of_list(
    targets: list[ast.expr], found: Value, type_: List, stars: list[int], scope: Scope
) -> Iterator[tuple[Any, Value | None]]:
    """Unpacks a list. A list of another length is a ValueError."""
    written = found.expr
    if isinstance(written, Call) and written.name == "array" and not stars and len(written.arguments) == len(targets):
        pairs = zip(targets, written.arguments, strict=True)
        return iter([(target, expand(type_.item, item)) for target, item in pairs])
    found = scope.small(found)
    size = call("size", pack(found))
    wanted = integer(len(targets) - len(stars))
    fits = call("greater_equal" if stars else "equal", size, wanted)
    try_except.record(ValueError, negate(fits), scope)
    whole = scope.small_expr(guard(fits, pack(found), "a list of another length is unpacked"), found.type)
    scope.add_strict(Value(found.type, whole))
    pairs_: list[tuple[Any, Value | None]] = []
    for position, target in enumerate(targets):
        from_end = position - len(targets)
        if isinstance(target, ast.Starred):
            stop = integer(from_end + 1) if from_end + 1 else None
            pairs_.append((target.value, Value(found.type, texts.list_slice(whole, integer(position), stop))))
            continue
        after_star = stars and position > stars[0]
        index = call("add", call("size", whole), integer(from_end)) if after_star else integer(position)
        item = call("get", whole, index)
        pairs_.append((target, expand(type_.item, scope.small_expr(item, type_.item))))
    return iter(pairs_)
