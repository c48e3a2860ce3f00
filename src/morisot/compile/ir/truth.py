"""Truth: what `if value` decides, for predicates that return something else than a bool."""

from __future__ import annotations

from morisot.compile.ir.expressions import Expr, Raise
from morisot.compile.ir.values import truth as known_truth
from morisot.compile.verdict import Value


def truth(value: Value) -> Expr:
    """`bool(value)` as a column; where only Python knows, the column fails and Python does it."""
    return known_truth(value) or Raise(f"the truth of a value of type {value.type}")
