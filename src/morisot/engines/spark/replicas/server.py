"""The server that the replicas of users' operators connect to: it gives leases, and calls their callbacks."""

from __future__ import annotations

import os
import pickle
import queue
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import Any

from morisot.runtime import faults
from morisot.types.replicas import Placement
from morisot.worker.loops.link import Address, Gone, Link, accept
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

_LEAVING_SECONDS = 10.0
"""Seconds to wait until all replicas have called `on_exit`."""
_LOOK_SECONDS = 0.01


@dataclass
class _Connected:
    """A replica that is connected."""

    link: Link
    joined: Joined
    lease: int | None = None
    processed: Processed = field(default_factory=lambda: Processed(0, 0))
    last: int | None = None
    """Its last lease."""

    @property
    def instance(self) -> int:
        return (self.last or 0) if self.joined.instance is None else self.joined.instance


@dataclass
class _Leases:
    """The leases of one operator."""

    title: str
    free: list[int]
    waiting: deque[_Connected] = field(default_factory=deque)


class ReplicaServer:
    """Serves the replicas of one run. It listens when the first operator with replicas is emitted."""

    def __init__(self, host: Callable[[], str]) -> None:
        self.run = uuid.uuid4().hex
        self._host = host
        """Returns the address to listen at."""
        self._address: Address | None = None
        self._operators: dict[int, _Leases] = {}
        self._sources: set[int] = set()
        self._requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._unnamed: list[Link] = []
        self._connected: list[_Connected] = []
        self._gone: list[_Connected] = []
        self._ending = False
        self._complete = -1
        """The last complete snapshot."""
        self._thread: threading.Thread | None = None

    # -- called by the driver -----------------------------------------------------------------------------------------

    def serve(self, number: int, title: str, replicas: int, *, is_source: bool = False) -> Address:
        """The address for the replicas of an operator, or for a source."""
        if is_source:
            self._sources.add(number)
        self._operators.setdefault(number, _Leases(title, list(range(replicas))))
        if self._address is None:
            host = self._host()
            self._listener = socket.create_server((host, 0), backlog=256)
            self._listener.settimeout(0)
            self._address = Address(host, self._listener.getsockname()[1], os.urandom(32))
            self._wake, self._woken = socket.socketpair()
            self._thread = threading.Thread(target=self._serve, name="morisot-replicas", daemon=True)
            self._thread.start()
        return self._address

    @property
    def is_serving(self) -> bool:
        """Whether an operator has replicas."""
        return self._thread is not None

    def note_stored(self, number: int) -> None:
        """Tells all replicas that their parts of a snapshot are stored."""
        with faults.around("link message", number):
            self._send_all(SnapshotTaken(number, False))

    def note_complete(self, number: int) -> None:
        """Tells all replicas that a snapshot is complete, unless they know it. Later replicas get it first."""
        if number > self._complete:
            with faults.around("link message", number):
                self._complete = number
                self._send_all(SnapshotTaken(number, True))

    def fail(self, said: str) -> None:
        """Tells all replicas that the job has failed."""
        self._send_all(JobFailed(said))

    def end_sources(self) -> None:
        """Ends the sources, whose processes Spark kills with the query, and waits until they have called `on_exit`."""
        deadline = time.monotonic() + _LEAVING_SECONDS
        if self._sources:
            self._send_all(QueryEnds())
        while time.monotonic() < deadline and any(each.joined.operator in self._sources for each in self._connected):
            time.sleep(_LOOK_SECONDS)

    def end(self) -> None:
        """Ends all replicas, and waits until they have called `on_exit`."""
        if self._thread is None:
            return
        self._ending = True
        self._send_all(JobEnded())
        self._thread.join(_LEAVING_SECONDS)
        for each in (*self._unnamed, *(each.link for each in self._connected)):
            each.close()
        self._thread = self._address = None
        self._ending = False

    def placement(self) -> list[Placement]:
        """The replicas so far, with those whose processes have ended."""
        return [
            Placement(
                self._operators[each.joined.operator].title,
                each.instance,
                each.joined.host,
                each.joined.pid,
                *each.processed,
            )
            for each in (*self._gone, *self._connected)
        ]

    def _send_all(self, message: Any) -> None:
        if self._thread is not None:
            self._requests.put(pickle.dumps(message))
            self._wake.send(b"x")

    # -- the thread ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        with self._listener, self._wake, self._woken:
            while not (self._ending and self._requests.empty() and not self._connected):
                links = (each.link for each in self._connected)
                lines: list[Any] = [self._listener, self._woken, *self._unnamed, *links]
                ready: list[Any] = wait(lines)
                if self._listener in ready:
                    link = accept(self._listener, self._listener_key)
                    self._unnamed += [] if link is None else [link]
                if self._woken in ready:
                    self._woken.recv(1)
                    self._pass_on(self._requests.get())
                named = [each for each in self._connected if each.link in ready]
                for link in [link for link in self._unnamed if link in ready]:
                    self._unnamed.remove(link)
                    self._welcome(link)
                for each in named:
                    self._receive(each, each.link.receive())

    @property
    def _listener_key(self) -> bytes:
        assert self._address is not None
        return self._address.key

    def _pass_on(self, message: bytes) -> None:
        for each in self._connected:
            each.link.send(message)

    def _welcome(self, link: Link) -> None:
        joined = link.receive()
        if isinstance(joined, Joined) and joined.operator in self._operators:
            self._connected.append(_Connected(link, joined))
            link.send(pickle.dumps(Welcome(self._complete)))
            if self._ending:
                link.send(pickle.dumps(JobEnded()))
        else:
            link.close()

    def _receive(self, replica: _Connected, message: Any) -> None:
        match message:
            case LeaseWanted():
                self._operators[replica.joined.operator].waiting.append(replica)
                self._grant(replica.joined.operator)
            case LeaseReturned():
                self._take_back(replica)
            case Processed():
                replica.processed = message
            case Left() | Gone():
                replica.link.close()
                self._connected.remove(replica)
                self._gone.append(replica)
                self._take_back(replica)

    def _take_back(self, replica: _Connected) -> None:
        leases = self._operators[replica.joined.operator]
        if replica in leases.waiting:
            leases.waiting.remove(replica)
        if replica.lease is not None:
            leases.free.append(replica.lease)
            replica.lease = None
            self._grant(replica.joined.operator)

    def _grant(self, operator: int) -> None:
        """Gives free leases to waiting replicas."""
        leases = self._operators[operator]
        while leases.waiting and leases.free:
            replica = leases.waiting.popleft()
            lease = self._lease_for(replica, leases.free)
            leases.free.remove(lease)
            replica.lease = replica.last = lease
            replica.link.send(pickle.dumps(Lease(lease)))

    def _lease_for(self, replica: _Connected, free: list[int]) -> int:
        """The lease that a replica had before, else one that no other had before, else any."""
        if replica.last in free:
            return replica.last
        taken = {each.last for each in self._connected if each.joined.operator == replica.joined.operator}
        return min((each for each in free if each not in taken), default=min(free))
