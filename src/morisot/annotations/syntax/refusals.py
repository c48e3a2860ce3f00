"""Statements that a pipeline cannot contain."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from morisot.annotations.syntax.structure import FunctionText, StreamLoop

_NAMESPACES = ("locals", "vars", "globals", "eval", "exec", "super")


def refuse_function(source: FunctionText) -> None:
    """Raises an error for statements that no decorated function may contain."""
    for node in _own(source.node.body):
        if isinstance(node, ast.Global | ast.Nonlocal):
            word = "global" if isinstance(node, ast.Global) else "nonlocal"
            raise source.refuse(
                f"a pipeline does not declare names as {word}",
                node,
                f"pass {node.names[0]} as an argument, or return its new value",
            )
        if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
            raise source.refuse("a pipeline does not await", node, "call asyncio.run(…) in the head or in a stage")


def refuse_statements(source: FunctionText, loop: StreamLoop) -> None:
    """Raises an error for statements that a stream loop may not contain."""
    for node in _own(loop.node.body):
        where = "the head" if any(node is each for part in loop.head for each in ast.walk(part)) else "a stage"
        if isinstance(node, ast.Return):
            raise source.refuse(
                f"`return` stands inside {where}",
                node,
                "set a name from before the loop, and return it after the loop",
            )
        if isinstance(node, ast.Yield | ast.YieldFrom):
            raise source.refuse(
                f"`yield` stands inside {where}",
                node,
                "append to a list from before the loop, and yield after the loop",
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMESPACES:
            raise source.refuse(
                f"{where} calls {node.func.id}(), and the names of a pipeline are not in one place",
                node,
                "name the values that it needs",
            )
        if isinstance(node, ast.Import | ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            raise source.refuse("`import *` stands in a stream loop", node, "import the names")
    for stage in loop.stages:
        for jump in stream_jumps(stage.body):
            if isinstance(jump, ast.Break):
                raise source.refuse(
                    "`break` of the stream loop stands in a stage",
                    jump,
                    "break in the head, before the first stage; a stage may `continue`, which drops the element",
                )


def stream_jumps(statements: Iterable[ast.AST]) -> Iterator[ast.Break | ast.Continue]:
    """The `break` and `continue` statements that belong to the stream loop."""
    for node in statements:
        if isinstance(node, ast.Break | ast.Continue):
            yield node
        elif isinstance(node, ast.For | ast.While | ast.AsyncFor):
            yield from stream_jumps(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from stream_jumps(ast.iter_child_nodes(node))


def _own(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes below, without the bodies of nested functions; `nonlocal` in them counts."""
    for node in statements:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from (each for each in ast.walk(node) if isinstance(each, ast.Nonlocal))
        else:
            yield from _own(ast.iter_child_nodes(node))
