"""The messages between a replica and the driver."""

from __future__ import annotations

from typing import NamedTuple


class Joined(NamedTuple):
    """A worker process has a replica. Without an instance it asks for leases."""

    operator: int
    """The number of the operator in the plan."""
    instance: int | None
    host: str
    pid: int


class Welcome(NamedTuple):
    """The answer to Joined: the last complete snapshot, or -1."""

    complete: int


class LeaseWanted(NamedTuple):
    """A task needs a lease, which limits how many tasks run at once."""


class LeaseReturned(NamedTuple):
    """A task does not need its lease any more."""


class Lease(NamedTuple):
    """The number of a replica, for a task."""

    instance: int


class Processed(NamedTuple):
    """The elements that a replica has processed so far, and its outputs."""

    inputs: int
    outputs: int


class SnapshotTaken(NamedTuple):
    """The part of a replica in a snapshot is stored, or the whole snapshot is complete."""

    number: int
    complete: bool


class JobFailed(NamedTuple):
    """The job has failed."""

    said: str


class JobEnded(NamedTuple):
    """The job has ended, or the attempt that failed."""


class QueryEnds(NamedTuple):
    """The query is about to end, and Spark then kills the processes of its sources."""


class Left(NamedTuple):
    """The replica has called `on_exit`."""
