"""Base classes of user-defined sources and sinks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from morisot.errors import Location, PlanError
from morisot.plan.life_cycle import WithLifeCycle

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
CommitTime = Literal["at_once", "after_snapshot"]
"""When a sink commits a micro-batch: as soon as it is prepared, or when its snapshot is complete."""


class Source(WithLifeCycle, Generic[T_co]):
    """A user-defined bounded source: the elements that `read()` returns.

    It is read in a worker, so it must be possible to pickle it. Every run reads it from the start.
    """

    def read(self) -> Iterable[T_co]:
        """The elements, in their order."""
        raise NotImplementedError(f"{type(self).__name__} has no read()")


class OffsetSource(WithLifeCycle, Generic[T_co]):
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


@dataclass(frozen=True)
class SinkPart:
    """A part of a micro-batch, which a worker prepares for a parallel sink."""

    instance: int
    """The number of the part in its micro-batch, from 0. There may be gaps."""
    attempt: int
    """The number of the attempt. No other attempt to prepare a part of this micro-batch has it, also after a restart.

    Several attempts may run concurrently, and only one of them counts. So stage elements under both numbers.
    """


class Sink(WithLifeCycle, Generic[T]):
    """A user-defined sink, which is called in the driver with the elements of each micro-batch.

    `prepare` stores them invisibly, `commit` makes them visible. A micro-batch may be replayed after a failure, with
    the same number and the same elements. With `commit="at_once"` both are called while the micro-batch runs. With
    `commit="after_snapshot"` a batch is committed when its snapshot is complete, or aborted and replayed. Then a job
    with snapshots delivers every element exactly once. With `parallel=True` workers prepare the parts of a batch.

    >>> class Rows(Sink[int], commit="after_snapshot"):
    ...     def prepare(self, batch: int, elements: Sequence[int]) -> None: ...
    >>> class Wide(Sink[int], commit="after_snapshot", parallel=True):
    ...     def prepare(self, batch: int, elements: Sequence[int], part: SinkPart) -> str: ...
    ...     def commit(self, batch: int, receipts: Sequence[str]) -> None: ...
    ...     def abort(self, batch: int, receipts: Sequence[str]) -> None: ...
    """

    commit_time: ClassVar[CommitTime] = "at_once"
    is_parallel: ClassVar[bool] = False

    def __init_subclass__(
        cls, *, commit: CommitTime | None = None, parallel: bool | None = None, **others: Any
    ) -> None:
        super().__init_subclass__(**others)
        if commit is not None:
            if commit not in get_args(CommitTime):
                allowed = " or ".join(map(repr, get_args(CommitTime)))
                raise PlanError(f"{cls.__name__}: commit is {commit!r}", advice=f"pass {allowed}")
            cls.commit_time = commit
        if parallel is not None:
            cls.is_parallel = bool(parallel)
        if cls.is_parallel and cls.commit_time == "at_once":
            advice = 'add commit="after_snapshot": its receipts say what to commit'
            raise PlanError(f"{cls.__name__} is parallel and commits at once", advice=advice)

    def open(self) -> None:
        """The same as `on_init`, without its argument."""

    def last_committed(self) -> int | None:
        """The number of the last committed micro-batch. Called when a job resumes from a snapshot."""
        return None

    def prepare(self, batch: int, elements: Any, *part: Any) -> Any:
        """Prepares the elements of a micro-batch. They replace those of an earlier attempt with this number.

        A parallel sink gets a `SinkPart` as well, and returns a receipt: a picklable value for `commit` and `abort`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no prepare(batch, elements)")

    def commit(self, batch: int, *receipts: Any) -> None:
        """Makes the prepared elements visible. A parallel sink gets the receipts of the parts that count."""

    def abort(self, batch: int, *receipts: Any) -> None:
        """Removes prepared elements: the snapshot with the micro-batch was not completed, and it will be replayed.

        A parallel sink also gets the known receipts. Other attempts may have prepared elements, too.
        """

    def roll_back(self, batch: int) -> None:
        """Removes what was committed after a micro-batch; after -1: everything. Optional."""
        raise NotImplementedError(f"{type(self).__name__} has no roll_back(batch)")

    def close(self) -> None:
        """The same as `on_exit`."""


def overrides(sink: Sink[Any], method: str) -> bool:
    """Whether the class of a sink defines a method itself."""
    return getattr(type(sink), method) is not getattr(Sink, method, None)


def is_two_phase(sink: Sink[Any]) -> bool:
    """Whether a sink commits after the snapshot."""
    return sink.commit_time == "after_snapshot"


def refuse_both(sink: Sink[Any], location: Location) -> None:
    """Raises an error for a class that overrides a method and its alias: it is unclear which one is called."""
    for method, alias in (("on_init", "open"), ("on_exit", "close")):
        if overrides(sink, method) and overrides(sink, alias):
            raise PlanError(
                f"{type(sink).__name__} has {method} and {alias}, which are the same callback",
                location=location,
                advice=f"keep {method}",
            )
