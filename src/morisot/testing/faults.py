"""Faults in a program under test, at the named points of a job."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from morisot.api.location import caller
from morisot.errors import JobError, PlanError
from morisot.runtime.faults import FaultPoint, Moment, hooked


class InjectedFault(JobError):  # noqa: N818 - it is not an error of the program
    """The failure that `fault(…, action="raise")` injects."""


@dataclass
class Injected:
    """The faults that a block has injected."""

    times: int = 0


@contextlib.contextmanager
def fault(
    moment: Moment,
    point: FaultPoint,
    *,
    number: int | None = None,
    action: Literal["raise", "kill"] | Callable[[], None] = "raise",
    times: int = 1,
) -> Iterator[Injected]:
    """Injects a fault before or after a named point of the jobs of this process.

    The points are `prepare`, `commit`, `abort` (of sinks that commit after the snapshot), `commit entry` (which
    completes a snapshot) and `log append` (the job's record of a sink). `number` selects a micro-batch. The fault is
    injected `times` times: an `InjectedFault` is raised, the process is killed, or a function is called.

    >>> with fault("before", "commit", number=2) as injected:
    ...     pass
    >>> injected.times
    0
    """
    for value, allowed in ((moment, get_args(Moment)), (point, get_args(FaultPoint))):
        if value not in allowed:
            raise PlanError(
                f"there is no {value!r} to inject a fault at",
                location=caller(),
                advice=f"name one of {', '.join(map(repr, allowed))}",
            )
    injected = Injected()

    def hook(now: Moment, at: FaultPoint, batch: int | None) -> None:
        if (now, at) == (moment, point) and number in (None, batch) and injected.times < times:
            injected.times += 1
            act(action, f"a fault was injected {moment} {point}" + ("" if batch is None else f" of batch {batch}"))

    with hooked(hook):
        yield injected


def act(action: Literal["raise", "kill"] | Callable[[], None], said: str) -> None:
    """Injects one fault."""
    if action == "raise":
        raise InjectedFault(said)
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif callable(action):
        action()
