"""Tests in a function: which parts of the element are not None if a test is true, or false, or did not fail.

The rules follow CPython: an operation that fails on None has only values that are not None. They do not depend on the
form in which the function runs.
"""

from __future__ import annotations

import ast
import datetime
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

from morisot.compile.nullness.outcomes import NOTHING, Facts, TestOutcome, both, either
from morisot.compile.nullness.parts import UNKNOWN, ElementPart, Names
from morisot.types.element import BOOL, BYTES, DATE, DATETIME, FLOAT, INT, NUMBERS, STR, Optional
from morisot.types.infer import without_none

Summary = Callable[[types.FunctionType, list[ElementPart | None]], TestOutcome]
"""The outcome of a call of a user's function, by the parts that are its arguments."""

_SCALARS = frozenset({INT, FLOAT, BOOL, STR, BYTES, DATE, DATETIME})
_SCALAR_CLASSES = (int, float, bool, str, bytes, datetime.date, datetime.datetime)
_CONTAINERS = (tuple, list, set, frozenset, dict)
_NUMBER_OF = frozenset({len, abs, int, float, round, ord})
"""Builtins that fail on None and return a number."""
_TRUTH = frozenset({bool, operator.truth})
_ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_ALL_PARTS = (ast.Tuple, ast.List, ast.Set, ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.NamedExpr, ast.Slice)
"""Expressions that evaluate all their parts."""


