"""The condition under which an element goes to a branch, if the function of `split_by` names constant branches."""

from __future__ import annotations

import functools

from morisot.compile.ir.expressions import Call, Case, Expr, Literal
from morisot.compile.verdict import Value
from morisot.types.element import BOOL, INT

_NO, _YES = Literal(False, BOOL), Literal(True, BOOL)


def branch_condition(result: Value, number: int, n: int) -> Expr | None:
    """The condition of one of `n` branches; None if some branches are computed. It may be NULL, which means no."""
    if result.expr is not None:
        return _condition(result.expr, number, n)
    numbers = result.leaves()
    return _named(numbers, number, n)


def _condition(expr: Expr, number: int, n: int) -> Expr | None:
    match expr:
        case Literal(value=int(), type=type_) if type_ == INT:
            return _named((expr,), number, n)
        case Literal(value=tuple() as values):  # a constant list
            return _named(tuple(Literal(each, INT) for each in values), number, n)
        case Call("array", numbers):
            return _named(numbers, number, n)
        case Case(branches, otherwise):
            last = _condition(otherwise, number, n)
            thens = [(condition, _condition(then, number, n)) for condition, then in branches]
            if last is None:
                return None
            known = [(condition, then) for condition, then in thens if then is not None]
            return _case(known, last) if len(known) == len(thens) else None
    return None


def _named(numbers: tuple[Expr, ...], number: int, n: int) -> Expr | None:
    named = [each.value for each in numbers if isinstance(each, Literal) and 0 <= each.value < n]
    if len(named) < len(numbers):
        return None
    return _YES if number in named else _NO


def _case(branches: list[tuple[Expr, Expr]], otherwise: Expr) -> Expr:
    """A CASE without the last branches that give what the ELSE gives, or a disjunction."""
    while branches and branches[-1][1] == otherwise and not branches[-1][0].raises:
        branches = branches[:-1]
    if not branches:
        return otherwise
    conditions = [condition for condition, _ in branches]
    if otherwise == _NO and all(then == _YES for _, then in branches) and not any(each.raises for each in conditions):
        return functools.reduce(lambda one, other: Call("or", (one, other)), conditions)
    return Case(tuple(branches), otherwise)
