"""Aggregates of a window's elements, for `aggregate(…)`. Each function describes one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.plan.nodes.window import MeasureKind

__all__ = ["count", "first", "fold", "last", "map", "max", "max_element", "mean", "min", "min_element", "reduce", "sum"]

Function = Callable[..., Any]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a window, independent of a stream."""

    kind: MeasureKind
    function: Any = None
    init: Any = None
    returns: Any = None


def sum(value: Function | None = None) -> Aggregate:  # noqa: A001 - users write agg.sum
    """The sum of the elements, or of a value of each."""
    return Aggregate("sum", value)


def min(value: Function | None = None) -> Aggregate:  # noqa: A001
    """The smallest element, or the smallest value; of equals the first."""
    return Aggregate("min", value)


def max(value: Function | None = None) -> Aggregate:  # noqa: A001
    """The largest element, or the largest value; of equals the first."""
    return Aggregate("max", value)


def min_element(value: Function) -> Aggregate:
    """The element with the smallest value; of equals the first."""
    return Aggregate("min_element", value)


def max_element(value: Function) -> Aggregate:
    """The element with the largest value; of equals the first."""
    return Aggregate("max_element", value)


def count() -> Aggregate:
    """The number of elements."""
    return Aggregate("count")


def mean(value: Function | None = None) -> Aggregate:
    """The sum divided by the count."""
    return Aggregate("mean", value)


def first() -> Aggregate:
    """The first element."""
    return Aggregate("first")


def last() -> Aggregate:
    """The last element."""
    return Aggregate("last")


def fold(init: Any, function: Function, *, returns: Any = None) -> Aggregate:
    """The result of `function(accumulator, element)` after the last element, from a copy of `init` on."""
    return Aggregate("fold", function, init, returns)


def reduce(function: Function) -> Aggregate:
    """The result of `function(accumulator, element)` after the last element, from the first on."""
    return Aggregate("reduce", function)


def map(function: Function, *, returns: Any = None) -> Aggregate:  # noqa: A001
    """The result of a function for the list of elements."""
    return Aggregate("map", function, returns=returns)
