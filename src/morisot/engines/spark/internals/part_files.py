"""The files that Spark writes into a directory, a few for each task, and what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NAME = re.compile(r"part-(\d+)-.*?(?:c(\d+))?\.\w+\.parquet")
"""The number of the partition, and of the file among those of the partition."""


def all_in(directory: Path) -> Iterable[Path]:
    """The files of results that a directory holds."""
    return directory.glob("part-*")


def in_row_order(directory: Path) -> list[Path]:
    """The Parquet files of a directory in the order of the rows that they hold."""
    found = ((_NAME.fullmatch(file.name), file) for file in all_in(directory))
    ordered = sorted((int(match[1]), int(match[2] or 0), file) for match, file in found if match)
    return [file for _, _, file in ordered]
