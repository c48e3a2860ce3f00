"""The scratch directory of a supervisor, which holds the temporary files of all its processes.

A supervisor that is killed cannot remove it. The next one removes the directories whose owner has ended, and ends the
processes that have survived it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from morisot import processes
from morisot.private import private_file
from morisot.supervision.messages import SCRATCH_VARIABLE

_PREFIX = "morisot-run-"
_OWNER = "owner.json"


class RunDirectory:
    """The scratch directory of one supervisor."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self.describe()

    def describe(self, **entries: Any) -> None:
        """Writes who the owner is, and what others may know of it."""
        owner = {"pid": os.getpid(), "started": processes.start_time(os.getpid()), **entries}
        beside = self.path / f".{_OWNER}"
        with private_file(beside) as file:
            file.write(json.dumps(owner).encode())
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
    submit = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -Djava.io.tmpdir={directory}".strip()
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


def runs() -> Iterator[tuple[Path, dict[str, Any]]]:
    """The scratch directories of this user, and their owners."""
    for file in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_OWNER}"):
        with contextlib.suppress(OSError, ValueError):
            if file.lstat().st_uid == os.getuid():
                owner = json.loads(file.read_text(encoding="utf-8"))
                if isinstance(owner, dict) and isinstance(owner.get("pid"), int):
                    yield file.parent, owner


def remove_leftovers() -> list[Path]:
    """Ends the processes of dead supervisors, and removes their directories. Returns the directories."""
    dead = [path for path, owner in runs() if not processes.is_alive(owner["pid"], owner.get("started"))]
    for path in dead:
        for attempt in (each for each in path.iterdir() if each.name.isdigit()):
            processes.kill(processes.with_variable(SCRATCH_VARIABLE, str(attempt)))
        remove(path)
    return dead
