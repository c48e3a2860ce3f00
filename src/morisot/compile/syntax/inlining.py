"""Inlining of the user's functions where they are called."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from morisot.compile.ir.values import NEVER, Known
from morisot.compile.syntax.reader import FunctionNode, read
from morisot.compile.syntax.scope import Refused, Scope, refuse
from morisot.compile.syntax.scope import known as from_object
from morisot.compile.syntax.translate import STAGE, Arguments, Keywords, returned
from morisot.compile.verdict import Refusal, Value

DEEPEST = 16
"""The depth to which calls of the user's functions are inlined. Deeper calls are most likely recursion."""

_GENERATOR = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True, eq=False)
class InnerFunction:
    """A function defined inside another one, and the scope of its definition."""

    __name__: ClassVar[str] = "a function inside"
    node: ast.FunctionDef
    scope: Scope


@dataclass(frozen=True, eq=False)
class InnerLambda:
    """A lambda inside a function. The variables that it captures do not change before it is called."""

    __name__: ClassVar[str] = "a lambda inside"
    node: ast.Lambda
    scope: Scope


def inline(
    node: ast.AST,
    function: types.FunctionType,
    arguments: Arguments,
    keywords: Keywords,
    scope: Scope,
) -> Value:
    """The result of a call of the user's function, by inlining it."""
    if scope.depth >= DEEPEST:
        refuse(node, f"{function.__name__} calls itself, or its calls are nested too deeply", STAGE)
    try:
        return _inlined(function, arguments, keywords, scope)
    except Refused as refused:
        if scope.depth > 0 or (scope.function.__module__ or "").startswith(
            "morisot."
        ):  # an adapter of the user's function
            raise
        inner = refused.refusal
        same_file = function.__code__.co_filename == scope.function.__code__.co_filename
        line = inner.line if same_file else getattr(node, "lineno", None)
        raise Refused(Refusal(f"in {function.__name__}: {inner.reason}", line, inner.advice)) from None


def _inlined(function: types.FunctionType, arguments: Arguments, keywords: Keywords, scope: Scope) -> Value:
    inner = dataclasses.replace(scope.on_path({}), function=function, names={}, depth=scope.depth + 1)
    small = [scope.small(argument) if isinstance(argument, Value) else argument for argument in arguments]
    result = body(function, small, keywords, inner)
    if result.type == NEVER:
        refuse(None, f"{function.__name__} raises on every path", STAGE)
    return result


def body(
    function: types.FunctionType, arguments: Arguments, keywords: Keywords, scope: Scope, *, only_truth: bool = False
) -> Value:
    """The value that a function returns for some arguments; its truth if only that is needed, of a lambda."""
    if function.__code__.co_flags & _GENERATOR:
        refuse(None, f"{function.__name__} is a generator or a coroutine", STAGE)
    source = read(function)
    if isinstance(source, Refusal):
        raise Refused(source)
    names = _bind_parameters(source.node, function, arguments, keywords)
    check_walrus(source.node, names)
    strict_before = len(scope.sharing.strict)
    for argument in (*arguments, *keywords.values()):
        if isinstance(argument, Value):
            scope.add_strict(argument)
    scope = scope.having(names)
    node = _tested(source.node) if only_truth and isinstance(source.node, ast.Lambda) else source.node
    return scope.enforce_strict(returned(node, scope), strict_before)


def _tested(node: ast.Lambda) -> ast.Lambda:
    """`lambda …: not not (…)`: the operands of `and` and `or` may then have different types."""
    twice = ast.UnaryOp(ast.Not(), ast.copy_location(ast.UnaryOp(ast.Not(), node.body), node.body))
    return ast.copy_location(ast.Lambda(node.args, ast.copy_location(twice, node.body)), node)


def _bind_parameters(
    node: FunctionNode, function: types.FunctionType, arguments: Arguments, keywords: Keywords
) -> dict[str, Value | Known | None]:
    spec = node.args
    if spec.vararg or spec.kwarg:
        refuse(node, "a function with *args or **kwargs has no column form", "name the parameters")
    positional = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
    if len(arguments) > len(positional):
        refuse(node, f"the function takes {len(positional)} arguments and gets {len(arguments)}")
    defaults = function.__defaults__ or ()
    last = positional[len(positional) - len(defaults) :]
    bound: dict[str, Value | Known | None] = {
        name: from_object(default) for name, default in zip(last, defaults, strict=True)
    }
    bound |= {name: from_object(default) for name, default in (function.__kwdefaults__ or {}).items()}
    bound |= dict(zip(positional, arguments, strict=False))
    bound |= keywords
    everything = [*positional, *(argument.arg for argument in spec.kwonlyargs)]
    for name in everything:
        if name not in bound:
            refuse(node, f"the function gets no argument {name}")
    if set(keywords) - set(everything):
        refuse(node, f"the function has no parameter {min(set(keywords) - set(everything))}")
    return bound


def check_walrus(node: FunctionNode, parameters: Iterable[str]) -> None:
    """Refuses a name that is set by := and set elsewhere: with one assignment, a name that is set has a known value."""
    stored = [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]
    captured = [inner.name for inner in ast.walk(node) if isinstance(inner, ast.MatchAs) and inner.name]
    times = Counter((*stored, *captured, *parameters))
    for inner in ast.walk(node):
        if isinstance(inner, ast.NamedExpr) and times[inner.target.id] > 1:
            refuse(inner, f"{inner.target.id} is set by := and again elsewhere", "use another name")
