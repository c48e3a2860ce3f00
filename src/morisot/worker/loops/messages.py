"""What a task of a loop and its leader tell each other."""

from __future__ import annotations

from typing import Any, NamedTuple

from morisot.worker.report.failure import Report


class Place(NamedTuple):
    """Which task of how many this is, and in which try of the stage."""

    partition: int
    partitions: int
    attempt: int


class Hello(NamedTuple):
    """What a task says first."""

    place: Place
    elements: int


class Round(NamedTuple):
    """What the leader asks for: one round with a state."""

    number: int
    state: Any


class Save(NamedTuple):
    """What the leader asks for: write what the task holds into a directory."""

    directory: str


class Saved(NamedTuple):
    """What a task answers when it has: the name of its file, the bytes in it, and their digest."""

    file: str
    size: int
    sha256: str


class End(NamedTuple):
    """The loop is over; `keep` is whether what the task holds is the result."""

    keep: bool


class Delta(NamedTuple):
    """What a task answers."""

    number: int
    elements: int
    """How many elements left the body."""
    delta: Any


class Failed(NamedTuple):
    """A function of the user's failed in a task."""

    report: Report


class Unsaved(NamedTuple):
    """What a task holds could not be saved."""

    said: str
