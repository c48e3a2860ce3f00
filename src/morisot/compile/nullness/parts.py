"""The parts of a function's arguments that its expressions denote, and the objects that its global names denote."""

from __future__ import annotations

import ast
import builtins
import types
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from morisot.compile.syntax.reader import FunctionNode
from morisot.types.element import Record, Tuple, Type
from morisot.types.infer import without_none
from morisot.types.narrowing import Path

UNKNOWN = object()
"""The result for a name that denotes no object that is known."""


@dataclass(frozen=True)
class ElementPart:
    """A part of the element, and its type."""

    path: Path
    type: Type


class Names:
    """The names of one function. A variable that is set once denotes the part that it is set to.

    A function that sets a part of an object is not analysed, so a part has the same value wherever it is read.
    """

    def __init__(self, node: FunctionNode, function: types.FunctionType, parameters: Mapping[str, ElementPart]) -> None:
        self._function = function
        stored = Counter(_stored(node))
        self._parameters = {name: part for name, part in parameters.items() if not stored[name]}
        set_once = {name for name, times in stored.items() if times == 1 and name not in _parameters(node)}
        self._variables = {name: value for name, value in _assigned(node) if name in set_once}

    def part(self, node: ast.AST) -> ElementPart | None:
        """The part of the element that an expression denotes; None for other expressions."""
        match node:
            case ast.Name(name) if name in self._parameters:
                return self._parameters[name]
            case ast.Name(name) if name in self._variables:
                value = self._variables.pop(name)  # a variable may be set to an expression that reads it
                try:
                    return self.part(value)
                finally:
                    self._variables[name] = value
            case ast.NamedExpr(_, value):
                return self.part(value)
            case ast.Attribute(value, name):
                return _field(self.part(value), name)
            case ast.Subscript(value, index):
                return _item(self.part(value), _constant_index(index))
        return None

    def object(self, node: ast.AST) -> Any:
        """The object that is captured, global, built in, or of a module; UNKNOWN for other expressions."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self._outside(name)
            case ast.Attribute(value, name):
                module = self.object(value)
                return getattr(module, name, UNKNOWN) if isinstance(module, types.ModuleType) else UNKNOWN
        return UNKNOWN

    def _outside(self, name: str) -> Any:
        code = self._function.__code__
        if name in code.co_freevars:
            cell = (self._function.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:  # the variable has no value yet
                return UNKNOWN
        if name in code.co_varnames or name in code.co_cellvars:
            return UNKNOWN
        return self._function.__globals__.get(name, getattr(builtins, name, UNKNOWN))


def changes_objects(node: FunctionNode) -> bool:
    """Whether the function sets attributes or items, or is a generator: then nothing is known."""
    kinds = ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal
    return any(
        isinstance(each, kinds)
        or (isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load))
        for each in ast.walk(node)
    )


def _parameters(node: FunctionNode) -> set[str]:
    spec = node.args
    several = [each for each in (spec.vararg, spec.kwarg) if each is not None]
    return {each.arg for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *several)}


def _stored(node: FunctionNode) -> Iterator[str]:
    """Each name as often as it is set. Names of inner functions count as well, so that none is hidden by another."""
    for each in ast.walk(node):
        match each:
            case ast.Name(name, ast.Store() | ast.Del()):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name, asname):
                yield asname or name.partition(".")[0]


def _assigned(node: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    """The variables that are set by assignments, each with the expression of its value."""
    for each in ast.walk(node):
        match each:
            case ast.Assign(targets, value):
                for target in targets:
                    yield from _unpacked(target, value)
            case ast.AnnAssign(target, _, ast.expr() as value) | ast.NamedExpr(target, value):
                yield from _unpacked(target, value)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target:
        case ast.Name(name):
            yield name, value
        case ast.Tuple(targets) | ast.List(targets) if not any(isinstance(one, ast.Starred) for one in targets):
            for index, one in enumerate(targets):
                yield from _unpacked(one, ast.Subscript(value, ast.Constant(index), ast.Load()))


def _field(part: ElementPart | None, name: str) -> ElementPart | None:
    if part is None:
        return None
    type_ = without_none(part.type)
    if not isinstance(type_, Record) or name not in type_.names:
        return None
    index = type_.names.index(name)
    return ElementPart((*part.path, index), type_.items[index])


def _item(part: ElementPart | None, index: int | None) -> ElementPart | None:
    if part is None or index is None:
        return None
    type_ = without_none(part.type)
    if not isinstance(type_, Tuple | Record) or (isinstance(type_, Record) and not type_.is_tuple):
        return None
    if not -len(type_.items) <= index < len(type_.items):
        return None
    index %= len(type_.items)
    return ElementPart((*part.path, index), type_.items[index])


def _constant_index(node: ast.expr) -> int | None:
    match node:
        case ast.Constant(value) if type(value) is int:
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) if type(value) is int:
            return -value
    return None
