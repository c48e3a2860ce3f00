"""How statements use a name that has its value from before the loop: what may change its object."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from morisot.annotations.syntax.flow import names_in

CHANGING = frozenset(
    [
        "add",
        "append",
        "appendleft",
        "clear",
        "commit",
        "discard",
        "execute",
        "executemany",
        "extend",
        "extendleft",
        "insert",
        "pop",
        "popitem",
        "popleft",
        "push",
        "put",
        "put_nowait",
        "remove",
        "reverse",
        "rotate",
        "send",
        "sendall",
        "set",
        "setdefault",
        "sort",
        "subtract",
        "update",
        "write",
        "writelines",
        "writerow",
        "writerows",
    ]
)
"""Methods whose names say that they change their object."""
READING = frozenset(
    [
        "capitalize",
        "copy",
        "count",
        "difference",
        "endswith",
        "find",
        "format",
        "get",
        "index",
        "intersection",
        "isdisjoint",
        "issubset",
        "issuperset",
        "items",
        "join",
        "keys",
        "lower",
        "most_common",
        "split",
        "startswith",
        "strip",
        "union",
        "upper",
        "values",
    ]
)
"""Methods of builtin containers that only read."""
HARMLESS = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "bytes",
        "dict",
        "enumerate",
        "filter",
        "float",
        "format",
        "frozenset",
        "int",
        "isinstance",
        "len",
        "list",
        "map",
        "max",
        "min",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
"""Builtin functions that do not change their arguments."""
OUTPUT = frozenset(["print", "input", "open", "breakpoint", "exec", "eval"])
"""Builtin functions with effects."""


@dataclass
class Uses:
    """How some statements use names from before the loop."""

    assigned: dict[str, int] = field(default_factory=dict)
    """Names whose items or attributes are set or deleted, with the line."""
    changed: dict[str, int] = field(default_factory=dict)
    """Names on which a method of `CHANGING` is called."""
    called: dict[str, set[str]] = field(default_factory=dict)
    """The methods that are called on a name."""
    passed: set[str] = field(default_factory=set)
    """Names whose object other code may get."""
    effects: int | None = None
    """The line of a call with an effect."""


def uses_of(statements: Iterable[ast.AST]) -> Uses:
    """The uses of all names in some statements."""
    uses = Uses()
    for statement in statements:
        for node, parent in _with_parent(statement, None):
            if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
                root = _root(node)
                if root is not None:
                    uses.assigned.setdefault(root.id, node.lineno)
            elif isinstance(node, ast.Call):
                _note_call(uses, node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and not _only_reads(node, parent):
                uses.passed.add(node.id)
    return uses


def _note_call(uses: Uses, call: ast.Call) -> None:
    if isinstance(call.func, ast.Attribute):
        root = _root(call.func)
        if root is not None:
            direct = call.func.value is root
            uses.called.setdefault(root.id, set()).add(call.func.attr if direct else f"….{call.func.attr}")
            if call.func.attr in CHANGING:
                uses.changed.setdefault(root.id, call.lineno)
    harmless = isinstance(call.func, ast.Name) and call.func.id in HARMLESS
    if isinstance(call.func, ast.Name) and call.func.id in OUTPUT and uses.effects is None:
        uses.effects = call.lineno
    if not harmless:
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            uses.passed |= names_in(argument)


def _root(node: ast.expr) -> ast.Name | None:
    """The name at the beginning of `name.a[0].b`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _with_parent(node: ast.AST, parent: ast.AST | None) -> Iterator[tuple[ast.AST, ast.AST | None]]:
    yield node, parent
    for each in ast.iter_child_nodes(node):
        yield from _with_parent(each, node)


def _only_reads(name: ast.Name, parent: ast.AST | None) -> bool:
    """Whether an expression reads the value of a name, and does not pass on its object."""
    match parent:
        case ast.Subscript(value=value) | ast.Attribute(value=value):
            return value is name
        case ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.FormattedValue() | ast.If() | ast.While():
            return True
        case ast.Call(func=func):
            harmless = isinstance(func, ast.Name) and func.id in HARMLESS
            return func is name or harmless
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is name
        case ast.IfExp(test=test):
            return test is name
        case ast.AugAssign(value=value):
            return value is name
    return False
