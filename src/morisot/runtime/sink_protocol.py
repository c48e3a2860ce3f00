"""Calls user-defined sinks in the order of the protocol, with errors that name them."""

from __future__ import annotations

import contextlib
import pickle
import socket
import threading
from collections.abc import Callable
from typing import Any

from morisot.errors import MorisotError, SinkError
from morisot.plan.endpoints import SinkPart, is_two_phase, overrides
from morisot.plan.life_cycle import uses_store
from morisot.plan.nodes.sink import WriteTo
from morisot.runtime import faults
from morisot.types.replicas import Replica, having_store


class SinkCalls:
    """Calls the methods of one sink, never two at once. Its exceptions become a `SinkError` with method and batch."""

    def __init__(self, node: WriteTo) -> None:
        self.node = node
        self._open = False
        self._calls = threading.RLock()
        self._store: dict[Any, Any] | None = {} if uses_store(node.sink) else None

    @property
    def store(self) -> bytes | None:
        """The pickled key store of the sink; None if it has none."""
        with self._calls:
            return None if self._store is None else pickle.dumps(self._store)

    def restore(self, store: bytes | None) -> None:
        """Sets the key store to a saved one; None: to an empty one."""
        if self._store is not None:
            with self._calls:
                self._store = {} if store is None else pickle.loads(store)

    def open(self) -> None:
        """Called before any other method."""
        if overrides(self.node.sink, "open"):
            self("open")
        else:
            self("on_init", Replica(0, 1, socket.gethostname()))
        self._open = True

    def close(self) -> None:
        """Called once, at the end."""
        if self._open:
            self._open = False
            self("close" if overrides(self.node.sink, "close") else "on_exit")

    def __call__(self, method: str, *arguments: Any) -> Any:
        sink = self.node.sink
        try:
            with self._calls, having_store(sink, self._store):
                return getattr(sink, method)(*arguments)
        except Exception as error:
            batch = f" of batch {arguments[0]}" if arguments and isinstance(arguments[0], int) else ""
            raise SinkError(f"{self._title}.{method}{batch} failed: {type(error).__name__}: {error}") from error

    def fail(self, error: BaseException) -> None:
        """Tells the sink that the job has failed."""
        if self._open:
            with contextlib.suppress(SinkError):  # the first error is reported
                self("on_error", error)

    def refused(self, why: str, advice: str) -> SinkError:
        """The error for a state of the sink with which the job cannot run."""
        return SinkError(f"{self._title} {why}\n  What to do: {advice}")

    @property
    def _title(self) -> str:
        return f"{self.node.operator} ({self.node.location}): {type(self.node.sink).__name__}"


class HandOver:
    """One run of a user-defined sink that commits at once."""

    def __init__(self, node: WriteTo) -> None:
        self.calls = SinkCalls(node)
        self._last: int | None = None

    def open(self, *, resumes: bool) -> None:
        """Called before the first batch. A job that resumes skips the batches that the sink has committed already."""
        self.calls.open()
        self._last = self.calls("last_committed") if resumes else None

    def __call__(self, batch: int, elements: list[Any]) -> None:
        """Prepares and commits a batch, unless the sink has committed it already."""
        if self._last is None or batch > self._last:
            self.calls("prepare", batch, elements)
            self.calls("commit", batch)

    def close(self) -> None:
        """Called once, after the last batch."""
        self.calls.close()


def handing_over(node: WriteTo, *, resumes: bool = False) -> Callable[[list[Any]], None]:
    """The receiver of write_to for bounded input, which is one batch. An unbounded job numbers its micro-batches."""

    def receive(elements: list[Any]) -> None:
        hand_over = HandOver(node)
        try:
            hand_over.open(resumes=resumes)
            hand_over(0, elements)
        except MorisotError as error:
            hand_over.calls.fail(error)
            raise
        finally:
            hand_over.close()

    return in_two_phases(node) if is_two_phase(node.sink) else receive


def in_two_phases(node: WriteTo) -> Callable[[list[Any]], None]:
    """The receiver of write_to for one bounded batch without snapshots."""

    def receive(elements: list[Any]) -> None:
        call = SinkCalls(node)
        parallel = node.sink.is_parallel
        try:
            call.open()
            try:
                with faults.around("prepare", 0):
                    receipt = call("prepare", 0, elements, *([SinkPart(0, 0)] if parallel else []))
            except MorisotError:
                with faults.around("abort", 0):
                    call("abort", 0, *([[]] if parallel else []))
                raise
            with faults.around("commit", 0):
                call("commit", 0, *([[receipt]] if parallel else []))
        except MorisotError as error:
            call.fail(error)
            raise
        finally:
            call.close()

    return receive
