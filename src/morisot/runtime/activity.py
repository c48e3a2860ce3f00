"""What the jobs of this process have done, and whether input waits: a supervisor judges by it whether they stall.

Jobs count here whether or not there is a supervisor. A count is one addition.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol


class WaitsForWork(Protocol):
    """A part of a job that knows whether its input waits."""

    def has_backlog(self) -> bool: ...


@dataclass(frozen=True)
class EngineState:
    """The answer of an engine that runs in a process of its own."""

    pid: int | None
    """The process of the engine, if it is on this machine."""
    work: int
    """A number that changes while tasks make progress."""
    busy: bool
    """Whether a job is active."""


def ignore(_: str, __: object) -> None:
    """The listener of a process without a supervisor."""


@dataclass
class Activity:
    """The activity of this process."""

    progress: int = 0
    """Finished micro-batches, rounds and calls of sinks."""
    saved: int = 0
    """Completed snapshots."""
    snapshot: str | None = None
    """The last snapshot: completed, or resumed from."""
    engine: Callable[[], EngineState | None] | None = None
    """Asks the engine for its state. It may block."""
    listener: Callable[[str, object], None] = ignore
    """Called with each event."""
    _working: int = 0
    """Jobs and micro-batches that run in this process."""
    _parts: weakref.WeakSet[WaitsForWork] = field(default_factory=weakref.WeakSet)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_progress(self) -> None:
        """A micro-batch, a round or a call of a sink has ended."""
        with self._lock:
            self.progress += 1
            first = self.progress == 1
        if first:
            self.listener("result", time.monotonic())

    def note_snapshot(self, name: str) -> None:
        """A snapshot is complete."""
        with self._lock:
            self.saved += 1
            self.snapshot = name
        self.listener("saved", name)

    def note_resume(self, name: str | None) -> None:
        """A job has resumed from a snapshot; None: it has started from scratch."""
        self.listener("resumed", name)

    def note_directory(self, path: str) -> None:
        """A context saves snapshots in a directory."""
        self.listener("snapshots", path)

    def add(self, part: WaitsForWork) -> None:
        """Registers a running part of a job."""
        self._parts.add(part)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Input waits during a block, which runs a job or a micro-batch."""
        with self._lock:
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1

    def has_backlog(self) -> bool:
        """Whether a job or micro-batch runs, or a part of a job has input that it has not read."""
        if self._working:
            return True
        for part in list(self._parts):
            with contextlib.suppress(Exception):  # it ends at this moment
                if part.has_backlog():
                    return True
        return False


ACTIVITY = Activity()
