"""The thread that runs a part through its lifecycle. It is independent of Spark."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from morisot.engines.spark.session.ending import Worker
from morisot.engines.spark.streaming.query.lifecycle import Lifecycle, Stoppable

Q = TypeVar("Q", bound=Stoppable)
Q_contra = TypeVar("Q_contra", bound=Stoppable, contravariant=True)


class Steps(Protocol[Q_contra]):
    """The interface of the steps of a part."""

    @property
    def restartable(self) -> tuple[type[BaseException], ...]:
        """The errors after which `recover` is called."""
        ...

    def open(self) -> None:
        """Prepares the first query."""
        ...

    def start(self) -> None:
        """Starts a query with `Lifecycle.run`."""
        ...

    def poll(self, query: Q_contra) -> bool:
        """Waits briefly, and counts micro-batches. Returns whether the query has ended."""
        ...

    def recover(self, query: Q_contra, error: BaseException) -> None:
        """Prepares another query after one that failed, or raises the error for the user."""
        ...

    def unblock(self) -> None:
        """Unblocks a micro-batch that waits for the reader of a channel."""
        ...

    def stop_query(self) -> None:
        """Stops the running query."""
        ...

    def closing(self, *, query_ended: bool) -> Iterable[Callable[[], None]]:
        """The steps at the end, which all run even if one fails. A query that did not end needs its checkpoint."""
        ...

    def abandon(self, *, query_ended: bool) -> None:
        """Releases the resources of a first query that did not start, or cannot be watched."""
        ...

    def user_error(self, error: BaseException) -> BaseException:
        """The error for the user."""
        ...


class Watch(Generic[Q]):
    """Starts the query of a part, restarts it after recoverable failures, and ends the part."""

    def __init__(self, name: str, lifecycle: Lifecycle[Q], steps: Steps[Q]) -> None:
        self._name = name
        self._lifecycle = lifecycle
        self._steps = steps
        self.error: BaseException | None = None
        """The first error of the part."""

    def start(self) -> None:
        """Starts the query, and the thread that watches it. If that fails, neither runs."""
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
        """Requests that the thread ends the query. No other query starts."""
        self._lifecycle.request_stop()
        self._steps.unblock()

    def stop(self) -> None:
        """Ends the query, and waits for its end."""
        self.ask_to_stop()
        with contextlib.suppress(Exception):  # the thread stores the same error
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
        """Returns when the query has ended or a stop was requested. Raises an error if it cannot be restarted."""
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
        self.error = self.error or self._steps.user_error(error)
