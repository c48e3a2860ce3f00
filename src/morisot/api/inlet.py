"""The sending end of a stream: what threads of the user's program put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from morisot.errors import PlanError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

T = TypeVar("T")


class Store(Protocol):
    """Where elements wait to be read."""

    closed: bool

    def put(self, elements: Iterable[Any]) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def remove(self) -> None: ...


class Inlet(Generic[T]):
    """Takes elements from any thread and gives them to the stream, in the order they were sent.

    `send` waits while the job is too far behind. The stream ends, and with it a job that reads nothing else, when the
    inlet is closed and everything was read.
    """

    def __init__(self, store: Store, check: Callable[[Any], None]) -> None:
        self._store = store
        self._check = check

    def send(self, element: T) -> None:
        """Put one element into the stream."""
        self.send_all((element,))

    def send_all(self, elements: Iterable[T]) -> None:
        """Put elements into the stream, one after the other."""
        self._store.put(map(self._checked, elements))

    def _checked(self, element: T) -> T:
        self._check(element)
        return element

    def flush(self) -> None:
        """Wait until everything that was sent is written, so that it survives the end of the program."""
        self._store.flush()

    def close(self) -> None:
        """End the stream."""
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
    """A list, for the engine that runs in this process."""

    def __init__(self) -> None:
        self.closed = False
        self.elements: list[Any] = []

    def put(self, elements: Iterable[Any]) -> None:
        if self.closed:
            raise PlanError("the channel is closed: nothing can be sent any more")
        self.elements.extend(elements)

    def flush(self) -> None:
        """It is there."""

    def close(self) -> None:
        self.closed = True

    def remove(self) -> None:
        """Nothing is left behind."""
