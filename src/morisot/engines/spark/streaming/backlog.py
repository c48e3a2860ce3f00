"""The backlog of a job: elements of channels and files of followed directories that it has not read yet."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from morisot.engines.spark.checkpoints.query import Checkpoint
from morisot.engines.spark.streaming.channel_files import ChannelFiles
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import PathSource
from morisot.runtime.local_files import local_files
from morisot.runtime.metrics import BacklogMetrics


def backlog(nodes: Iterable[Node], channels: Sequence[ChannelFiles], checkpoint: Checkpoint) -> BacklogMetrics:
    """The backlog of a query, and the age of its oldest entry."""
    files = [file for path in _followed(nodes) for file in _unread(path, checkpoint)]
    since = [moment for channel in channels if (moment := channel.oldest) is not None]
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            since.append(file.stat().st_mtime)
    return {
        "waiting": sum(channel.backlog for channel in channels),
        "waiting_files": len(files),
        "lag_seconds": max(0.0, time.time() - min(since)) if since else 0.0,
    }


def _followed(nodes: Iterable[Node]) -> list[str]:
    """The followed directories of this machine. Listing remote ones would be too expensive."""
    sources = [node for node in nodes if isinstance(node, PathSource) and not node.bounded and node.listed is None]
    return list(dict.fromkeys(source.path for source in sources if is_local(source.path)))


def _unread(directory: str, checkpoint: Checkpoint) -> list[Path]:
    done = checkpoint.files_read(os.path.abspath(directory))  # noqa: PTH100 - as in Spark's log, with links
    return [file for file in map(Path, local_files(directory)) if file.name not in done]
