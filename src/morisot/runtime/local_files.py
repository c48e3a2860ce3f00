"""Files on this machine: the files of a path, and their text."""

from __future__ import annotations

import glob
import gzip
from pathlib import Path
from typing import TextIO

from morisot.plan.files import is_local


def local_files(path: str) -> list[str]:
    """The files of a path, sorted: a file, a directory's files, or a glob's; without hidden ones."""
    found = [Path(path)] if Path(path).exists() else list(map(Path, glob.glob(path)))  # noqa: PTH207 - absolute globs
    inside = [file for each in found if each.is_dir() for file in each.iterdir()]
    return sorted(str(file) for file in (*found, *inside) if file.is_file() and not file.name.startswith((".", "_")))


def only_directories(path: str) -> list[str]:
    """The names of the directories in a directory that has no files; empty if it has files, or nothing."""
    if not Path(path).is_dir() or local_files(path):
        return []
    return sorted(each.name for each in Path(path).iterdir() if each.is_dir() and not each.name.startswith((".", "_")))


def is_partitioned(path: str) -> bool:
    """Whether the names of subdirectories contain values of columns, which a list of files does not have."""
    inside = Path(path).iterdir() if is_local(path) and Path(path).is_dir() else ()
    return any("=" in each.name and each.is_dir() for each in inside)


def open_text(file: str, newline: str | None = None) -> TextIO:
    """A text file, decompressed if it is compressed."""
    if file.endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8", newline=newline)
    return Path(file).open(encoding="utf-8", newline=newline)
