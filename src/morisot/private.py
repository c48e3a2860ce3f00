"""Directories and files that only this user can access, whatever the umask is.

Files that Spark's JVM writes have the permissions of the umask. They are protected by their directory, which is created
here, and which no other user can enter.
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
    """Creates a directory and its missing parents. Existing ones are unchanged."""
    missing = []
    for each in (directory, *directory.parents):
        if each.is_dir():
            break
        missing.append(each)
    for each in reversed(missing):
        each.mkdir(mode=_DIRECTORY, exist_ok=True)  # one by one, because parents=True uses the umask


def private_directory(directory: Path) -> None:
    """Creates a directory that only this user can enter, or sets the permissions of an existing one."""
    make_directory(directory)
    if directory.stat().st_mode & _OTHERS:
        with contextlib.suppress(PermissionError):  # it belongs to another user, who grants access
            directory.chmod(_DIRECTORY)


def private_file(file: Path) -> BinaryIO:
    """Opens an empty file for writing."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), _FILE)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, _FILE)  # the file existed
    return os.fdopen(descriptor, "wb")


def is_trustworthy(path: Path) -> bool:
    """Whether only this user and root can have written the file at a path; True if the system has no users.

    Permissions of a file do not matter in a directory that no other user can enter. Java 25 uses the umask for files.
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
