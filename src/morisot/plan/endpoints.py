"""Base classes of user-defined sources and sinks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Source(Generic[T_co]):
    """A user-defined bounded source: the elements that `read()` returns.

    It is read in a worker, so it must be possible to pickle it. Every run reads it from the start.
    """

    def read(self) -> Iterable[T_co]:
        """The elements, in their order."""
        raise NotImplementedError(f"{type(self).__name__} has no read()")


class OffsetSource(Generic[T_co]):
    """A user-defined unbounded source that can be replayed from any offset.

    An offset is a dict of plain values, which only the source interprets. A job that resumes from a snapshot reads the
    elements between two offsets again, and must get the same ones.
    """

    def initial_offset(self) -> dict[str, Any]:
        """The offset at which a new job starts."""
        raise NotImplementedError(f"{type(self).__name__} has no initial_offset()")

    def read(self, start: dict[str, Any]) -> tuple[Iterable[T_co], dict[str, Any]]:
        """The elements after an offset, and the offset after them; none and the same offset if there is nothing new."""
        raise NotImplementedError(f"{type(self).__name__} has no read(start)")

    def read_again(self, start: dict[str, Any], end: dict[str, Any]) -> Iterable[T_co]:
        """The elements between two offsets that were returned before, by calling `read` from one to the next."""
        elements: list[T_co] = []
        while start != end:
            found, following = self.read(start)
            if following == start:
                raise ValueError(f"{type(self).__name__}: read(start) does not lead from the offset {start} to {end}")
            elements.extend(found)
            start = following
        return elements

    def commit(self, end: dict[str, Any]) -> None:
        """Called when elements before this offset will not be read any more."""


class Sink(Generic[T]):
    """A user-defined sink, which is called in the driver with the elements of each micro-batch.

    `prepare` stores them invisibly, `commit` makes them visible. A micro-batch may be replayed after a failure, with
    the same number and the same elements. A sink that stores the number together with the committed elements, and
    returns it in `last_committed`, has every element exactly once.
    """

    def open(self) -> None:
        """Called first."""

    def last_committed(self) -> int | None:
        """The number of the last committed micro-batch. Called when a job resumes from a snapshot."""
        return None

    def prepare(self, batch: int, elements: Sequence[T]) -> None:
        """Prepares the elements of a micro-batch. They replace those of an earlier attempt with this number."""
        raise NotImplementedError(f"{type(self).__name__} has no prepare(batch, elements)")

    def commit(self, batch: int) -> None:
        """Makes the prepared elements visible."""

    def close(self) -> None:
        """Called at the end, also after a failure."""
