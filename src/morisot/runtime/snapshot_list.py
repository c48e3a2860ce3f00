"""The snapshots in a directory, by their files. What a job can resume from, it checks itself when it starts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

from morisot.plan.snapshots import Snapshot

_LOOP = re.compile(r"snapshot-(\d+)-round-\d+")


def listed(directory: Path) -> list[Snapshot]:
    """The committed micro-batches, source splits and rounds, by job and number."""
    found = [*_of_queries(directory), *_of_loops(directory / "loops")]
    return sorted(found, key=lambda each: (each.of, each.id))


def _of_queries(directory: Path) -> Iterator[Snapshot]:
    for kind in ("streams", "bounded"):
        for commits in (directory / kind).rglob("spark/commits"):
            name = str(commits.parent.parent.relative_to(directory / kind))
            for file in commits.iterdir():
                if file.name.isdigit():
                    yield Snapshot(int(file.name), name, _made(file))


def _of_loops(directory: Path) -> Iterator[Snapshot]:
    for saved in directory.rglob("snapshot-*"):
        match = _LOOP.fullmatch(saved.name)
        if match:
            yield Snapshot(int(match[1]), saved.parent.name, _made(saved))


def _made(path: Path) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC)