class Conditions:
    """The tests of one function."""

    def __init__(self, names: Names, summary: Summary) -> None:
        self._names = names
        self._summary = summary

    # -- tests ---------------------------------------------------------------------------------------------------------

    def outcome(self, node: ast.expr) -> TestOutcome:
        """The facts after a test."""
        match node:
            case ast.Constant(value):
                return TestOutcome(NOTHING, None) if value else TestOutcome(None, NOTHING)
            case ast.UnaryOp(ast.Not(), inner):
                return self.outcome(inner).negated
            case ast.BoolOp(ast.And(), values):
                return self._all(values)
            case ast.BoolOp(ast.Or(), values):
                return self._none(values).negated
            case ast.IfExp(test, then, otherwise):
                tested = self.outcome(test)
                one, other = self.outcome(then).after(tested.true), self.outcome(otherwise).after(tested.false)
                return TestOutcome(either(one.true, other.true), either(one.false, other.false))
            case ast.NamedExpr(_, value):
                return self.outcome(value)
            case ast.Compare():
                return self._compared(node)
            case ast.Call():
                return self._called(node)
        known = self.evaluated(node)
        return TestOutcome(known | self._itself(node), known)

    def _all(self, nodes: Iterable[ast.expr]) -> TestOutcome:
        """`a and b and …`: a later test is evaluated if the earlier ones are true."""
        true: Facts | None = NOTHING
        false: Facts | None = None
        for node in nodes:
            found = self.outcome(node).after(true)
            true, false = found.true, either(false, found.false)
        return TestOutcome(true, false)

    def _none(self, nodes: Iterable[ast.expr]) -> TestOutcome:
        """`not a and not b and …`."""
        return self._all([ast.UnaryOp(ast.Not(), node) for node in nodes])

    def _compared(self, node: ast.Compare) -> TestOutcome:
        true: Facts | None = self.evaluated(node.left)
        false: Facts | None = None
        for op, left, right in self._pairs(node):
            found = self._compare(op, left, right).after(both(true, self.evaluated(right)))
            true, false = found.true, either(false, found.false)
        return TestOutcome(true, false)

    def _pairs(self, node: ast.Compare) -> Iterable[tuple[ast.cmpop, ast.expr, ast.expr]]:
        return zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False)

    def _compare(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> TestOutcome:
        """One comparison, without what evaluating its operands tells."""
        match op:
            case ast.IsNot() | ast.NotEq():
                return self._same(left, right).negated
            case ast.Is() | ast.Eq():
                return self._same(left, right)
            case ast.In():
                return self._contained(left, right)
            case ast.NotIn():
                return self._contained(left, right).negated
            case _:
                return self._surely(self._fails_on_none(left, right))

    def _same(self, left: ast.expr, right: ast.expr) -> TestOutcome:
        """`==` and `is`: only None is None, and no number, text or date equals None."""
        true, false = NOTHING, NOTHING
        for one, other in ((left, right), (right, left)):
            if self._names.object(other) is None:
                false |= self._itself(one)
            elif self._is_scalar(other) and not self._may_be_none(other):
                true |= self._itself(one)
        return TestOutcome(true, false)

    def _contained(self, item: ast.expr, container: ast.expr) -> TestOutcome:
        """`in`: fails on a container that is None. None is in no container of numbers, texts or dates."""
        known = self._itself(container)
        true = known | self._itself(item) if self._holds_scalars(container) else known
        if self._names.object(item) is None and isinstance(container, ast.Tuple | ast.List | ast.Set):
            return TestOutcome(true, known.union(*map(self._itself, container.elts)))
        return TestOutcome(true, known)

    def _called(self, node: ast.Call) -> TestOutcome:
        known = self.evaluated(node)
        function = self._names.object(node.func)
        if node.keywords or any(isinstance(each, ast.Starred) for each in node.args):
            return self._surely(known)
        match node.args:
            case [value] if _is_in(function, _TRUTH):
                return self.outcome(value).after(known)
            case [ast.Tuple(values) | ast.List(values)] if function is all:
                return TestOutcome(both(known, self._all(values).true), known)
            case [value, classes] if function is isinstance and self._excludes_none(classes):
                return TestOutcome(known | self._itself(value), known)
        if isinstance(function, types.FunctionType):
            return self._summary(function, [self._names.part(each) for each in node.args]).after(known)
        return self._surely(known)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def evaluated(self, node: ast.AST) -> Facts:
        """The facts after an expression that did not fail."""
        match node:
            case ast.BoolOp(values=[first, *_]):
                return self.evaluated(first)
            case ast.IfExp(test):
                return self.evaluated(test)
            case ast.Compare(left, [op, *_], [right, *_]):
                found = self._compare(op, left, right)
                return self._each(left, right) | (found.true or NOTHING) & (found.false or NOTHING)
            case ast.Attribute(value, name):
                return self.evaluated(value) | (NOTHING if name.startswith("__") else self._itself(value))
            case ast.Subscript(value, index):
                return self._each(value, index) | self._itself(value)
            case ast.UnaryOp(op, value):
                return self.evaluated(value) | (NOTHING if isinstance(op, ast.Not) else self._itself(value))
            case ast.BinOp(left, op, right):
                return self._each(left, right) | self._calculated(op, left, right)
            case ast.Call():
                return self._arguments(node)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self.iterated(node.generators[0].iter)
            case ast.Dict(keys, values):
                return self._each(*(key for key in keys if key is not None), *values)
            case _ if isinstance(node, _ALL_PARTS):
                return self._each(*ast.iter_child_nodes(node))
        return NOTHING

    def iterated(self, node: ast.expr) -> Facts:
        """The facts after a loop over an expression has begun: None is not iterable."""
        return self.evaluated(node) | self._itself(node)

    def _each(self, *nodes: ast.AST) -> Facts:
        return NOTHING.union(*map(self.evaluated, nodes))

    def _arguments(self, node: ast.Call) -> Facts:
        known = self._each(node.func, *node.args, *(keyword.value for keyword in node.keywords))
        function = self._names.object(node.func)
        if node.args and (_is_in(function, _NUMBER_OF) or _is_of_math(function)):
            known |= self._itself(node.args[0])
        return known

    def _calculated(self, op: ast.operator, left: ast.expr, right: ast.expr) -> Facts:
        """None has no operators. `text % None` is formatting, which accepts it."""
        known = self._fails_on_none(left, right)
        return known - self._itself(right) if isinstance(op, ast.Mod) and not self._is_number(left) else known

    def _fails_on_none(self, left: ast.expr, right: ast.expr) -> Facts:
        """The operands of an operator that no number, text or date has together with None."""
        both_known = self._is_scalar(left) and self._is_scalar(right)
        return self._itself(left) | self._itself(right) if both_known else NOTHING

    def _itself(self, node: ast.AST) -> Facts:
        part = self._names.part(node)
        return NOTHING if part is None else frozenset({part.path})

    def _surely(self, known: Facts) -> TestOutcome:
        return TestOutcome(known, known)

    # -- values --------------------------------------------------------------------------------------------------------

    def _is_scalar(self, node: ast.expr) -> bool:
        """Whether a value is a number, a text or a date, or None."""
        part = self._names.part(node)
        if part is not None:
            return without_none(part.type) in _SCALARS
        match node:
            case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Invert(), value):
                return self._is_scalar(value)
            case ast.BinOp(left, _, right):
                return self._is_scalar(left) and self._is_scalar(right)
            case ast.Call(function):
                return _is_in(self._names.object(function), _NUMBER_OF)
        return type(self._names.object(node)) in _SCALAR_CLASSES

    def _is_number(self, node: ast.expr) -> bool:
        part = self._names.part(node)
        if part is not None:
            return without_none(part.type) in NUMBERS
        return type(self._names.object(node)) in (int, float, bool)

    def _may_be_none(self, node: ast.expr) -> bool:
        part = self._names.part(node)
        return part is not None and isinstance(part.type, Optional)

    def _holds_scalars(self, node: ast.expr) -> bool:
        """Whether a container certainly does not contain None."""
        match node:
            case ast.Tuple(items) | ast.List(items) | ast.Set(items):
                return all(self._is_scalar(item) and not self._may_be_none(item) for item in items)
        found = self._names.object(node)
        return type(found) in _CONTAINERS and all(type(item) in _SCALAR_CLASSES for item in found)

    def _excludes_none(self, node: ast.expr) -> bool:
        """Whether the classes of an isinstance() do not include that of None."""
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        classes = [self._names.object(each) for each in nodes]
        return all(isinstance(each, type) and not isinstance(None, each) for each in classes)


def _is_in(found: Any, functions: frozenset[Any]) -> bool:
    """Whether an object is one of some functions. It may not be hashable, or be equal to anything."""
    return any(found is function for function in functions)


def _is_of_math(found: Any) -> bool:
    return found is not UNKNOWN and getattr(found, "__module__", None) == math.__name__ and callable(found)
