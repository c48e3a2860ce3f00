"""Operators that add and remove keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from morisot.plan.nodes.closure import Closure
from morisot.plan.nodes.rowwise import Rowwise
from morisot.types.element import Type, arguments


@dataclass(frozen=True, eq=False)
class KeyBy(Rowwise):
    """Pairs each element with its key. Elements are shuffled only where an operator needs it, also after group_by."""

    key: Closure

    def signature(self, closure: str) -> tuple[Type, ...]:
        return arguments(self.input.type)[-1:]


@dataclass(frozen=True, eq=False)
class Unkey(Rowwise):
    """Converts a keyed stream to a plain one: the pairs, only the values, or only the keys."""

    keep: Literal["both", "value", "key"] = field(repr=False)
    """Not shown as a parameter, because the operator's name says it."""
