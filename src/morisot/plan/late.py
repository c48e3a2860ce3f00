"""Late elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Late:
    """Passes late elements to a user's function in the driver."""

    handler: Callable[..., Any]
    keyed: bool
    """Whether it takes (key, value)."""

    def __repr__(self) -> str:
        return getattr(self.handler, "__qualname__", type(self.handler).__name__).rpartition("<locals>.")[2]

    def __call__(self, element: Any) -> None:
        if self.keyed:
            self.handler(*element)
        else:
            self.handler(element)
