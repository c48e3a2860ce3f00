"""What users derive from for sources and sinks of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Source(Generic[T_co]):
    """A source of the user's: what `read()` gives, and then its end.

    It is read in a worker, so it must be possible to pickle it. Every run reads it anew.
    """

    def read(self) -> Iterable[T_co]:
        """The elements, in their order."""
        raise NotImplementedError(f"{type(self).__name__} has no read()")


class OffsetSource(Generic[T_co]):
    """An unbounded source of the user's that can be replayed from any offset.

    An offset is a dict of plain values; what it means is the source's own business. A job that goes on from a snapshot
    asks for the elements between two offsets again, and must be given the same ones.
    """

    def initial_offset(self) -> dict[str, Any]:
        """Where a new job starts."""
        raise NotImplementedError(f"{type(self).__name__} has no initial_offset()")

    def read(self, start: dict[str, Any]) -> tuple[Iterable[T_co], dict[str, Any]]:
        """What is there after an offset, and the offset behind it; nothing and the same offset if there is nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no read(start)")

    def read_again(self, start: dict[str, Any], end: dict[str, Any]) -> Iterable[T_co]:
        """The elements between two offsets that were given before; as often as needed, `read` from one to the next."""
        elements: list[T_co] = []
        while start != end:
            found, following = self.read(start)
            if following == start:
                raise ValueError(f"{type(self).__name__}: nothing leads from the offset {start} to {end}")
            elements.extend(found)
            start = following
        return elements

    def commit(self, end: dict[str, Any]) -> None:
        """Nobody will ask for anything before this offset any more."""


class Sink(Generic[T]):
    """A sink of the user's, which is called in the user's own process with the elements of a micro-batch at a time.

    `prepare` makes them ready where nobody sees them yet, `commit` makes them visible. A micro-batch may come again
    after a failure, with the same number and the same elements: whoever remembers the number with what it commits, and
    gives it in `last_committed`, has every element exactly once.
    """

    def open(self) -> None:
        """Called before anything else."""

    def last_committed(self) -> int | None:
        """The number of the last micro-batch that was committed, asked when a job goes on from a snapshot."""
        return None

    def prepare(self, batch: int, elements: Sequence[T]) -> None:
        """Take the elements of a micro-batch; what an earlier try prepared under this number is replaced."""
        raise NotImplementedError(f"{type(self).__name__} has no prepare(batch, elements)")

    def commit(self, batch: int) -> None:
        """Make what was prepared visible."""

    def close(self) -> None:
        """Called at the end, also after a failure."""
