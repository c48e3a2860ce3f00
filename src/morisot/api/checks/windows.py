"""Checks of windows and their aggregates."""

from __future__ import annotations

from keyword import iskeyword
from typing import Any

from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.window import WindowJoin, WindowKind
from morisot.types import infer
from morisot.types.element import ANY, BOOL, FLOAT, INT, Decimal, Dict, Type


def check_late(kind: WindowKind, late: Any, operator: str) -> None:
    """Raises an error for a handler of late elements if the windows have none."""
    if late is not None and (not kind.timed or kind.processing):
        raise PlanError(
            f"{operator}: {kind!r} has no late elements",
            location=caller(),
            advice="remove late=; windows of event time have it",
        )


def check_value(kind: str, value: Type, operator: str) -> None:
    """Raises an error for values that have no sum, or no order."""
    if kind in ("sum", "mean"):
        number = infer.without_none(value)
        fits = number in (INT, FLOAT, BOOL, ANY) or isinstance(number, Decimal)
        what, wanted = "adds numbers", "a number"
    else:
        fits = not isinstance(value, Dict)
        what, wanted = "compares values", "a value that has an order"
    if not fits:
        raise PlanError(
            f"{operator} {what}, and these are {value}",
            location=caller(),
            advice=f"select {wanted}: {kind}(lambda element: …)",
        )


def check_bounds(node: WindowJoin) -> None:
    """Raises an error if the two sides have no common bounds."""
    if not node.kind.timed:
        raise PlanError(
            f"{node.operator} has no bounds for {node.kind!r}: each side has positions of its own",
            location=caller(),
            advice="remove with_bounds()",
        )


def check_aggregates(accumulator: Any, named: dict[str, Any], operator: str) -> None:
    """Raises an error unless it is one accumulator or some named aggregates."""
    if (accumulator is None) == (not named):
        raise PlanError(
            f"{operator} takes one accumulator, or aggregates with names",
            location=caller(),
            advice="for example aggregate(total=mo.agg.sum(), n=mo.agg.count())",
        )
    hidden = [name for name in named if name.startswith("_") or not name.isidentifier() or iskeyword(name)]
    if hidden:
        raise PlanError(
            f"{operator} cannot name a result {hidden[0]!r}: it is not a valid name of a record's field",
            location=caller(),
            advice="use a plain name without a leading underscore",
        )
