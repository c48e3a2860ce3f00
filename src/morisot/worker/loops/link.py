"""The connection between a task and the coordinator of its loop: pickles, after both have authenticated.

A peer without the job's random key is disconnected before any of its bytes is unpickled.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from types import TracebackType
from typing import Any, NamedTuple, Self

_HANDSHAKE_SECONDS = 10


class Address(NamedTuple):
    """The address at which the coordinator listens, and the key that both sides need."""

    host: str
    port: int
    key: bytes

    def __repr__(self) -> str:
        return f"Address({self.host}:{self.port})"


class Gone(NamedTuple):
    """Received when the other side has disconnected."""


class Link:
    """One end of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def fileno(self) -> int:
        return self._connection.fileno()

    def send(self, message: bytes) -> bool:
        """Sends a pickle. Returns whether the other side is connected."""
        try:
            self._connection.send_bytes(message)
        except OSError:
            return False
        return True

    def receive(self) -> Any:
        """The next message, or Gone."""
        try:
            return pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError):
            return Gone()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(address: Address) -> Link | None:
    """A task's end of the connection; None if the coordinator does not listen."""
    try:
        found = socket.create_connection((address.host, address.port), timeout=_HANDSHAKE_SECONDS)
    except OSError:
        return None
    return _authenticated(found, address.key, leads=False)


def accept(listener: socket.socket, key: bytes) -> Link | None:
    """The coordinator's end of a new connection; None if the other side does not have the key."""
    try:
        found, _ = listener.accept()
    except OSError:
        return None
    return _authenticated(found, key, leads=True)


def _authenticated(found: socket.socket, key: bytes, *, leads: bool) -> Link | None:
    found.setblocking(True)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _limit(found, _HANDSHAKE_SECONDS)
    connection = Connection(found.detach())
    try:
        if leads:
            deliver_challenge(connection, key)
            answer_challenge(connection, key)
        else:
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
    except (AuthenticationError, EOFError, OSError, AssertionError):
        connection.close()
        return None
    unlimited = socket.socket(fileno=connection.fileno())
    _limit(unlimited, 0)
    unlimited.detach()
    return Link(connection)


def _limit(line: socket.socket, seconds: int) -> None:
    """Sets the timeout of each call, in seconds; 0: none."""
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        line.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))
