"""What Spark keeps of a streaming query, checked before a query resumes from it.

Spark reads some damaged checkpoints without a word: an entry of a source's log that is gone makes files new again, and
a file of a micro-batch that is done again may have changed. Others end in messages about its own classes. Only what
a resumed query needs is checked: the last micro-batch, the one before it, and what lists the files that were read.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from morisot.engines.spark.checkpoints.snapshot_files import damaged, missing
from morisot.engines.spark.internals import spark_log
from morisot.errors import SnapshotError

FILE_OFFSET = "logOffset"
"""How a source that reads files says how far it is: by the number of an entry of its own log."""
_VERSION = re.compile(rb"v?\d+\s")
_RESTORE_INPUT = "restore the file as it was, or start anew with restart=None"

FileLogs = Callable[[Sequence[Any]], list[tuple[Path, int]]]
"""The logs of the sources that read files, and how far each was read, by the offsets of a micro-batch."""


def check(spark: Path, logs_of_files: FileLogs, *, ignored: Path, replays_input: bool) -> None:
    """Refuse a checkpoint from which Spark would not resume rightly.

    Files below `ignored` may be gone, those of a micro-batch that is done again must be as they were, unless the
    caller sees to that.
    """
    started, done = spark_log.numbers(spark / "offsets"), spark_log.numbers(spark / "commits")
    if not started and not done:
        return
    _check_metadata(spark / "metadata")
    _check_numbers(spark, started, done)
    last = started[-1]
    offsets = {number: _offsets(spark, number) for number in {max(0, last - 1), last}}
    if done:
        _check_commit(spark_log.entry(spark / "commits", done[-1]))
    for log, reached in logs_of_files(offsets[last]):
        _check_files(log, spark_log.everything(log, reached))
    for file in spark_log.files_under(spark / "sources", _is_shown):
        _check_version(file)
    for metadata in sorted((spark / "state").glob("*/_metadata")):
        for file in spark_log.files_under(metadata, _is_shown):
            spark_log.lines(file)
    if replays_input and (not done or done[-1] < last):
        before = dict(logs_of_files(offsets[last - 1])) if last else {}
        for log, reached in logs_of_files(offsets[last]):
            _check_input(spark_log.since(log, before.get(log, -1) + 1, reached), ignored)


def _is_shown(file: Path) -> bool:
    """Whether a file is an entry, and not a checksum of Hadoop's, or one that is being written."""
    return not file.name.startswith(".")


def _check_metadata(file: Path) -> None:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise missing(file) from None
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        raise damaged(file, "it does not have the identity of a query")


def _check_numbers(spark: Path, started: Sequence[int], done: Sequence[int]) -> None:
    """Refuse gaps: what is done was started, and the last micro-batch that was started follows the last one done."""
    offsets, commits = spark / "offsets", spark / "commits"
    if done and (not started or started[-1] < done[-1]):
        raise missing(offsets / str(done[-1]))
    last = started[-1]
    if last and last - 1 not in started:
        raise missing(offsets / str(last - 1))
    if last > 1 and (not done or done[-1] < last - 1):
        raise missing(commits / str(last - 1))


def _offsets(spark: Path, number: int) -> list[Any]:
    file = spark_log.entry(spark / "offsets", number)
    metadata, *offsets = spark_log.lines(file) or [None]
    if not isinstance(metadata, dict) or "batchWatermarkMs" not in metadata or not offsets:
        raise damaged(file, "it does not say how far the sources were read")
    return offsets


def _check_commit(file: Path) -> None:
    values = spark_log.lines(file)
    if len(values) != 1 or not isinstance(values[0], dict) or "nextBatchWatermarkMs" not in values[0]:
        raise damaged(file, "it does not say how far time is")


def _check_files(log: Path, values: Iterable[Any]) -> None:
    for value in values:
        if not isinstance(value, dict) or not {"path", "timestamp", "batchId"} <= value.keys():
            raise damaged(log, "an entry lists no file")


def _check_version(file: Path) -> None:
    with file.open("rb") as content:
        if not _VERSION.match(content.read(16)):
            raise damaged(file, "it is not an entry of a log of Spark's")


def _check_input(values: Iterable[Any], ignored: Path) -> None:
    """Refuse a file of a micro-batch that is done again if it is gone or changed: the output would be another."""
    for value in values:
        parts = urllib.parse.urlsplit(value["path"])
        file = Path(urllib.parse.unquote(parts.path))
        if parts.scheme != "file" or file.is_relative_to(ignored):
            continue
        said = f"{file}, which a micro-batch has read that is not committed,"
        try:
            changed = file.stat().st_mtime_ns // 10**6 != value["timestamp"]
        except FileNotFoundError:
            raise SnapshotError(f"{said} is gone", advice=_RESTORE_INPUT) from None
        if changed:
            raise SnapshotError(f"{said} was changed since", advice=_RESTORE_INPUT)
