"""The temporary directories of this process. All are below one directory, which is removed when the process ends.

A process that is killed cannot remove its directory. The owner holds a lock on a file in it until it ends, so the next
process removes directories whose lock is free.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path

from morisot.engines.spark.session.ending import at_exit

_PREFIX = "morisot-"
_LOCK = ".owner"
_root: tuple[int, Path] | None = None
"""The process that created the directory, and the directory. A forked process creates its own."""


def scratch() -> Path:
    """The directory of this process."""
    global _root  # noqa: PLW0603 - a process has one
    if _root is None or _root[0] != os.getpid() or not _root[1].is_dir():
        remove_abandoned(Path(tempfile.gettempdir()))
        _root = os.getpid(), Path(tempfile.mkdtemp(prefix=_PREFIX))
        _hold(_root[1] / _LOCK)
        at_exit(functools.partial(_remove, *_root))
    return _root[1]


def temporary_directory(kind: str) -> Path:
    """A new directory. The caller removes it; otherwise it is removed at the end of the process."""
    return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=scratch()))


def _remove(owner: int, directory: Path) -> None:
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def _hold(lock: Path) -> None:
    """Locks the file until this process ends. The descriptor stays open.

    The file gets its name after it is locked, so that others never find it unlocked.
    """
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        beside = lock.with_suffix(".new")
        fcntl.flock(os.open(beside, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX | fcntl.LOCK_NB)
        beside.rename(lock)


def remove_abandoned(temporary: Path) -> None:
    """Removes directories of killed processes of this user."""
    for lock in temporary.glob(f"{_PREFIX}*/{_LOCK}"):
        if is_free(lock):
            shutil.rmtree(lock.parent, ignore_errors=True)


def is_free(lock: Path) -> bool:
    """Whether the owner of a directory has ended; False if it is unknown."""
    try:
        import fcntl

        descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return False
    try:
        if os.fstat(descriptor).st_uid != os.getuid():
            return False
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
