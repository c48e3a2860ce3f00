"""The variables of a function while its syntax tree is interpreted."""

from __future__ import annotations

import ast
import builtins
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from morisot.compile.ir.values import Known
from morisot.compile.result_types.domain import Found, join, type_of
from morisot.compile.result_types.local_containers import READING, local_containers
from morisot.compile.syntax.reader import FunctionNode
from morisot.types.element import ANY, Type

Variables = dict[str, Found]
"""The types of variables, and of paths such as `r.x` about which a condition states more."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class GiveUp(Exception):  # noqa: N818 - it ends the interpretation, and is no error
    """The function does what the interpreter does not follow."""


@dataclass(eq=False)
class CallFrame:
    """A call of a function."""

    function: types.FunctionType
    """The function, or the function around it, for captured variables and globals."""
    node: FunctionNode
    outer: CallFrame | None = None
    depth: int = 0
    bound: dict[str, Type] = field(default_factory=dict)
    """All types that a variable has had, for inner functions and for variables that := sets."""
    returned: list[Type] = field(default_factory=list)
    yielded: list[Type] = field(default_factory=list)
    recorders: list[list[Variables]] = field(default_factory=list)
    """The variables after each assignment in a `try`, where an exception may occur."""

    def __post_init__(self) -> None:
        parameters = Counter(argument.arg for argument in _arguments(self.node))
        body = [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body
        self.stored = parameters + Counter(name for part in body for name in _stored(part, False))
        walrus = (each.target.id for part in body for each in ast.walk(part) if isinstance(each, ast.NamedExpr))
        self.weak = frozenset(walrus)
        if any(self.stored[name] > 1 for name in self.weak):
            raise GiveUp
        outside = {*self.function.__globals__, *self.function.__code__.co_freevars}
        taken = self.stored + Counter(outside & READING)
        self.local = frozenset() if isinstance(self.node, ast.Lambda) else local_containers(self.node.body, taken)
        """The lists and dicts that only this call can change."""

    def bind(self, name: str, found: Found, variables: Variables) -> None:
        """Sets a variable."""
        type_ = type_of(found)
        if name in self.local:
            self.fill(name, type_)
            variables[name] = found
            return
        self.bound[name] = join(self.bound[name], type_) if name in self.bound else type_
        for path in [path for path in variables if path.startswith((f"{name}.", f"{name}["))]:
            del variables[path]
        variables[name] = found
        for recorder in self.recorders:
            recorder.append(dict(variables))

    def fill(self, name: str, added: Type) -> None:
        """Adds the items of a list or dict to those of a local one."""
        self.bound[name] = join(self.bound[name], added) if name in self.bound else added

    def lookup(self, name: str, variables: Variables) -> Found:
        """The type of a variable, or the object of a name outside of the function."""
        if name in self.weak or (name in self.local and name in variables):
            return self.bound.get(name, ANY)
        if name in variables:
            return variables[name]
        if self.stored[name]:
            return ANY
        frame = self.outer
        while frame is not None:
            if frame.stored[name]:
                return frame.bound.get(name, ANY) if frame.stored[name] == 1 else ANY
            frame = frame.outer
        return self._outside(name)

    def unstored(self, variables: Variables) -> Variables:
        """The variables of comprehensions, which are not the function's own."""
        return {name: found for name, found in variables.items() if name.isidentifier() and not self.stored[name]}

    def _outside(self, name: str) -> Found:
        code = self.function.__code__
        if name in code.co_freevars:
            cells = self.function.__closure__ or ()
            try:
                return Known(cells[code.co_freevars.index(name)].cell_contents)
            except ValueError:
                return ANY
        if name in self.function.__globals__:
            return Known(self.function.__globals__[name])
        return Known(getattr(builtins, name)) if hasattr(builtins, name) else ANY


@dataclass(frozen=True, eq=False)
class Inner:
    """A function or lambda inside a function."""

    node: FunctionNode
    frame: CallFrame
    defaults: dict[str, Found]
    around: Variables
    """The variables of comprehensions around it."""


def _arguments(node: FunctionNode) -> list[ast.arg]:
    spec = node.args
    rest = [each for each in (spec.vararg, spec.kwarg) if each is not None]
    return [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest]


def _stored(node: ast.AST, inside: bool) -> Iterator[str]:
    """The names that code sets in its own scope. A comprehension has a scope of its own, except for :=."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if not inside:
            yield name
        case ast.NamedExpr(target=ast.Name(id=name)) if inside:
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0]
    if isinstance(node, _SCOPES):
        return
    for child in ast.iter_child_nodes(node):
        yield from _stored(child, inside or isinstance(node, _COMPREHENSIONS))


def joined(first: Variables | None, second: Variables | None) -> Variables | None:
    """The variables after two paths; None for a path that ends. A variable that one path does not set has its type."""
    if first is None or second is None:
        return second if first is None else first
    both = {**first, **second}
    for name in first.keys() & second.keys():
        both[name] = _joined(first[name], second[name])
    return {name: found for name, found in both.items() if name.isidentifier() or name in first.keys() & second.keys()}


def _joined(first: Found, second: Found) -> Found:
    if isinstance(first, Known) and isinstance(second, Known) and first.object is second.object:
        return first
    return join(type_of(first), type_of(second))


def same(first: Variables, second: Variables) -> bool:
    """Whether the variables have the same types."""
    return first.keys() == second.keys() and all(_is_same(first[name], second[name]) for name in first)


def _is_same(first: Any, second: Any) -> bool:
    if isinstance(first, Known) and isinstance(second, Known):
        return first.object is second.object
    return not isinstance(first, Known) and not isinstance(second, Known) and bool(first == second)
