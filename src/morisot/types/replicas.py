"""What the callbacks of a user's operator are called with: its replica, and the message."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from morisot.types.public import public

T = TypeVar("T")

STORE = "_morisot_store"
"""The attribute of an operator with its key store, while a replica runs."""
SendMode = Literal["on_demand", "affinity", "broadcast"]
"""Which replica processes an element: the next free one, that of its key, or all."""


@dataclass(frozen=True)
class Replica:
    """Identifies a replica of a user's source, operator or sink."""

    instance: int
    """Its number, from 0."""
    instances: int
    """The number of all replicas."""
    host: str


@public
class Sender(NamedTuple):
    """Where an element comes from."""

    operator: str
    """The name of the operator or source before, or its method."""
    instance: int
    """The number of the replica that emitted it; 0 if the operator has no replicas."""


@public
class Emit(NamedTuple, Generic[T]):
    """An element with an id, which a source emits instead of the element. Ids must increase."""

    id: int
    element: T


def sent(emitted: Any) -> tuple[int, int, Any]:
    """The element that a source has emitted with an id, as (id, replica, element)."""
    if not isinstance(emitted, Emit):
        raise TypeError(f"a source that emits ids must emit mo.Emit(id, element), not {emitted!r}")
    return emitted.id, 0, emitted.element


@public
class Message(NamedTuple):
    """What an operator knows about the element that it processes."""

    id: int
    """The id of the element: that of the source or of the element that caused it, else its number at the operator.

    It grows in stream order, and is the same after a replay.
    """
    snapshot: int | None
    """The micro-batch, whose snapshot contains the effects of the element; None if there are no micro-batches."""
    replayed: bool
    """Whether an earlier attempt may have processed the element."""
    instance: int
    """The number of the replica that processes it."""
    sender: Sender
    """The operator before, and its replica."""


@public
class Placement(NamedTuple):
    """A replica of an operator in a worker process, as `job.placement()` lists it."""

    operator: str
    """The name of the operator, and its location."""
    instance: int
    host: str
    pid: int
    inputs: int
    """The elements that it has processed."""
    outputs: int


@contextlib.contextmanager
def having_store(user: Any, store: dict[Any, Any] | None) -> Iterator[None]:
    """Gives an object a key store for the block, unless it has none."""
    if store is None:
        yield
        return
    user.__dict__[STORE] = store
    try:
        yield
    finally:
        user.__dict__.pop(STORE, None)


def instance_of_key(identity: bytes, instances: int) -> int:
    """The replica of a key, the same in every process.

    >>> instance_of_key(b"s3:abc", 4)
    3
    """
    return zlib.crc32(identity) % instances


def outputs_of(answer: Any) -> list[Any]:
    """The outputs that `process` yielded or returned."""
    if answer is None:
        return []
    if isinstance(answer, list):
        return answer
    if isinstance(answer, str | bytes | dict) or not hasattr(answer, "__iter__"):
        raise TypeError(f"process must yield its outputs, or return a list of them or None, not {answer!r}")
    return list(answer)
