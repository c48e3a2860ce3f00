"""Settings that a command line gives to a program: they win over those in its code, for this run only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Overrides:
    """The settings of a supervisor for the program that it runs."""

    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of `Config`."""
    snapshots: dict[str, Any] = field(default_factory=dict)
    """Settings of `Snapshots`."""
    poison: str | None = None
    """A file of elements that are skipped."""
    supervised: bool = False


OVERRIDES = Overrides()
"""Those of this process."""
