"""Paths of files, for all engines. runtime/local_files.py lists files."""

from __future__ import annotations


def is_local(path: str) -> bool:
    """Whether a path is on this machine's file system. Spark resolves other paths."""
    return "://" not in path
