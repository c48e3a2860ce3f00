"""Truth values of predicates that return something other than a bool."""

from __future__ import annotations

from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import truth as known_truth
from morisot.compile.verdict import Value


def truth(value: Value) -> Expr:
    """`bool(value)` as a column. If the type has no column form for it, the column fails, and Python is used."""
    known = known_truth(value)
    assert known is not None, f"the truth of a value of type {value.type}"
    return known
