"""The states of a part of a job, and the query that it runs. It is independent of Spark.

    Created -> Starting -> Running -> Stopped
                             |  ^
                             v  |
                          Restarting

A stop may be requested in every state. From then on no query starts, and the part goes to Stopped from its current
state. A query that starts at the same time is registered as soon as it runs, so the end of the part stops it.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class PartState(enum.Enum):
    """The states of a part."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    RESTARTING = "restarting"
    STOPPED = "stopped"


class Stoppable(Protocol):
    """The interface of a query."""

    @property
    def is_active(self) -> bool: ...

    def stop(self) -> None:
        """Ends the query, and waits for its end. Does nothing if it has ended."""
        ...


Q = TypeVar("Q", bound=Stoppable)


class Lifecycle(Generic[Q]):
    """The state of a part, guarded by one lock, which is never held while a query starts or stops."""

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
        """Whether there is a running query."""
        with self._lock:
            return self._state is PartState.RUNNING and not self._stop_requested

    def begin(self) -> bool:
        """Created -> Starting. Returns whether no stop was requested."""
        return self._move(PartState.CREATED, PartState.STARTING)

    def restart(self) -> bool:
        """Running -> Restarting. Returns whether no stop was requested. The next query replaces the failed one."""
        return self._move(PartState.RUNNING, PartState.RESTARTING)

    def _move(self, before: PartState, after: PartState) -> bool:
        with self._lock:
            if self._stop_requested:
                return False
            assert self._state is before, f"{self._state} -> {after}"
            self._state = after
            return True

    def run(self, begin: Callable[[], Q]) -> bool:
        """Starting or Restarting -> Running, with the query that `begin` starts. Returns whether it should continue.

        No query is started after a stop was requested. An earlier query that still runs, because something other than
        the query failed, is stopped before: two queries would write to one checkpoint.
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
        """Requests a stop: no query starts any more. A part that was never started is Stopped."""
        with self._lock:
            self._stop_requested = True
            if self._state is PartState.CREATED:
                self._become_stopped()

    def stop_query(self) -> None:
        """Stops the last started query, if it runs."""
        query = self._query
        if query is not None:
            query.stop()

    def finish(self) -> None:
        """Any state -> Stopped, when everything has ended."""
        with self._lock:
            self._become_stopped()

    def _become_stopped(self) -> None:
        self._state = PartState.STOPPED
        self._stopped.set()

    def join(self, timeout: float | None = None) -> bool:
        """Waits for Stopped, at most `timeout` seconds. Returns whether it was reached."""
        return self._stopped.wait(timeout)
