"""Joins of two streams by key, or by key and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from morisot.plan.late import Late
from morisot.plan.nodes.node import Node, with_durations

Variant = Literal["inner", "left", "outer"]
Ship = Literal["hash", "broadcast_right"]
Local = Literal["hash", "sort_merge"]


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Each element of `left` with each of `right` that has an equal key: (key, (left, right)).

    The order is that of the left elements, and for each of them that of its right ones. In an outer join the right
    elements without a partner follow. `ship` selects how elements are distributed, `local` the local algorithm;
    without them Spark chooses.
    """

    left: Node
    right: Node
    variant: Variant = "inner"
    ship: Ship | None = None
    local: Local | None = None
    keeps_time: ClassVar[bool] = False
    unbounded_if: ClassVar[str] = "one side is bounded, or `within` limits the time distance"

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        """Elements without a partner are known only when the other side has ended."""
        match self.left.bounded, self.right.bounded, self.variant:
            case False, False, _:
                return (
                    "each element would have to be stored for a partner that may arrive later",
                    "give both streams timestamps and limit the time distance of partners with within=…; or bound one",
                )
            case False, True, "outer":
                return (
                    "whether a right element has a partner is known only when the left stream has ended",
                    "use left_join, or bound the left stream too",
                )
            case True, False, "left" | "outer":
                return (
                    "whether a left element has a partner is known only when the right stream has ended",
                    "make the unbounded stream the left one, or use join",
                )
        return None


@dataclass(frozen=True, eq=False)
class IntervalJoin(Node):
    """Each element of `left`, at t, with those of `right` whose time is from t - lower to t + upper, both included.

    Keyed streams join within a key. A pair has the later of the two timestamps, an element without a partner its own;
    the order is that of a join.
    """

    left: Node
    right: Node
    lower: int
    """In the unit of the timestamps, like `upper`."""
    upper: int
    variant: Variant = "inner"
    """Plain streams have the inner variant only; keyed streams also have outer ones."""
    late: Late | None = None
    """The function that gets late elements, as (left, None) or (None, right)."""

    meets: ClassVar[bool] = True

    @property
    def shown_parameters(self) -> dict[str, str]:
        assert self.left.time is not None
        return with_durations(super().shown_parameters, self, lower=self.left.time, upper=self.left.time)

    @property
    def has_timers(self) -> bool:
        return True
