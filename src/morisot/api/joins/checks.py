"""Types and checks of joins."""

from __future__ import annotations

from morisot.api.companions import check_times
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.join import Variant
from morisot.plan.nodes.node import Node
from morisot.types import infer
from morisot.types.element import NONE, Keyed, Tuple, Type, may_be_equal
from morisot.types.moments import Duration, ticks

LATE_PAIR = "the pair (left, None) or (None, right)"
"""The argument of handlers of late elements of joins."""


def joined_type(left: Keyed, right: Keyed, variant: Variant) -> Type:
    """The type (key, (left, right)). A side that may be missing may be None. The key is the left one if it exists."""
    ours = infer.unify(left.value, NONE) if variant == "outer" else left.value
    theirs = right.value if variant == "inner" else infer.unify(right.value, NONE)
    key = infer.unify(left.key, right.key) if variant == "outer" else left.key
    return Keyed(key, Tuple((ours, theirs)))


def check_keys(operator: str, left: Keyed, right: Keyed) -> None:
    """Raises an error for keys that are never equal."""
    if not may_be_equal(left.key, right.key):
        raise PlanError(
            f"{operator}: a key of type {left.key} never equals one of type {right.key}",
            location=caller(),
            advice="give both streams keys of one type",
        )


def check_timed(operator: str, left: Node, right: Node) -> Type:
    """The type of the timestamps of both sides. Raises an error for a side without them."""
    if left.time is None or right.time is None:
        raise PlanError(
            f"{operator} needs elements with timestamps on both sides",
            location=caller(),
            advice="call add_timestamps(lambda element: …) on both streams; aggregates and joins end them",
        )
    check_times(operator, left, right)
    return left.time


def bound(operator: str, name: str, duration: Duration, time: Type) -> int:
    """A bound in the unit of the timestamps; it may be negative."""
    try:
        number = ticks(duration, time)
    except ValueError as error:
        raise PlanError(f"{operator}: {name}: {error}", location=caller()) from None
    if abs(number) >= 2**61:
        raise PlanError(f"{operator}: {name}={duration!r} is beyond the range of timestamps", location=caller())
    return number
