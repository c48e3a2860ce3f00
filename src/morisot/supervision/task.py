"""What a supervisor runs: a program, its arguments and its settings."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from morisot.errors import SnapshotError

SKIPPED = "skipped.jsonl"
_SAVED = ("streams", "loops", "bounded", "channels", "sockets")
"""The directories of snapshots."""


@dataclass(frozen=True)
class SupervisedTask:
    """A program with the settings of its command line, which win over those in its code."""

    target: str
    """A path, or `module:function`."""
    arguments: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of `Config`."""
    snapshots: dict[str, Any] = field(default_factory=dict)
    """Settings of `Snapshots`."""
    report: str | None = None
    """The file of the report; None: in the snapshot directory."""
    clear: bool = False
    """Whether earlier snapshots are removed before the first attempt."""
    configured: str | None = None
    """The snapshot directory of the environment or the settings file, which the code of the program may replace."""

    @property
    def directory(self) -> Path | None:
        """The snapshot directory, if the command line gives it."""
        path = self.snapshots.get("path")
        return None if path is None else Path(path).absolute()

    @property
    def cleared(self) -> Path | None:
        """The directory whose snapshots `clear` removes."""
        return self.directory or (None if self.configured is None else Path(self.configured))

    @property
    def missing(self) -> str | None:
        """What the program lacks to start at all."""
        file = self.target.rpartition(":")[0] or self.target
        if (file.endswith(".py") or ":" not in self.target) and not Path(file).is_file():
            return f"there is no program {file}"
        return None


def clear(directory: Path) -> None:
    """Removes the snapshots in a directory. Raises an error if a program writes them."""
    lock = directory / "owner.lock"
    if lock.exists():
        descriptor = os.open(lock, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SnapshotError(
                f"the snapshots in {directory} are in use", advice="stop the program that uses them"
            ) from None
        finally:
            os.close(descriptor)
    for name in _SAVED:
        shutil.rmtree(directory / name, ignore_errors=True)
    (directory / SKIPPED).unlink(missing_ok=True)


def add_skipped(file: Path, element: tuple[str, ...]) -> None:
    """Adds an element to those that are skipped."""
    entry = dict(zip(("operator", "line", "element"), element, strict=True))
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as out:
        out.write(json.dumps(entry) + "\n")
        out.flush()
        os.fsync(out.fileno())


def as_json(task: SupervisedTask) -> str:
    return json.dumps(dataclasses.asdict(task))
