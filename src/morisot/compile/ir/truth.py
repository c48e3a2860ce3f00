"""Truth: what `if value` decides, for predicates that return something else than a bool."""

from __future__ import annotations

from morisot.compile.ir.expressions import Expr
from morisot.compile.ir.values import truth as known_truth
from morisot.compile.verdict import Value


def truth(value: Value) -> Expr:
    """`bool(value)` as a column; a predicate whose truth only Python knows runs there."""
    known = known_truth(value)
    assert known is not None, f"the truth of a value of type {value.type}"
    return known
