"""The log of an output directory, `_spark_metadata`: the files that the micro-batches of a query have written.

If a directory has a log, Spark reads only the listed files. A source of files reads them in the order of their times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from morisot.engines.spark.internals import spark_log
from morisot.engines.spark.internals.query_log import path_of
from morisot.private import private_directory
from morisot.runtime.atomic_files import replace_text
from morisot.runtime.snapshot_errors import damaged

_NAME = "_spark_metadata"
_VERSION, _ADDED = "v1", "add"


class LoggedFile(NamedTuple):
    """A file in the log."""

    name: str
    size: int | None
    is_added: bool
    """Spark also lists files that count as deleted."""


def log_in(directory: Path) -> Path:
    """The log of a directory."""
    return directory / _NAME


def listed(log: Path, least: int, *, advice: str) -> Iterator[LoggedFile]:
    """The files in a log. Raises an error if it does not reach a number, or an entry is damaged or missing."""
    for value in spark_log.everything(log, least):
        if not isinstance(value, dict) or not isinstance(value.get("path"), str):
            raise damaged(log, "an entry lists no file", advice=advice)
        is_added = value.get("action", _ADDED) == _ADDED
        yield LoggedFile(path_of(value["path"]).name, value.get("size"), is_added)


def prepare(directory: Path) -> None:
    """Creates the directory for `write`."""
    private_directory(log_in(directory))


def write(directory: Path, files: Iterable[tuple[str, int]], block_size: int) -> None:
    """Writes a log that lists files by their URIs and sizes, each a second older than the next."""
    entries = [_entry(file, size, second, block_size) for second, (file, size) in enumerate(files, start=1)]
    replace_text(log_in(directory) / "0", "\n".join([_VERSION, *map(json.dumps, entries)]))


def _entry(file: str, size: int, second: int, block_size: int) -> dict[str, Any]:
    return {
        "path": file,
        "size": size,
        "isDir": False,
        "modificationTime": second * 1000,
        "blockReplication": 1,
        "blockSize": block_size,
        "action": _ADDED,
    }
