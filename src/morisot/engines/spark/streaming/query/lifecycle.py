"""The states of a part of a job, and the one query that it runs: no part of Spark is known here.

    Created -> Starting -> Running -> Stopped
                             |  ^
                             v  |
                          Restarting

A stop may be requested in every state. From then on no query starts, and the part goes to Stopped from the state that
it is in. A query that starts at the same moment is the lifecycle's as soon as it runs, so whoever ends the part finds
and stops it.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class PartState(enum.Enum):
    """Where a part is between its construction and its end."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPED = "stopped"


class Stoppable(Protocol):
    """What is asked of a query."""

    @property
    def is_active(self) -> bool: ...

    def stop(self) -> None:
        """End it, and wait for that; nothing happens if it has ended."""
        ...


Q = TypeVar("Q", bound=Stoppable)


class Lifecycle(Generic[Q]):
    """The state of a part. One lock guards it, which is never held while a query starts or stops."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = PartState.CREATED
        self._query: Q | None = None
        self._stop_requested = False
        self._stopped = threading.Event()

    @property
    def state(self) -> PartState:
        return self._state

    @property
    def query(self) -> Q | None:
        """The query that was started last."""
        return self._query

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    @property
    def is_running(self) -> bool:
        """Whether there is a query to watch."""
        with self._lock:
            return self._state is PartState.RUNNING and not self._stop_requested

    def begin(self) -> bool:
        """Created -> Starting; whether that is wanted."""
        return self._move(PartState.CREATED, PartState.STARTING)

    def restart(self) -> bool:
        """Running -> Restarting; whether that is wanted. The query that failed is replaced by the next one."""
        return self._move(PartState.RUNNING, PartState.RESTARTING)

    def _move(self, before: PartState, after: PartState) -> bool:
        with self._lock:
            if self._stop_requested:
                return False
            assert self._state is before, f"{self._state} -> {after}"
            self._state = after
            return True

    def run(self, begin: Callable[[], Q]) -> bool:
        """Starting or Restarting -> Running, with the query that `begin` starts; whether it is to run on.

        Nothing is started once a stop was requested. An earlier query that still runs, because something else than the
        query failed, is stopped before: two would write to one checkpoint.
        """
        earlier = self._query
        if earlier is not None and earlier.is_active:
            earlier.stop()
        if self._stop_requested:
            return False
        query = begin()
        with self._lock:
            self._query, self._state = query, PartState.RUNNING
            return not self._stop_requested

    def request_stop(self) -> None:
        """Start no query any more; a part that was never started has stopped with that."""
        with self._lock:
            self._stop_requested = True
            if self._state is PartState.CREATED:
                self._become_stopped()

    def stop_query(self) -> None:
        """Stop the query that was started last, if it runs."""
        query = self._query
        if query is not None:
            query.stop()

    def finish(self) -> None:
        """Any state -> Stopped: everything has ended."""
        with self._lock:
            self._become_stopped()

    def _become_stopped(self) -> None:
        self._state = PartState.STOPPED
        self._stopped.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for Stopped, at most `timeout` seconds; whether it came."""
        return self._stopped.wait(timeout)
