"""The replicas of users' operators in a worker process. They live longer than tasks."""

from __future__ import annotations

import atexit
import contextlib
import copy
import os
import pickle
import queue
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from morisot.errors import JobError
from morisot.types.replicas import Message, Replica, outputs_of
from morisot.worker.loops.link import Address, Gone, Link, connect
from morisot.worker.replicas.messages import (
    JobEnded,
    JobFailed,
    Joined,
    Lease,
    LeaseReturned,
    LeaseWanted,
    Left,
    Processed,
    QueryEnds,
    SnapshotTaken,
    Welcome,
)


@dataclass(frozen=True)
class Placed:
    """A user's operator, as tasks get it."""

    run: str
    """The id of the run: a run that is repeated has new replicas."""
    number: int
    """The number of the operator in the plan."""
    replicas: int
    process: Callable[..., Any]
    """The method of the user's object."""
    address: Address | None
    """Where the driver listens; None: there is one process, and no callbacks but `on_init`."""
    is_source: bool = False


class LiveReplica:
    """A user's object in this worker process. The driver calls its callbacks over a link."""

    def __init__(self, placed: Placed, instance: int | None) -> None:
        self._placed = placed
        self._key = placed.run, placed.number, instance
        self.operator: Any = copy.copy(placed.process.__self__)  # type: ignore[attr-defined]
        self._process = getattr(self.operator, placed.process.__name__)
        self._leases: queue.Queue[int | None] = queue.Queue()
        self._calls = threading.RLock()
        """Held while a method of the user runs: callbacks and `process` never run at once."""
        self._inputs = self._outputs = 0
        self.is_over = False
        """Whether `on_exit` was called."""
        self._failure: Exception | None = None
        """The error of a callback, which the next element raises."""
        self._complete = -1
        """The last complete snapshot when it joined."""
        self._link = self._joined(instance)
        self.instance = 0 if instance is None else instance

    def _joined(self, instance: int | None) -> Link | None:
        placed = self._placed
        if placed.address is None:
            return None
        link = connect(placed.address)
        if link is None:
            raise JobError("the driver does not answer: the job has ended")
        link.send(pickle.dumps(Joined(placed.number, instance, socket.gethostname(), os.getpid())))
        welcome = link.receive()
        if not isinstance(welcome, Welcome):
            raise JobError("the driver does not answer: the job has ended")
        self._complete = welcome.complete
        threading.Thread(target=self._listen, args=(link,), name="morisot-replica", daemon=True).start()
        return link

    def begin(self) -> None:
        """Calls `on_init`, and `on_global_snapshot` if the job has a complete snapshot."""
        with self._calls:
            self.operator.on_init(Replica(self.instance, self._placed.replicas, socket.gethostname()))
            if self._complete >= 0:
                self.operator.on_global_snapshot(self._complete)

    def call(self, method: str, *arguments: Any) -> Any:
        """Calls a method of the user's object, while no callback runs."""
        with self._calls:
            if self._failure is not None:
                raise self._failure
            return getattr(self.operator, method)(*arguments)

    def take_lease(self) -> None:
        """Waits until fewer than all replicas process elements, and takes the number of one."""
        if self._link is None:
            return
        self._link.send(pickle.dumps(LeaseWanted()))
        instance = self._leases.get()
        if instance is None:
            raise JobError("the driver does not answer: the job has ended")
        self.instance = instance

    def process(self, element: Any, message: Message) -> list[Any]:
        """The outputs for an element."""
        with self._calls:
            if self._failure is not None:
                raise self._failure
            answer = self._process(element, message)
            outputs = outputs_of(answer)
        self._inputs += 1
        self._outputs += len(outputs)
        return outputs

    def end_task(self, *, leased: bool) -> None:
        """Called when a task has processed its elements."""
        if self._link is not None:
            self._link.send(pickle.dumps(Processed(self._inputs, self._outputs)))
            if leased:
                self._link.send(pickle.dumps(LeaseReturned()))

    # -- callbacks ----------------------------------------------------------------------------------------------------

    def _listen(self, link: Link) -> None:
        while True:
            message = link.receive()
            match message:
                case Lease(instance):
                    self._leases.put(instance)
                case SnapshotTaken(number, complete):
                    self._note_snapshot(number, complete=complete)
                case JobFailed(said):
                    self.fail(JobError(said))
                case QueryEnds() if not self._placed.is_source:
                    pass
                case JobEnded() | QueryEnds() | Gone():
                    _ended.add(self._placed.run)
                    self._leases.put(None)
                    self.end()
                    link.send(pickle.dumps(Left()))
                    link.close()
                    return

    def _note_snapshot(self, number: int, *, complete: bool) -> None:
        with self._calls:
            if not self.is_over:
                callback = self.operator.on_global_snapshot if complete else self.operator.on_local_snapshot
                try:
                    callback(number)
                except Exception as error:
                    self._failure = error

    def fail(self, error: BaseException) -> None:
        """Calls `on_error`, then `on_exit`."""
        with self._calls:
            if not self.is_over:
                with contextlib.suppress(Exception):  # the first error is reported
                    self.operator.on_error(error)
                self.end()

    def end(self) -> None:
        """Calls `on_exit`, once."""
        with self._calls:
            if self.is_over:
                return
            self.is_over = True
            _live.pop(self._key, None)
            try:
                self.operator.on_exit()
            except Exception:  # the job has ended, and its result or error is known
                traceback.print_exc()


_live: dict[tuple[str, int, int | None], LiveReplica] = {}
"""The replicas of this process, by run, operator and instance. On demand a process has one for all instances."""


_ended: set[str] = set()
"""The runs that have ended for this process."""


def has_ended(placed: Placed) -> bool:
    """Whether the job has ended, so that no replica may begin any more."""
    return placed.run in _ended


def replica_of(placed: Placed, instance: int | None) -> LiveReplica:
    """The replica of this process, which is created and initialised when it is first used."""
    found = _live.get((placed.run, placed.number, instance))
    if found is None or found.is_over:
        found = LiveReplica(placed, instance)
        if instance is None:
            found.take_lease()
        found.begin()
        _live[placed.run, placed.number, instance] = found
    elif instance is None:
        found.take_lease()
    return found


def end_all() -> None:
    """Calls `on_exit` of all replicas of this process, which ends."""
    for replica in list(_live.values()):
        replica.end()


atexit.register(end_all)
