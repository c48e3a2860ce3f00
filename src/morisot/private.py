"""Directories and files that only this user can reach, whatever the umask is.

What Spark's JVM writes has the permissions that the umask leaves. It is in a directory made here, which nobody else can
enter, and that is what protects it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import BinaryIO

_DIRECTORY, _FILE = stat.S_IRWXU, stat.S_IRUSR | stat.S_IWUSR
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_directory(directory: Path) -> None:
    """Make a directory, and those above it that are missing; what is there stays as it is."""
    missing = []
    for each in (directory, *directory.parents):
        if each.is_dir():
            break
        missing.append(each)
    for each in reversed(missing):
        each.mkdir(mode=_DIRECTORY, exist_ok=True)  # an argument of its own for each: parents=True takes the umask's


def private_directory(directory: Path) -> None:
    """Make a directory of Morisot's, or close one that is there."""
    make_directory(directory)
    if directory.stat().st_mode & _OTHERS:
        with contextlib.suppress(PermissionError):  # it is another user's, who let this one in
            directory.chmod(_DIRECTORY)


def private_file(file: Path) -> BinaryIO:
    """Open a file for writing, empty."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), _FILE)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, _FILE)  # of a file that was there
    return os.fdopen(descriptor, "wb")


def is_trustworthy(path: Path) -> bool:
    """Whether only this user and root can have written what is at a path; True where the system has no users.

    Who may write a file does not matter in a directory that nobody else can enter: Java 25 leaves it to the umask.
    """
    if not hasattr(os, "getuid"):
        return True
    path = path.resolve()
    found = path.stat()
    closed = stat.S_ISREG(found.st_mode) and not path.parent.stat().st_mode & _OTHERS
    if found.st_uid != os.getuid() or (found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not closed):
        return False
    return not any(_lets_others_rename(parent) for parent in path.parents)


def _lets_others_rename(directory: Path) -> bool:
    mode = directory.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX
