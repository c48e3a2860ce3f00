"""The sending end of a channel, which threads of the user's program use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from morisot.api.checks.public import public
from morisot.errors import PlanError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

T = TypeVar("T")


class Store(Protocol):
    """Buffers elements until they are read."""

    closed: bool

    def put(self, elements: Iterable[Any]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def remove(self) -> None: ...


@public()
class Inlet(Generic[T]):
    """Sends elements of any thread to the stream, in the order of the calls.

    `send` blocks while the backlog of the job is too large. The stream ends when the inlet is closed and all elements
    were read. A job that reads no other stream ends with it.
    """

    def __init__(self, store: Store, check: Callable[[Any], Any]) -> None:
        self._store = store
        self._check = check

    def send(self, element: T) -> None:
        """Sends one element."""
        self.send_all((element,))

    def send_all(self, elements: Iterable[T]) -> None:
        """Sends elements in their order."""
        self._store.put(map(self._checked, elements))

    def _checked(self, element: T) -> T:
        return self._check(element)  # type: ignore[no-any-return]

    def flush(self) -> None:
        """Waits until all sent elements are written to files, so that they survive the end of the program."""
        self._store.flush()

    def close(self) -> None:
        """Ends the stream."""
        self._store.close()

    @property
    def closed(self) -> bool:
        return self._store.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Inlet, {'closed' if self.closed else 'open'}>"


class Memory:
    """A list, for the reference engine."""

    def __init__(self) -> None:
        self.closed = False
        self.elements: list[Any] = []

    def put(self, elements: Iterable[Any]) -> None:
        if self.closed:
            raise PlanError("the channel is closed: nothing can be sent any more")
        self.elements.extend(elements)

    def flush(self) -> None:
        """Does nothing: elements are in memory."""

    def close(self) -> None:
        self.closed = True

    def remove(self) -> None:
        """Does nothing: there are no files."""
