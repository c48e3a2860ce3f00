"""Operators that add and remove timestamps, and order elements by them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from morisot.plan.analysis.graph import walk
from morisot.plan.late import Late
from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.node import Node, with_durations
from morisot.types.element import INT, Type, arguments


@dataclass(frozen=True, eq=False)
class AddTimestamps(Node):
    """Gives each element the timestamp `timestamp(element)`.

    On unbounded input an element may arrive up to `delay` (in the timestamps' unit) after a later one, or `watermark`
    returns for each element the timestamp up to which all have arrived, or None. Bounded input needs neither. An input
    without new elements for `idle` milliseconds is idle, and does not delay the watermark of others.
    """

    input: Node
    timestamp: Closure
    watermark: Closure | None = None
    delay: int | None = None
    kind: Type | None = field(default=None, repr=False)
    """The type of timestamps: int or datetime."""
    idle: int | None = None

    @functools.cached_property
    def time(self) -> Type | None:
        return self.kind

    @property
    def unbounded_problem(self) -> tuple[str, str] | None:
        if any(isinstance(each, AddTimestamps) and not each.bounded for each in walk(*self.inputs)):
            return (
                "the stream has timestamps already, and it has one watermark",
                "call add_timestamps once, with the timestamps that windows and joins need",
            )
        if self.delay is None and self.watermark is None:
            return (
                "it needs to know how long to wait for elements that arrive late",
                'pass delay="10s" or watermark=lambda element: …; delay=0 if elements arrive in the order of time',
            )
        return None

    @property
    def shown_parameters(self) -> dict[str, str]:
        assert self.kind is not None
        return with_durations(super().shown_parameters, self, delay=self.kind, idle=INT)

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class DropTimestamps(Node):
    """The elements without their timestamps."""

    input: Node
    keeps_time: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class Reorder(Node):
    """The elements in the order of their timestamps. Elements with equal timestamps stay in stream order."""

    input: Node
    late: Late | None = None
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False

    @property
    def has_timers(self) -> bool:
        return True


def that_may_idle(nodes: Iterable[Node]) -> list[AddTimestamps]:
    """The operators of a plan that set watermarks, if at least one of them has an idle time."""
    tellers = [node for node in nodes if isinstance(node, AddTimestamps) and not node.bounded]
    return tellers if len(tellers) > 1 and any(node.idle is not None for node in tellers) else []


def is_direct(node: Node) -> bool:
    """Whether the elements of an operator's input have source timestamps, and no operator with timers emitted them."""
    stack = list(node.inputs)
    while stack:
        each = stack.pop()
        if each.has_timers:
            return False
        if not isinstance(each, AddTimestamps):
            stack.extend(each.inputs)
    return True
