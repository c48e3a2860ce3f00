"""The events of a test: micro-batches, crashes, and advances of the watermark."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from morisot.api.location import caller
from morisot.errors import PlanError
from morisot.types.element import DATETIME
from morisot.types.moments import to_ticks


class Crash:
    """The job fails while it delivers the next micro-batch, and resumes from its last snapshot."""

    def __repr__(self) -> str:
        return "CRASH"


CRASH: Final = Crash()


@dataclass(frozen=True)
class AdvanceTime:
    """The watermark advances without an element."""

    milliseconds: int


def advance_time(to: int | datetime.datetime) -> AdvanceTime:
    """Advances the watermark between batches, to a timestamp (milliseconds or a datetime).

    Bounded engines ignore it.

    >>> advance_time(5000)
    AdvanceTime(milliseconds=5000)
    """
    if isinstance(to, datetime.datetime):
        return AdvanceTime(to_ticks(to, DATETIME) // 1000)
    if type(to) is not int:
        what = f"the watermark cannot advance to {to!r}"
        raise PlanError(what, location=caller(), advice="give milliseconds or a datetime")
    return AdvanceTime(to)


Event = Sequence[Any] | Crash | AdvanceTime
Batches = Sequence[Event]


def is_batch(event: Event) -> TypeGuard[Sequence[Any]]:
    return not isinstance(event, Crash | AdvanceTime)


def batches_of(events: Batches) -> list[Sequence[Any]]:
    """The batches without other events."""
    return [event for event in events if is_batch(event)]


@dataclass
class JobStart:
    """The micro-batches of one start of the job, and the event that ends it."""

    end: int
    """The number of the first micro-batch after this start."""
    events: list[Crash | AdvanceTime] = field(default_factory=list)


def job_starts(inputs: Sequence[Batches]) -> list[JobStart]:
    """The starts of the job. An event of any input precedes the micro-batch of its next batch."""
    found: dict[int, list[Crash | AdvanceTime]] = {}
    for events in inputs:
        number = 0
        for event in events:
            if is_batch(event):
                number += 1
            else:
                assert isinstance(event, Crash | AdvanceTime)
                found.setdefault(number, []).append(event)
    last = max((len(batches_of(events)) for events in inputs), default=0)
    return [*(JobStart(number, found[number]) for number in sorted(found)), JobStart(last)]


def check_batches(batches: Any) -> None:
    """Raises an error for anything but a list of lists: a list of numbers is a likely mistake."""
    for event in batches:
        if is_batch(event) and not isinstance(event, list | tuple | range):
            raise PlanError(
                f"a micro-batch is a list of elements, not {event!r}",
                location=caller(),
                advice="give a list of lists: [[1, 2], [3]] are two micro-batches, [[1, 2, 3]] is one",
            )
