"""How often a job is saved, and where it starts again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from morisot.errors import ConfigError
from morisot.types.moments import Duration, microseconds

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Snapshots:
    """Where and how often a job is saved.

    A bounded job is cut into pieces of at most so many `items`, or into such as take about `every` so much time, and
    saved with each. A loop is saved after `every` so much time, after so many `items`, or after so many `rounds`,
    whichever comes first; without any of the three, after every round. An unbounded job is saved with every
    micro-batch: `every` is the time from one to the next, `items` the most elements of one. The last `keep` snapshots
    of each loop and sink stay. A program that runs again goes on from the `restart` snapshot: the "latest", the one
    with a number, or None for a fresh start.

    >>> Snapshots("/tmp/saves", every="30s").seconds
    30.0
    >>> Snapshots("/tmp/saves", rounds=0)
    Traceback (most recent call last):
    morisot.errors.ConfigError: rounds is 0: give a whole number of 1 or more.
    """

    path: str | Path
    every: Duration | None = None
    items: int | None = field(default=None, kw_only=True)
    rounds: int | None = field(default=None, kw_only=True)
    keep: int = field(default=10, kw_only=True)
    restart: Literal["latest"] | int | None = field(default="latest", kw_only=True)
    clean_on_exit: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if "://" in str(self.path):
            raise ConfigError(f"path is {str(self.path)!r}: give a directory that this machine and the workers share.")
        for name in ("items", "rounds", "keep"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigError(f"{name} is {value!r}: give a whole number of 1 or more.")
        is_number = type(self.restart) is int and self.restart >= 0
        if not (self.restart in ("latest", None) or is_number):
            raise ConfigError(f"restart is {self.restart!r}: give 'latest', the number of a snapshot, or None.")
        try:
            positive = self.seconds is None or self.seconds > 0
        except ValueError as error:
            raise ConfigError(f"every is {self.every!r}: {error}.") from None
        if not positive:
            raise ConfigError(f"every is {self.every!r}: give a duration longer than nothing.")

    @property
    def seconds(self) -> float | None:
        """`every` in seconds."""
        return None if self.every is None else microseconds(self.every) / _MICROSECONDS

    @property
    def piece_seconds(self) -> float | None:
        """How long a piece of a bounded job is to take; None where its elements are counted, or nothing is said."""
        return self.seconds if self.items is None else None


@dataclass(frozen=True)
class Snapshot:
    """A state of a job from which it can go on."""

    id: int
    """Its number: of a sink of an unbounded job, that of the micro-batch."""
    of: str
    """The loop or sink."""
    time: datetime.datetime
    """When it was made, in UTC."""
    offsets: tuple[Any, ...] = ()
    """How far each source was read."""
    state: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How large the state of each operator was: entries, and bytes of memory."""
