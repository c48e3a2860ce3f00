"""The messages between a task of a loop and the coordinator."""

from __future__ import annotations

from typing import Any, NamedTuple

from morisot.worker.report.failure import Report


class TaskId(NamedTuple):
    """The number of a task, the number of tasks, and the attempt of the stage."""

    partition: int
    partitions: int
    attempt: int


class Hello(NamedTuple):
    """The first message of a task."""

    task: TaskId
    elements: int


class Round(NamedTuple):
    """The coordinator starts one round with a state."""

    number: int
    state: Any


class Save(NamedTuple):
    """The coordinator requests that the task writes its elements into a directory."""

    directory: str


class ElementsSaved(NamedTuple):
    """The answer to Save: the name of the file, its size in bytes, and its digest."""

    file: str
    size: int
    sha256: str


class End(NamedTuple):
    """The loop has ended. `emit`: whether the elements of the task are the result."""

    emit: bool


class Delta(NamedTuple):
    """The answer to Round."""

    number: int
    elements: int
    """The number of elements that the body emitted."""
    delta: Any


class Failed(NamedTuple):
    """A user's function failed in a task."""

    report: Report


class Unsaved(NamedTuple):
    """The elements of a task could not be saved."""

    said: str
