"""Handles of deferred sinks: what a job fills and the user reads."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from morisot.errors import MorisotError

R = TypeVar("R")
T = TypeVar("T")

_CHECK_SECONDS = 0.1


class NotRunYet(MorisotError):  # noqa: N818 - it names a state
    """The result is asked for before the job that makes it has run."""


class ChannelClosed(MorisotError):  # noqa: N818 - it names a state
    """The job has ended and everything it sent was read."""


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
        """The result; before the job ran it is an error, not an empty list."""
        if not self._filled:
            raise NotRunYet(f"{self._operator} has no result yet: run it with ctx.execute()")
        return self._result  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"<{self._operator}: {self._result!r}>" if self._filled else f"<{self._operator}: not run yet>"


class Channel(Generic[T]):
    """Elements on their way from a running job to the user's program.

    The job waits when `capacity` elements lie unread, so a slow reader never fills the memory.
    """

    def __init__(self, capacity: int) -> None:
        self._queue: queue.Queue[T] = queue.Queue(capacity)
        self._closed = threading.Event()
        self._failure: Callable[[], MorisotError | None] = lambda: None

    def ask_for_failure(self, failure: Callable[[], MorisotError | None]) -> None:
        """A job fills the channel: whoever reads it to the end is told what made the job fail."""
        self._failure = failure

    def put_all(self, elements: list[Any]) -> None:
        """Called by the job; gives up when the channel is closed, so that a stopped job never hangs."""
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
        """Take everything: while `ctx.execute()` runs, nobody can read."""
        self._queue.maxsize = 0

    def get(self, timeout: float | None = None) -> T:
        """The next element; waits for it up to `timeout` seconds, then raises TimeoutError.

        After the last element it raises ChannelClosed, or what made the job fail.
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
                    raise ChannelClosed("the job has ended and all it sent was read") from None
                if timeout is not None and waited >= timeout:
                    raise TimeoutError(f"no element came within {timeout} s") from None

    def __iter__(self) -> Iterator[T]:
        """Elements as they come, until the job ends; then what made it fail, if it did."""
        while True:
            try:
                yield self.get()
            except ChannelClosed:
                return
