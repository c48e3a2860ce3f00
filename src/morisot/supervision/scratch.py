"""The scratch directory of a supervisor, which holds the temporary files of all its processes.

A supervisor that is killed cannot remove it. The next one removes the directories whose owner has ended, and ends the
processes that have survived it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from morisot import processes
from morisot.private import private_file
from morisot.supervision.messages import SCRATCH_VARIABLE

_PREFIX = "morisot-run-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-(\w+)-\w+")
_OWNER = "owner.json"


class Owner(NamedTuple):
    """A process that owns a scratch directory."""

    pid: int
    started: str | None

    @property
    def is_alive(self) -> bool:
        return processes.is_alive(self.pid, self.started)


class RunDirectory:
    """The scratch directory of one supervisor. Its name has the owner, so it never is without one."""

    def __init__(self) -> None:
        pid = os.getpid()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{pid}-{processes.start_time(pid)}-"))

    def describe(self, **entries: Any) -> None:
        """Writes what others may know of the supervisor."""
        beside = self.path / f".{_OWNER}"
        with private_file(beside) as file:
            file.write(json.dumps(entries).encode())
        beside.replace(self.path / _OWNER)

    def of_attempt(self, number: int) -> Path:
        """A new directory for the temporary files of an attempt."""
        directory = self.path / str(number)
        directory.mkdir(mode=0o700)
        return directory

    def remove(self) -> None:
        remove(self.path)


def variables(directory: Path) -> dict[str, str]:
    """The environment that puts the temporary files of Python, Java and Spark into a directory."""
    # PerfDisableSharedMem: the JVM does not write /tmp/hsperfdata_…, which java.io.tmpdir does not move.
    java = f"-Djava.io.tmpdir={directory} -XX:+PerfDisableSharedMem"
    submit = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {java}".strip()
    return {
        SCRATCH_VARIABLE: str(directory),
        "TMPDIR": str(directory),
        "SPARK_LOCAL_DIRS": str(directory),
        "SPARK_SUBMIT_OPTS": submit,
    }


def remove(directory: Path) -> None:
    """Removes a directory. A process that ends at this moment may still write to it."""
    for _ in range(3):
        shutil.rmtree(directory, ignore_errors=True)
        if not directory.exists():
            return


def runs() -> Iterator[tuple[Path, Owner]]:
    """The scratch directories of this user, and their owners."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        named = _NAME.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if named is not None and path.lstat().st_uid == os.getuid():
                yield path, Owner(int(named[1]), None if named[2] == "None" else named[2])


def control_of(path: Path) -> Path:
    """The directory of the control socket of the supervisor that owns a scratch directory."""
    with contextlib.suppress(OSError, ValueError):
        return Path(json.loads((path / _OWNER).read_text(encoding="utf-8"))["control"])
    return path


def remove_leftovers() -> list[Path]:
    """Ends the processes of dead supervisors, and removes their directories. Returns the directories."""
    dead = [path for path, owner in runs() if not owner.is_alive]
    for path in dead:
        for attempt in (each for each in path.iterdir() if each.name.isdigit()):
            processes.kill(processes.with_variable(SCRATCH_VARIABLE, str(attempt)))
        remove(path)
    return dead
