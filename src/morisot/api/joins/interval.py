"""The nodes of joins that limit the time distance of partners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.api.base import StreamBase, late_handler
from morisot.api.companions import companion
from morisot.api.joins.checks import LATE_PAIR, bound, check_keys, check_timed, joined_type
from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.plan.nodes.join import IntervalJoin, Variant
from morisot.plan.nodes.node import Node
from morisot.types.element import Keyed, Tuple, arguments, with_value
from morisot.types.moments import Duration


def join_within(
    sides: tuple[Node, Node],
    operator: str,
    variant: Variant,
    within: Duration,
    late: Callable[..., Any] | None,
) -> Node:
    left, right = sides
    assert isinstance(left.type, Keyed)
    assert isinstance(right.type, Keyed)
    time = check_timed(f"{operator} with within=", left, right)
    distance = bound(operator, "within", within, time)
    if distance < 0:
        raise PlanError(
            f"{operator}: the time distance of partners cannot be {within!r}",
            location=caller(),
            advice="give the largest time distance of partners; use interval_join(…) for one that must be "
            "before or after the other",
        )
    check_keys(operator, left.type, right.type)
    type_ = joined_type(left.type, right.type, variant)
    handler = late_handler(late, operator, LATE_PAIR, keyed=True)
    return IntervalJoin(
        left, right, distance, distance, variant, handler, type=type_, location=caller(), operator=operator
    )


def interval_join(
    stream: StreamBase[Any], other: Any, lower: Duration, upper: Duration, late: Callable[..., Any] | None
) -> Node:
    left, right = stream._node, companion(stream, other, "interval_join")
    time = check_timed("interval_join", left, right)
    before, after = (bound("interval_join", *each, time) for each in (("lower", lower), ("upper", upper)))
    if before + after < 0:
        raise PlanError(
            f"interval_join: an interval that ends before it begins is empty (lower={lower!r}, upper={upper!r})",
            location=caller(),
            advice="a right element must be between t - lower and t + upper: lower + upper must not be negative",
        )
    ours, theirs = left.type, right.type
    if isinstance(ours, Keyed) and isinstance(theirs, Keyed):
        check_keys("interval_join", ours, theirs)
    pair = Tuple((arguments(ours)[-1], arguments(theirs)[-1]))
    handler = late_handler(late, "interval_join", LATE_PAIR, keyed=left.keyed)
    return IntervalJoin(left, right, before, after, late=handler, type=with_value(ours, pair), location=caller())
