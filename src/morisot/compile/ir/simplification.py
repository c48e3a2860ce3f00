"""What Spark's optimizer may simplify. It drops an expression whose value it does not need, even if it fails.

`CASE WHEN test THEN a ELSE b END` becomes `a` if the optimizer finds that a and b are equal, `test AND FALSE` becomes
`FALSE`. The functions answer no if the optimizer might find more than they do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from morisot.compile.ir.expressions import (
    Call,
    Case,
    Each,
    Expr,
    Field,
    Input,
    Literal,
    Raise,
    Shared,
    Struct,
    Variable,
)

COMPARISONS = frozenset({"equal", "unequal", "same", "less", "less_equal", "greater", "greater_equal"})
_CONVERSIONS = frozenset({"itself", "bigint", "double", "string"})
"""Calls that the optimizer removes if the value has the type already."""
_OF_NULLS = frozenset({"coalesce", "is_null", "is_not_null"})
"""Calls that the optimizer simplifies if a value is never NULL."""


class Simplification:
    """Answers about expressions, each computed once: a shared value may be used in many places."""

    def __init__(self, entries: Sequence[tuple[str, Expr]]) -> None:
        self.shared = dict(entries)
        self._constant: dict[int, bool] = {}
        self._stable: dict[int, bool] = {}
        self._staying: dict[int, bool] = {}
        self._content: dict[int, Counter[object]] = {}
        self._seen: list[Expr] = []
        """Keeps the expressions alive whose ids are keys."""

    def is_constant(self, expr: Expr) -> bool:
        """Whether the optimizer may compute an expression."""
        if id(expr) not in self._constant:
            self._seen.append(expr)
            leaf = isinstance(expr, Input | Variable | Raise)
            self._constant[id(expr)] = not leaf and all(map(self.is_constant, self._parts(expr)))
        return self._constant[id(expr)]

    def needs_tests(self, case: Case, *, in_call: bool) -> bool:
        """Whether the optimizer keeps the first test of a CASE: its results differ.

        It applies a call of a CASE and constants to each constant result: `(CASE WHEN test THEN 1 ELSE 2 END) > 0`.
        """
        results = [result for _, result in case.branches]
        if in_call and all(map(self.is_constant, (*results, case.otherwise))):
            return False
        return any(not self.may_be_equal(result, case.otherwise) for result in results)

    def needs_left(self, call: Call) -> bool:
        """Whether the optimizer keeps the left operand of AND or OR: the right one cannot become a constant."""
        return all(not self.is_constant(each) and self._stays(each) for each in call.arguments[1:])

    def may_be_equal(self, a: Expr, b: Expr) -> bool:
        """Whether the optimizer may find two expressions equal."""
        if isinstance(a, Raise | Literal) and isinstance(b, Raise | Literal):
            return a == b
        if isinstance(a, Raise) or isinstance(b, Raise):
            return False
        if any(isinstance(x, Input) and x not in self._content_of(y) for x, y in ((a, b), (b, a))):
            return False  # a simpler expression reads no more columns
        constants = [self.is_constant(each) for each in (a, b)]
        if all(constants) or not all(self.is_constant(each) or self._is_stable(each) for each in (a, b)):
            return True
        return not any(constants) and self._content_of(a) == self._content_of(b)

    def _parts(self, expr: Expr) -> Sequence[Expr]:
        return (self.shared[expr.name],) if isinstance(expr, Shared) else expr.parts

    def _is_stable(self, expr: Expr) -> bool:
        """Whether no part of an expression that is not constant can be replaced by a simpler one."""
        if id(expr) not in self._stable:
            self._seen.append(expr)
            self._stable[id(expr)] = not self._is_replaced(expr) and all(map(self._is_stable, self._parts(expr)))
        return self._stable[id(expr)]

    def _stays(self, expr: Expr) -> bool:
        """Whether no part of an expression is replaced by a simpler one, but for constant parts by their values."""
        if id(expr) not in self._staying:
            self._seen.append(expr)
            parts = [part for part in self._parts(expr) if not self.is_constant(part)]
            self._staying[id(expr)] = not self._is_replaced(expr) and all(map(self._stays, parts))
        return self._staying[id(expr)]

    def _is_replaced(self, expr: Expr) -> bool:
        match expr:
            case Call(name, arguments):
                constants = [self.is_constant(each) for each in arguments]
                if all(constants) or name in _OF_NULLS or (name in ("and", "or") and any(constants)):
                    return True
                return name in COMPARISONS and self.may_be_equal(arguments[0], arguments[1])
            case Case(branches):
                return any(self.is_constant(test) for test, _ in branches) or not self.needs_tests(expr, in_call=False)
        return isinstance(expr, Field) and isinstance(expr.struct, Struct)

    def _content_of(self, expr: Expr) -> Counter[object]:
        """The operations and leaves without their order, because the optimizer ignores the order of a sum."""
        if id(expr) not in self._content:
            self._seen.append(expr)
            found: Counter[object] = Counter(_heads(expr))
            for part in self._parts(expr):
                found.update(self._content_of(part))
            self._content[id(expr)] = found
        return self._content[id(expr)]


def _heads(expr: Expr) -> list[object]:
    match expr:
        case Shared():
            return []
        case Call(name):
            return [] if name in _CONVERSIONS else [name]
        case Field(_, name) | Each(name):
            return [(type(expr), name)]
        case Input() | Variable() | Literal() | Raise():
            return [expr]
    return [(type(expr), len(expr.parts))]
