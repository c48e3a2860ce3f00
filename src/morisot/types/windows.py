"""Classes of windows that users' functions and results have: bounds, transactions, user-defined windows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from morisot.types.public import public

T = TypeVar("T")
B = TypeVar("B")
S = TypeVar("S")
A = TypeVar("A")
R = TypeVar("R")


@public
class Windowed(NamedTuple, Generic[B, R]):
    """The result of a window with its bounds: `start` belongs to the window, `end` does not."""

    start: B
    end: B
    value: R


@public
@dataclass(frozen=True)
class Tx:
    """The effect of an element on its transaction; see TransactionWindow."""

    action: Literal["none", "commit", "discard", "commit_after"]
    after: Any = None

    NONE: ClassVar[Tx]
    """The transaction continues."""
    COMMIT: ClassVar[Tx]
    """The transaction is complete with this element."""
    DISCARD: ClassVar[Tx]
    """The transaction is discarded, with this element."""

    @staticmethod
    def commit_after(timestamp: Any) -> Tx:
        """The transaction is complete before the first element whose timestamp is later than this one."""
        return Tx("commit_after", timestamp)


Tx.NONE = Tx("none")
Tx.COMMIT = Tx("commit")
Tx.DISCARD = Tx("discard")


class Accumulator(Generic[T, A, R]):
    """A user-defined aggregate: its value after each element of a window, in stream order."""

    def start(self) -> A:
        """The value before the first element."""
        raise NotImplementedError

    def add(self, held: A, element: T) -> A:
        """The value after one more element."""
        raise NotImplementedError

    def finish(self, held: A) -> R:
        """The result of the window; by default the value. Annotate the return type if you can."""
        return held  # type: ignore[return-value]


class Assigned(NamedTuple):
    """The windows that an element is added to, and the windows that it closes or drops.

    Windows have names, any hashable values. The element is added to the windows `into`, which open if they are new;
    then those in `drop` are discarded and those in `close` are complete, in this order.
    """

    state: Any
    into: Iterable[Hashable] = ()
    close: Iterable[Hashable] = ()
    drop: Iterable[Hashable] = ()


class CustomWindow(Generic[T, S]):
    """User-defined windows: a state for each key, and for each element the windows that it is in and completes."""

    def start(self) -> S:
        """The state before the first element."""
        raise NotImplementedError

    def assign(self, state: S, element: T, time: Any) -> Assigned:
        """The new state, and the windows of the element. `time` is its timestamp, None if the stream has none."""
        raise NotImplementedError

    def end(self, state: S) -> Iterable[Hashable]:
        """The windows that are complete when the stream ends; the others are dropped."""
        return ()
