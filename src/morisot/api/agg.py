"""What can be computed of a window's elements, for `aggregate(…)`: each function describes one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.plan.nodes.window import MeasureKind

__all__ = ["count", "first", "fold", "last", "map", "max", "max_element", "mean", "min", "min_element", "reduce", "sum"]

Function = Callable[..., Any]


@dataclass(frozen=True)
class Aggregate:
    """One result of a window, before it is known of which stream."""

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
    """How many elements there are."""
    return Aggregate("count")


def mean(value: Function | None = None) -> Aggregate:
    """The sum divided by the count."""
    return Aggregate("mean", value)


def first() -> Aggregate:
    """The element that came first."""
    return Aggregate("first")


def last() -> Aggregate:
    """The element that came last."""
    return Aggregate("last")


def fold(init: Any, function: Function) -> Aggregate:
    """What `function(accumulator, element)` gives after the last element, from a copy of `init` on."""
    return Aggregate("fold", function, init)


def reduce(function: Function) -> Aggregate:
    """What `function(accumulator, element)` gives after the last element, from the first on."""
    return Aggregate("reduce", function)


def map(function: Function, *, returns: Any = None) -> Aggregate:  # noqa: A001
    """What a function makes of the list of elements."""
    return Aggregate("map", function, returns=returns)
