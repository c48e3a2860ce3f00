"""Errors for files of a snapshot that are damaged or missing."""

from __future__ import annotations

from pathlib import Path

from morisot.errors import SnapshotError

START_OVER = "restore the file from a backup, or start from scratch with restart=None"


def damaged(file: Path, why: str, *, advice: str = START_OVER) -> SnapshotError:
    """The error for a file with other content than was written."""
    return SnapshotError(f"{file} is damaged: {why}", advice=advice)


def missing(file: Path, *, advice: str = START_OVER) -> SnapshotError:
    """The error for a file that was written and does not exist."""
    return SnapshotError(f"{file} is missing", advice=advice)
