"""Calls user-defined sinks in the order of the protocol, with errors that name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morisot.errors import SinkError
from morisot.plan.nodes.sink import WriteTo


class HandOver:
    """One run of a user-defined sink."""

    def __init__(self, node: WriteTo) -> None:
        self._node = node
        self._last: int | None = None
        self._open = False

    def open(self, *, resumes: bool) -> None:
        """Called before the first batch. A job that resumes skips the batches that the sink has committed already."""
        self._call("open")
        self._open = True
        self._last = self._call("last_committed") if resumes else None

    def __call__(self, batch: int, elements: list[Any]) -> None:
        """Prepares and commits a batch, unless the sink has committed it already."""
        if self._last is None or batch > self._last:
            self._call("prepare", batch, elements)
            self._call("commit", batch)

    def close(self) -> None:
        """Called once, after the last batch."""
        if self._open:
            self._open = False
            self._call("close")

    def _call(self, method: str, *arguments: Any) -> Any:
        sink = self._node.sink
        try:
            return getattr(sink, method)(*arguments)
        except Exception as error:
            batch = f" of batch {arguments[0]}" if arguments else ""
            raise SinkError(
                f"{self._node.operator} ({self._node.location}): {type(sink).__name__}.{method}{batch} failed: "
                f"{type(error).__name__}: {error}"
            ) from error


def handing_over(node: WriteTo, *, resumes: bool = False) -> Callable[[list[Any]], None]:
    """The receiver of write_to for bounded input, which is one batch. An unbounded job numbers its micro-batches."""

    def receive(elements: list[Any]) -> None:
        hand_over = HandOver(node)
        try:
            hand_over.open(resumes=resumes)
            hand_over(0, elements)
        finally:
            hand_over.close()

    return receive
