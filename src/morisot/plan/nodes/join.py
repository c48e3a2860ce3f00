"""Elements of two streams that belong together: by key, or by key and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from morisot.plan.late import Late
from morisot.plan.nodes.node import Node

Variant = Literal["inner", "left", "outer"]
Ship = Literal["hash", "broadcast_right"]
Local = Literal["hash", "sort_merge"]


@dataclass(frozen=True, eq=False)
class Join(Node):
    """Each element of `left` with each of `right` that has an equal key: (key, (left, right)).

    The order is that of the left elements, of each the order of its right ones; then, in an outer join, the right
    ones that found none. `ship` says how elements of a key come together, `local` how they find each other; without
    them Spark decides.
    """

    left: Node
    right: Node
    variant: Variant = "inner"
    ship: Ship | None = None
    local: Local | None = None
    keeps_time: ClassVar[bool] = False
    unbounded_if: ClassVar[str] = "one side is bounded, or `within` says how long to wait"

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        """Elements without a partner are found out when the other side has ended, if it does."""
        match self.left.bounded, self.right.bounded, self.variant:
            case False, False, _:
                return (
                    "each element would have to be kept for a partner that may still come",
                    "give both streams timestamps and say how far apart partners may be: within=…; or bound one",
                )
            case False, True, "outer":
                return (
                    "that a right element found no partner is known when the left stream has ended",
                    "use left_join, or bound the left stream too",
                )
            case True, False, "left" | "outer":
                return (
                    "that a left element found no partner is known when the right stream has ended",
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
    """In the unit of the timestamps, as `upper`."""
    upper: int
    variant: Variant = "inner"
    """Elements of plain streams are not kept without a partner: only keyed streams have other variants."""
    late: Late | None = None
    """Who gets elements below the watermark, as (left, None) or (None, right)."""

    meets: ClassVar[bool] = True

    @property
    def awaits_time(self) -> bool:
        return True
