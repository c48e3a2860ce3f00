"""Handles of deferred sinks, which a job fills and the user reads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from morisot.api.checks.public import public
from morisot.errors import MorisotError

R = TypeVar("R")
T = TypeVar("T")

_CHECK_SECONDS = 0.1


class NotRunYet(MorisotError):  # noqa: N818 - the name describes a state
    """The result was read before its job has run."""


class ChannelClosed(MorisotError):  # noqa: N818 - the name describes a state
    """The job has ended, and all its elements were read."""


@public("fill")
class Output(Generic[R]):
    """The result of a deferred sink."""

    def __init__(self, operator: str) -> None:
        self._operator = operator
        self._result: R | None = None
        self._filled = False

    def fill(self, result: R) -> None:
        self._result = result
        self._filled = True

    def get(self) -> R:
        """The result. It is an error to read it before the job has run."""
        if not self._filled:
            raise NotRunYet(f"{self._operator} has no result yet: run it with ctx.execute()")
        return self._result  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<{self._operator}: {self._result!r}>" if self._filled else f"<{self._operator}: not run yet>"


@public("ask_for_failure", "close", "lift_limit", "put_all")
class Channel(Generic[T]):
    """A queue of elements from a running job to the user's program.

    The job waits when `capacity` elements are unread, so that a slow reader does not exhaust memory.
    """

    def __init__(self, capacity: int) -> None:
        self._queue: queue.Queue[T] = queue.Queue(capacity)
        self._closed = threading.Event()
        self._failure: Callable[[], MorisotError | None] = lambda: None

    def ask_for_failure(self, failure: Callable[[], MorisotError | None]) -> None:
        """Sets the job that fills the channel. A reader of the whole channel gets the failure of the job."""
        self._failure = failure

    def put_all(self, elements: list[Any]) -> None:
        """Called by the job. Returns when the channel is closed, so that a stopped job does not hang."""
        for element in elements:
            while not self._closed.is_set():
                try:
                    self._queue.put(element, timeout=_CHECK_SECONDS)
                    break
                except queue.Full:
                    continue

    def close(self) -> None:
        self._closed.set()

    def lift_limit(self) -> None:
        """Removes the limit: while `ctx.execute()` runs, the program cannot read."""
        self._queue.maxsize = 0

    def get(self, timeout: float | None = None) -> T:
        """The next element. Waits up to `timeout` seconds, then raises TimeoutError.

        After the last element it raises ChannelClosed, or the failure of the job.
        """
        waited = 0.0
        while True:
            try:
                return self._queue.get(timeout=_CHECK_SECONDS)
            except queue.Empty:
                waited += _CHECK_SECONDS
                if self._closed.is_set() and self._queue.empty():
                    failure = self._failure()
                    if failure is not None:
                        raise failure from failure.__cause__
                    raise ChannelClosed("the job has ended, and all its elements were read") from None
                if timeout is not None and waited >= timeout:
                    raise TimeoutError(f"no element arrived within {timeout} s") from None

    def __iter__(self) -> Iterator[T]:
        """The elements until the job ends; then its failure is raised, if it failed."""
        while True:
            try:
                yield self.get()
            except ChannelClosed:
                return
