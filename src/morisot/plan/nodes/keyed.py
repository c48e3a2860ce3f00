"""Giving elements a key, and taking it away again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.rowwise import Rowwise
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class KeyBy(Rowwise):
    """Pair each element with its key; elements of a key meet only where an operator needs it, after group_by too."""

    key: Closure

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)[-1:]


@dataclass(frozen=True, eq=False)
class Unkey(Rowwise):
    """Make a plain stream of a keyed one: the pairs, only the values, or only the keys."""

    keep: Literal["both", "value", "key"] = field(repr=False)
    """Which the operator's name says already."""
