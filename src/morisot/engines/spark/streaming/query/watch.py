"""The thread that leads a part through its lifecycle: no part of Spark is known here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from morisot.engines.spark.session.ending import Worker
from morisot.engines.spark.streaming.query.lifecycle import Lifecycle, Stoppable

Q = TypeVar("Q", bound=Stoppable)
Q_contra = TypeVar("Q_contra", bound=Stoppable, contravariant=True)


class Steps(Protocol[Q_contra]):
    """What is done with the query of a part, step by step."""

    @property
    def restartable(self) -> tuple[type[BaseException], ...]:
        """The errors after which `recover` is asked."""
        ...

    def open(self) -> None:
        """Make ready for the first query."""
        ...

    def start(self) -> None:
        """Start a query by `Lifecycle.run`."""
        ...

    def poll(self, query: Q_contra) -> bool:
        """Wait for a moment, and count; whether the query has ended."""
        ...

    def recover(self, query: Q_contra, error: BaseException) -> None:
        """Make ready for another query after one that failed, or raise what the user should read."""
        ...

    def unblock(self) -> None:
        """Let a micro-batch end that waits for the reader of a channel."""
        ...

    def stop_query(self) -> None:
        """Stop the query that runs."""
        ...

    def closing(self, *, query_ended: bool) -> Iterable[Callable[[], None]]:
        """What is left to do at the end, whatever of it fails; a query that did not end needs its checkpoint."""
        ...

    def abandon(self, *, query_ended: bool) -> None:
        """Close what was opened for a first query that did not start, or cannot be watched."""
        ...

    def told(self, error: BaseException) -> BaseException:
        """What the user is told of an error."""
        ...


class Watch(Generic[Q]):
    """Starts the query of a part, restarts it where that helps, and ends the part."""

    def __init__(self, name: str, lifecycle: Lifecycle[Q], steps: Steps[Q]) -> None:
        self._name = name
        self._lifecycle = lifecycle
        self._steps = steps
        self.error: BaseException | None = None
        """Why the part failed: the first error counts."""

    def start(self) -> None:
        """Start the query, and the thread that watches it; if that fails, nothing runs afterwards."""
        if not self._lifecycle.begin():
            return
        try:
            self._steps.open()
            self._steps.start()
            Worker(self._name, self._run)
        except BaseException:
            self._abandon()
            raise

    def ask_to_stop(self) -> None:
        """Let the thread end the query; no other one starts."""
        self._lifecycle.request_stop()
        self._steps.unblock()

    def stop(self) -> None:
        """End the query and wait for that."""
        self.ask_to_stop()
        with contextlib.suppress(Exception):  # the thread has the same error, and keeps it
            self._lifecycle.stop_query()
        self._lifecycle.join()

    def _abandon(self) -> None:
        self._lifecycle.request_stop()
        query_ended = self._done(self._steps.stop_query)
        try:
            self._steps.abandon(query_ended=query_ended)
        finally:
            self._lifecycle.finish()

    def _run(self) -> None:
        try:
            self._watch()
        except BaseException as error:
            self._fail(error)
        finally:
            self._end()

    def _watch(self) -> None:
        """Return when the query has ended or a stop was requested; raise if it failed for good."""
        while self._lifecycle.is_running:
            query = self._lifecycle.query
            assert query is not None, "a part that runs has a query"
            try:
                if self._steps.poll(query):
                    return
            except self._steps.restartable as error:
                if not self._lifecycle.restart():
                    return
                self._steps.recover(query, error)
                self._steps.start()

    def _end(self) -> None:
        stopping = self.error is not None or self._lifecycle.stop_requested
        query_ended = not stopping or self._done(self._steps.stop_query)
        for step in self._steps.closing(query_ended=query_ended):
            self._done(step)
        self._lifecycle.finish()

    def _done(self, step: Callable[[], None]) -> bool:
        try:
            step()
        except BaseException as error:
            self._fail(error)
            return False
        return True

    def _fail(self, error: BaseException) -> None:
        self.error = self.error or self._steps.told(error)
