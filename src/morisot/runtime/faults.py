"""Points at which tests inject faults. Without a hook a point costs a comparison."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Literal

FaultPoint = Literal["prepare", "commit entry", "commit", "abort", "log append", "state repartition", "link message"]
"""The named points. `commit entry` is the entry by which Spark, or a bounded job, completes a snapshot, and
`log append` the record of a sink beside it. `link message` tells the replicas of an operator about a snapshot.
`state repartition` is reserved."""
Moment = Literal["before", "after"]
Hook = Callable[[Moment, FaultPoint, int | None], None]
"""Called with the moment, the point, and the number of the micro-batch."""

_hooks: list[Hook] = []


def reach(moment: Moment, point: FaultPoint, number: int | None = None) -> None:
    """Says that the program has reached a moment of a point. A hook may raise an exception or end the process."""
    if _hooks:
        for hook in tuple(_hooks):
            hook(moment, point, number)


@contextlib.contextmanager
def around(point: FaultPoint, number: int | None = None) -> Iterator[None]:
    """Encloses the action of a point. The second moment is reached if the action succeeds."""
    reach("before", point, number)
    yield
    reach("after", point, number)


@contextlib.contextmanager
def hooked(hook: Hook) -> Iterator[None]:
    """Calls a hook at every point in the block, in every thread of the process."""
    _hooks.append(hook)
    try:
        yield
    finally:
        _hooks.remove(hook)
