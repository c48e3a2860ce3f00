"""The settings of snapshots: where and how often they are taken, and from which one a job resumes."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from morisot.errors import ConfigError
from morisot.types.moments import Duration, microseconds
from morisot.types.public import public

_MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Snapshots:
    """Where and how often a job is saved.

    A bounded job reads its source in splits of at most `items` elements, or of about `every` duration, and is saved
    after each. A loop is saved after the duration `every`, after `items` elements, or after `rounds` rounds, whichever
    comes first; without any of the three, after every round. An unbounded job is saved with every micro-batch: `every`
    is the interval between micro-batches, `items` the most elements of one. The last `keep` snapshots of each loop and
    sink are retained. A program that runs again resumes from the `restart` snapshot: the "latest", the one with a
    number, or None to start from scratch.

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
        path: Any = self.path
        if not isinstance(path, str | Path) or not str(path):
            raise ConfigError(f"path is {path!r}: give the path of a directory.")
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
    def split_seconds(self) -> float | None:
        """The target duration of a source split; None if its elements are counted, or `every` is not set."""
        return self.seconds if self.items is None else None


@public
class StateRow(NamedTuple):
    """An entry of an operator's state, as `job.state(…)` returns it."""

    key: Any
    value: Any


@dataclass(frozen=True)
class Snapshot:
    """A point from which a job can resume."""

    id: int
    """Its number. For a sink of an unbounded job it is that of the micro-batch."""
    of: str
    """The loop or sink."""
    time: datetime.datetime
    """When it was taken, in UTC."""
    offsets: tuple[Any, ...] = ()
    """The offset of each source."""
    state: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The size of the state of each operator: entries, and bytes of memory."""
