"""`try … except …`: operations record conditions under which they fail, and the handler applies to those rows.

A recorded condition holds only where CPython raises that exception. If the operation fails although the condition does
not hold, the column fails, and the job runs in Python. So a condition need not cover every failure. The first failure
in order of evaluation decides: the rows of a handler also evaluate what CPython evaluates before the operation.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from morisot.compile.exact import texts
from morisot.compile.exact.forms import call, integer, text
from morisot.compile.ir.expressions import Expr, walk
from morisot.compile.ir.strictness import StrictExpr
from morisot.compile.ir.values import Known, conjunction, disjunction, negate, pack
from morisot.compile.syntax.scope import Scope, refuse
from morisot.compile.syntax.translate import STAGE, expression
from morisot.compile.verdict import Value
from morisot.types.element import FLOAT, INT, STR


@dataclass(frozen=True)
class Failure:
    """An exception, and a condition under which an operation always raises it."""

    exception: type[BaseException]
    condition: Expr
    before: int
    """How many values were evaluated before the operation."""


@dataclass(frozen=True)
class TryBody:
    """What is learned from reading the body of a try, in CPython's order of evaluation."""

    failures: list[Failure] = field(default_factory=list)
    evaluated: list[StrictExpr] = field(default_factory=list)
    """The values that may fail."""

    def before(self, failure: Failure) -> list[StrictExpr]:
        """What is evaluated before an operation fails, without the parts of what is evaluated as a whole."""
        found: list[StrictExpr] = []
        for each in reversed(self.evaluated[: failure.before]):
            parts = (part for other in found if other.condition == each.condition for part in walk(other.expr))
            if each.expr not in parts:
                found.append(each)
        return found


_SPACE = "[ \\t\\n\\r\\x0b\\f\\x1c-\\x1f]*"
_INT = f"^{_SPACE}[+-]?[0-9][0-9_]*{_SPACE}\\z"
_FLOAT = f"^{_SPACE}[+-]?(\\.?[0-9][0-9._eE+-]*|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN]){_SPACE}\\z"
"""Patterns of a superset of the ASCII texts that int() and float() accept."""


def record_call(function: object, arguments: Sequence[Value], scope: Scope) -> None:
    """`int(text)` and `float(text)`."""
    if scope.trial is None or len(arguments) != 1 or arguments[0].type != STR or function not in (int, float):
        return
    a = pack(arguments[0])
    pattern = _INT if function is int else _FLOAT
    record(ValueError, conjunction(texts.is_ascii(a), negate(call("rlike", a, text(pattern)))), scope)


def record_division(op: ast.operator, left: Value, right: Value, scope: Scope) -> None:
    """`a / b`, `a // b`, `a % b` of numbers."""
    if scope.trial is None or not isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
        return
    if left.type in (INT, FLOAT) and right.type in (INT, FLOAT):
        zero = integer(0) if right.type == INT else call("double", integer(0))
        record(ZeroDivisionError, call("equal", pack(right), zero), scope)


def record(exception: type[BaseException], condition: Expr, scope: Scope) -> None:
    """Records a failure. A failure inside a comprehension is not recorded: its condition depends on the item."""
    if scope.trial is not None and not scope.per_item:
        failure = Failure(exception, conjunction(scope.condition, condition), len(scope.trial.evaluated))
        scope.trial.failures.append(failure)


def handler_of(failure: Failure, handlers: Sequence[ast.ExceptHandler], scope: Scope) -> ast.ExceptHandler | None:
    """The handler that catches the exception; None if there is none."""
    for handler in handlers:
        if handler.type is None or issubclass(failure.exception, _classes(handler.type, scope)):
            return handler
    return None


def _classes(node: ast.expr, scope: Scope) -> tuple[type[BaseException], ...]:
    found = expression(node, scope)
    given = found.object if isinstance(found, Known) else None
    classes = given if isinstance(given, tuple) else (given,)
    if not all(isinstance(cls, type) and issubclass(cls, BaseException) for cls in classes):
        refuse(node, "except with something other than an exception class has no column form", STAGE)
    return classes


def any_of(conditions: Sequence[Expr]) -> Expr:
    """Whether one of the conditions holds, evaluated in their order."""
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = disjunction(joined, condition)
    return joined
