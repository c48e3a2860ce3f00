"""What a condition states about variables and the fields of records: they are None, or not."""

from __future__ import annotations

import ast

from morisot.compile.ir.values import NEVER
from morisot.compile.result_types.frames import CallFrame, Variables
from morisot.compile.table import records
from morisot.types.element import ANY, NONE, Record, Tuple, Type
from morisot.types.infer import without_none


class NarrowedTypes:
    """Narrows the types of variables on the branches of a condition."""

    def __init__(self) -> None:
        self.impure = False

    def type(self, node: ast.expr, frame: CallFrame, variables: Variables) -> Type:
        """The type of an expression."""
        raise NotImplementedError

    def narrowed(self, test: ast.expr, truth: bool, frame: CallFrame, variables: Variables) -> Variables:
        """The variables where a condition has a value: a path that is not None there has no None."""
        match test:
            case ast.UnaryOp(ast.Not(), inner):
                return self.narrowed(inner, not truth, frame, variables)
            case ast.BoolOp(op, values) if isinstance(op, ast.And) == truth:
                for value in values:
                    variables = self.narrowed(value, truth, frame, variables)
                return variables
            case ast.Compare(left, [ast.Is() | ast.IsNot() as op], [ast.Constant(None)]):
                return self._without_none(left, variables, frame, isinstance(op, ast.IsNot) == truth, True)
        return self._without_none(test, variables, frame, truth, False)

    def _without_none(
        self, node: ast.expr, variables: Variables, frame: CallFrame, present: bool, is_certain: bool
    ) -> Variables:
        path = path_of(node.target if isinstance(node, ast.NamedExpr) else node)
        if path is None or (not present and not is_certain) or path.split(".")[0].split("[")[0] in frame.weak:
            return dict(variables)
        known = self.impure
        type_ = self.type(node, frame, variables) if not isinstance(node, ast.NamedExpr) else ANY
        is_variable = isinstance(node, ast.Name) and node.id in variables
        if self.impure != known or not (is_variable or self._is_stored(node, frame, variables)):
            return dict(variables)
        if type_ in (ANY, NEVER):
            return dict(variables)
        return {**variables, path: without_none(type_) if present else NONE}

    def _is_stored(self, node: ast.expr, frame: CallFrame, variables: Variables) -> bool:
        """Whether a path reads stored fields only, so that reading it again gives the same value."""
        match node:
            case ast.Attribute(value=inner, attr=name):
                owner = without_none(self.type(inner, frame, variables))
                if not isinstance(owner, Record) or name not in owner.names:
                    return False
                return records.is_plain_field(owner.cls, name) and self._is_stored(inner, frame, variables)
            case ast.Subscript(value=inner):
                owner = self.type(inner, frame, variables)
                return isinstance(owner, Tuple) and self._is_stored(inner, frame, variables)
        return isinstance(node, ast.Name) and node.id in variables


def path_of(node: ast.expr) -> str | None:
    """The text of a variable, its attributes and constant items; None for other expressions."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name):
            path = path_of(inner)
            return None if path is None else f"{path}.{name}"
        case ast.Subscript(value=inner, slice=ast.Constant(int(index))):
            path = path_of(inner)
            return None if path is None else f"{path}[{index}]"
    return None
