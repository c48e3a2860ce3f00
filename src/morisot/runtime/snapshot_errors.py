"""What is said of a file of a snapshot that is not as it was written."""

from __future__ import annotations

from pathlib import Path

from morisot.errors import SnapshotError

START_ANEW = "restore the file from a backup, or start anew with restart=None"


def damaged(file: Path, why: str, *, advice: str = START_ANEW) -> SnapshotError:
    """A file that is not what was written."""
    return SnapshotError(f"{file} is damaged: {why}", advice=advice)


def missing(file: Path, *, advice: str = START_ANEW) -> SnapshotError:
    """A file that was written and is gone."""
    return SnapshotError(f"{file} is missing", advice=advice)
