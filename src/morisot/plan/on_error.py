"""The treatment of elements on which an operator's function fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from morisot.errors import ElementError


@dataclass(frozen=True)
class Divert:
    """Skips the element, and passes its failure to a user's function in the driver."""

    handler: Callable[[ElementError], Any]

    def __repr__(self) -> str:
        return getattr(self.handler, "__qualname__", type(self.handler).__name__).rpartition("<locals>.")[2]


OnError = Literal["raise", "skip"] | Divert
"""Stops the job, skips and counts the element, or diverts its failure to a function."""
