"""Finds lists and dicts that a function creates and fills, and that no other code can change.

`found = []`, then `found.append(…)` in a loop, then `return found`: no other variable refers to the list before it is
returned, so its items are those that are appended here.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

READING = frozenset({"len", "sorted", "sum", "min", "max", "tuple", "list", "set", "frozenset", "any", "all"})
"""Builtins that keep no reference to their argument."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
ADDING = {"append": ast.List, "extend": ast.List}
"""The methods that add items."""


def local_containers(body: list[ast.stmt], stored: Counter[str]) -> frozenset[str]:
    """The names of such lists and dicts."""
    created = {name: value for part in body for name, value in _created(part) if stored[name] == 1}
    has_finally = any(getattr(node, "finalbody", None) for part in body for node in ast.walk(part))
    if has_finally or any(stored[name] for name in READING):
        return frozenset()  # a `finally` may add items to what was returned
    kept = set(created)
    for part in body:
        kept -= set(_escaping(part, (), created))
    return frozenset(kept)


def _created(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=(ast.List() | ast.Dict()) as value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=(ast.List() | ast.Dict()) as value):
            yield name, value
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _created(child)


def _escaping(node: ast.AST, around: tuple[ast.AST, ...], created: dict[str, ast.expr]) -> Iterator[str]:
    """The names that are used where another reference could remain."""
    if isinstance(node, ast.Name) and node.id in created and not _is_local(node, around, created[node.id]):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _escaping(child, (node, *around), created)


def _is_local(node: ast.Name, around: tuple[ast.AST, ...], created: ast.expr) -> bool:
    if any(isinstance(each, (*_SCOPES, ast.GeneratorExp)) for each in around):
        return False
    parent, above, top = (*around, None, None, None)[:3]
    match parent:
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Delete():
            return getattr(parent, "value", None) is created
        case ast.Return() | ast.FormattedValue() | ast.If() | ast.While() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Tuple() if isinstance(above, ast.Return):
            return True
        case ast.For(iter=source) | ast.comprehension(iter=source):
            return source is node
        case ast.Subscript(value=owner, ctx=ast.Load() | ast.Store()):
            return owner is node
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[container]):
            return container is node
        case ast.Call(func=ast.Name(id=name)):
            return name in READING
        case ast.Call(func=ast.Attribute(value=ast.Constant(str()), attr="join")):
            return True
        case ast.Attribute(attr=method) if isinstance(above, ast.Call) and above.func is parent:
            return _is_known(method, above, top, created)
    return False


def _is_known(method: str, call: ast.Call, above: ast.AST | None, created: ast.expr) -> bool:
    """Whether a call of a method adds items, reads one, or is only iterated over."""
    if method in ADDING:
        return isinstance(above, ast.Expr) and isinstance(created, ADDING[method])
    if method in ("items", "values", "keys"):
        if isinstance(above, ast.Call):
            return isinstance(above.func, ast.Name) and above.func.id in READING
        return isinstance(above, ast.For | ast.comprehension) and above.iter is call
    return method == "get" and isinstance(created, ast.Dict)
