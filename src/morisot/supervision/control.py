"""The control socket: other programs of the user ask a supervisor for its state, or to stop or restart its program.

It is a Unix socket with the permissions 0600 in the snapshot directory. A request is a line of JSON, as is its answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from morisot.errors import SnapshotError
from morisot.private import make_directory

NAME = "control.sock"
_SECONDS = 5.0
_LONGEST = 65536
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class NoSupervisor(Exception):  # noqa: N818 - the command line prints it
    """No supervisor answers."""


class ControlSocket:
    """The socket of a supervisor."""

    def __init__(self, directory: Path, answer: Answer) -> None:
        self.path = directory / NAME
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._open(directory)
        except BaseException:
            self._socket.close()
            raise
        self._file = self.path.lstat()

    def _open(self, directory: Path) -> None:
        make_directory(directory)
        if self.path.exists() or self.path.is_symlink():
            if _answers(directory):
                raise SnapshotError(
                    f"another supervisor runs a program with the snapshots in {directory}",
                    advice="stop it with `morisot stop`, or give this program a directory of its own",
                )
            self.path.unlink(missing_ok=True)
        mask = os.umask(0o177)  # the socket gets its permissions when it is created
        try:
            with _short(directory) as short:
                self._socket.bind(short)
        finally:
            os.umask(mask)
        self._socket.listen(8)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def serve(self) -> None:
        """Answers one request, if there is one of the same user."""
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(_SECONDS)
            if _user_of(connection) in (os.getuid(), None):
                request = _receive(connection)
                connection.sendall(json.dumps(self._answer(request)).encode() + b"\n")

    def close(self) -> None:
        """Closes and removes the socket, unless another supervisor has replaced it."""
        self._socket.close()
        with contextlib.suppress(OSError):
            if os.path.samestat(self.path.lstat(), self._file):
                self.path.unlink()


def ask(directory: Path, request: dict[str, Any]) -> dict[str, Any]:
    """The answer of the supervisor whose control socket is in a directory."""
    try:
        if not stat.S_ISSOCK((directory / NAME).stat().st_mode):
            raise NoSupervisor(f"{directory / NAME} is no socket")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, _short(directory) as short:
            connection.settimeout(_SECONDS)
            connection.connect(short)
            connection.sendall(json.dumps(request).encode() + b"\n")
            return _receive(connection)
    except (OSError, ValueError):
        raise NoSupervisor(f"no supervisor runs a program with the snapshots in {directory}") from None


def _answers(directory: Path) -> bool:
    try:
        ask(directory, {"command": "status"})
    except NoSupervisor:
        return False
    return True


def _receive(connection: socket.socket) -> dict[str, Any]:
    text = b""
    while not text.endswith(b"\n"):
        chunk = connection.recv(4096)
        if not chunk or len(text) > _LONGEST:
            raise ValueError("the request is not a line")
        text += chunk
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the request is no object")
    return found


@contextlib.contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A short path to the socket: the path of a socket has at most about a hundred bytes."""
    path = str(directory / NAME)
    if sys.platform != "linux" or len(os.fsencode(path)) < 100:
        yield path
        return
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}"
    finally:
        os.close(descriptor)


def _user_of(connection: socket.socket) -> int | None:
    """The user at the other end; None if the system does not say."""
    if sys.platform != "linux":
        return None
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", packed)[1])
