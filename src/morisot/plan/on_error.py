"""What an operator does with an element on which its function fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from morisot.errors import ElementError


@dataclass(frozen=True)
class Divert:
    """Leave the element out and hand its failure to a function of the user's, in the user's process."""

    handler: Callable[[ElementError], Any]

    def __repr__(self) -> str:
        return getattr(self.handler, "__qualname__", type(self.handler).__name__).rpartition("<locals>.")[2]


OnError = Literal["raise", "skip"] | Divert
"""Stop the job, leave the element out and count it, or divert its failure."""
