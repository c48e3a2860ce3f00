"""One owner for each snapshot directory, by a kernel lock, which ends with the process that holds it.

Two programs that write the same snapshots would overwrite each other. The lock is `flock` on a file in the directory.
The kernel releases it when its owner ends, also if it is killed, so a killed program never blocks its own restart. The
file also has the owner's process and host, for the error messages of others.
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import fcntl
import json
import os
import socket
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from morisot.engines.spark.internals.gateway import jvm_process
from morisot.errors import SinkError, SnapshotError
from morisot.overrides import OVERRIDES
from morisot.private import make_directory
from morisot.processes import start_time

_FILE = "owner.lock"
_FORMAT = 1
_SAID = {"host", "pid", "started"}
"""The entries of the file about the owner."""
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}
_NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}
_PATIENCE = 30.0
"""Seconds to wait for an owner that is about to end."""
_READ_TRIES, _READ_SECONDS = 5, 0.05
"""Seconds to wait for the entry of an owner that has just locked the file."""

_descriptors: set[int] = set()
"""The open lock files of this process."""


class SnapshotLock:
    """The right of one engine to write a snapshot directory.

    It is counted: the engine holds the lock while any of its jobs runs. Jobs of one engine share it. Those of another
    engine, in this process or in another, raise an error.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._directory = None if path is None else Path(path).absolute()
        self._holders = 0
        self._descriptor: int | None = None
        self._names_engine = False
        """Whether the file has the process of the JVM, which must end before another program writes the directory."""
        self._guard = threading.Lock()
        self._finalizer: weakref.finalize[Any, Any] | None = None

    def acquire(self) -> None:
        """Increments the count. Raises an error if another engine holds the lock."""
        with self._guard:
            if self._holders == 0 and self._directory is not None:
                self._descriptor = _locked(self._directory)
                if self._descriptor is not None:
                    self._finalizer = weakref.finalize(self, _let_go, self._descriptor)
            elif self._descriptor is not None and not self._names_engine and jvm_process() is not None:
                _write_owner(self._descriptor)
            self._names_engine = jvm_process() is not None
            self._holders += 1

    def release(self) -> None:
        """Decrements the count. The last release frees the lock."""
        with self._guard:
            self._holders -= 1
            if self._holders == 0 and self._finalizer is not None:
                self._finalizer()
                self._descriptor = self._finalizer = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock during a block."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def hold(self) -> Hold:
        """Holds the lock until `release` of the result is called."""
        self.acquire()
        return Hold(self)


class Hold:
    """One hold of a lock. It may be released more than once."""

    def __init__(self, lock: SnapshotLock) -> None:
        self._lock: SnapshotLock | None = lock

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def _locked(directory: Path) -> int | None:
    """The open and locked file of a directory; None if the file system has no locks."""
    file = directory / _FILE
    deadline = time.monotonic() + (_PATIENCE if OVERRIDES.supervised else 0.0)
    try:
        make_directory(directory)  # the permissions of an existing directory are unchanged
        while True:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)  # Python opens every file close-on-exec
            _descriptors.add(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                _close(descriptor)
                if error.errno in _HELD and time.monotonic() < deadline:
                    time.sleep(_READ_SECONDS)
                    continue
                if error.errno in _HELD:
                    raise _refusal(directory, file) from None
                if error.errno not in _NO_LOCKS:
                    raise
                _warn_without_locks(directory, error)
                return None
            if _is_same(descriptor, file):
                _await_engine(file)
                _write_owner(descriptor)
                return descriptor
            _close(descriptor)  # the directory was removed between the two calls
    except OSError as error:
        raise SinkError(f"snapshots cannot be written to {directory}: {error.strerror}") from None


def _await_engine(file: Path) -> None:
    """Waits for the JVM of an owner that was killed: it may still write a snapshot."""
    with contextlib.suppress(OSError, ValueError):
        left = json.loads(file.read_text(encoding="utf-8"))
        engine, begun = left["jvm"], left["jvm_started"]
        if left["host"] == socket.gethostname() and engine is not None:
            deadline = time.monotonic() + _PATIENCE
            while start_time(engine) == begun and time.monotonic() < deadline:
                time.sleep(_READ_SECONDS)


def _is_same(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _write_owner(descriptor: int) -> None:
    engine = jvm_process()
    owner = {
        "format": _FORMAT,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "jvm": engine,
        "jvm_started": None if engine is None else start_time(engine),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(owner).encode(), 0)


def _refusal(directory: Path, file: Path) -> SnapshotError:
    owner = _owner(file)
    if owner is None:
        who, advice = "another program", "wait until it ends, or give this program a directory of its own"
    elif owner["pid"] == os.getpid() and owner["host"] == socket.gethostname():
        who = f"another context of this process (pid {owner['pid']} on {owner['host']}, since {owner['started']})"
        advice = "stop its job or close it first, or give each context a directory of its own"
    else:
        who = f"the process {owner['pid']} on {owner['host']}, since {owner['started']}"
        advice = "wait until it ends, stop it, or give this program a directory of its own"
    return SnapshotError(f"the snapshots in {directory} are in use by {who}", advice=advice)


def _owner(file: Path) -> dict[str, Any] | None:
    """The owner of the lock, from the file."""
    for _ in range(_READ_TRIES):
        with contextlib.suppress(OSError, ValueError):
            owner = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(owner, dict) and owner.get("format") == _FORMAT and owner.keys() >= _SAID:
                return owner
        time.sleep(_READ_SECONDS)
    return None


def _warn_without_locks(directory: Path, error: OSError) -> None:
    warnings.warn(
        f"the file system of {directory} has no locks ({error.strerror}): a second program may write "
        "the same snapshots. Run one program at a time on this directory, or choose one on another file system.",
        RuntimeWarning,
        stacklevel=2,
    )


def _let_go(descriptor: int) -> None:
    """Releases a lock, also if a forked process still has the file open."""
    if descriptor in _descriptors:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        _close(descriptor)


def _close(descriptor: int) -> None:
    _descriptors.discard(descriptor)
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _close_in_child() -> None:
    """Called in a forked process, which shares the open file, and would hold the lock after its parent has ended."""
    for descriptor in list(_descriptors):
        _close(descriptor)


os.register_at_fork(after_in_child=_close_in_child)
