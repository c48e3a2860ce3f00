"""Timestamps: giving them to elements, taking them away, and the order they make."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import ClassVar

from morisot.plan.closure import Closure
from morisot.plan.node import Node
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class AddTimestamps(Node):
    """Give each element the timestamp `timestamp(element)`.

    On unbounded input an element may come up to `delay` (in the timestamps' unit) after a later one, or `watermark`
    tells for each element up to which timestamp all have come. Bounded input needs neither: it is all there.
    """

    input: Node
    timestamp: Closure
    watermark: Closure | None = None
    delay: int | None = None
    kind: Type | None = field(default=None, repr=False)
    """What the function gives: int or datetime."""

    @functools.cached_property
    def time(self) -> Type | None:
        return self.kind

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)


@dataclass(frozen=True, eq=False)
class DropTimestamps(Node):
    """The elements without their timestamps."""

    input: Node
    keeps_time: ClassVar[bool] = False


@dataclass(frozen=True, eq=False)
class Reorder(Node):
    """The elements in the order of their timestamps; those with the same one in the order they came."""

    input: Node
    observes_order: ClassVar[bool] = True
    keeps_order: ClassVar[bool] = False
