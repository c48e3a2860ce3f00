"""The checkpoint files of Spark's streaming queries: logs of offsets and commits, logs of sources, and states.

A micro-batch has an entry in `offsets` when it starts (the end offset of each source) and one in `commits` when it is
committed. The states of operators are numbered one higher. A source of files lists them in a log of its own.

Spark reads some damaged checkpoints without an error: files of a missing entry of a source's log are read again, and
an input file of a replayed micro-batch may have changed. Other damage leads to messages about Spark's classes. `check`
raises errors for both. Only what a resumed query needs is checked: the last micro-batch, the one before it, and the
lists of files that were read.
"""

from __future__ import annotations

import datetime
import json
import re
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from morisot.engines.spark.internals import spark_log
from morisot.errors import SnapshotError
from morisot.runtime.atomic_files import replace_text
from morisot.runtime.snapshot_errors import damaged, missing

_OFFSETS, _COMMITS, _SOURCES, _STATES, _METADATA = "offsets", "commits", "sources", "state", "metadata"
_FILE_OFFSET = "logOffset"
"""The key of the offset of a file source: the number of an entry of its log."""
_WATERMARK, _NEXT_WATERMARK, _TIME = "batchWatermarkMs", "nextBatchWatermarkMs", "batchTimestampMs"
_SETTINGS, _PARTITIONS = "conf", "spark.sql.shuffle.partitions"
_STATE_FILE = re.compile(r"(\d+)(_[\w-]+)?\.(zip|changelog|delta|snapshot)")
_VERSION = re.compile(rb"v?\d+\s")
_RESTORE_INPUT = "restore the file as it was, or start from scratch with restart=None"

FileLogs = Callable[[Sequence[Any]], list[tuple[Path, int]]]
"""Returns the logs of the file sources, and the offset of each, for the offsets of a micro-batch."""


# -- micro-batches ----------------------------------------------------------------------------------------------------


def started(query: Path) -> list[int]:
    """The numbers of the micro-batches that were started."""
    return spark_log.numbers(query / _OFFSETS)


def done(query: Path) -> list[int]:
    """The numbers of the committed micro-batches."""
    return spark_log.numbers(query / _COMMITS)


def offsets(query: Path, number: int) -> list[Any]:
    """The end offset of each source in a micro-batch."""
    return spark_log.lines(query / _OFFSETS / str(number))[1:]


def started_at(query: Path, number: int) -> datetime.datetime:
    """When a micro-batch was started."""
    return datetime.datetime.fromtimestamp(_metadata(query, number)[_TIME] / 1000, datetime.UTC)


def watermark(query: Path, number: int) -> int:
    """The watermark of a micro-batch."""
    return int(_metadata(query, number)[_WATERMARK])


def partitions(query: Path, number: int) -> int | None:
    """The number of state partitions in a micro-batch; None if there are no stateful operators."""
    states = query / _STATES
    if not states.is_dir() or not any(each.name.isdigit() for each in states.iterdir()):
        return None
    found = _metadata(query, number).get(_SETTINGS, {}).get(_PARTITIONS)
    return None if found is None else int(found)


def _metadata(query: Path, number: int) -> Any:
    return spark_log.lines(query / _OFFSETS / str(number))[0]


def set_next_watermark(query: Path, number: int, watermark_ms: int) -> None:
    """Sets the watermark of the micro-batch after a committed one, in the log of commits."""
    commit = query / _COMMITS / str(number)
    version, content = commit.read_text(encoding="utf-8").split("\n", 1)
    values = json.loads(content)
    values[_NEXT_WATERMARK] = watermark_ms
    (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)
    replace_text(commit, f"{version}\n{json.dumps(values)}")


def plan_empty_batch(query: Path) -> None:
    """Plans a micro-batch without elements for a query that resumes, unless a micro-batch is planned.

    It is planned as Spark does it: with the offsets of the last one, and the watermark that resulted from it.
    """
    ended = done(query)
    if not ended or started(query)[-1] != ended[-1]:
        return
    version, metadata, *sources = (query / _OFFSETS / str(ended[-1])).read_text(encoding="utf-8").split("\n")
    found: dict[str, Any] = json.loads(metadata)
    found[_WATERMARK] = spark_log.lines(query / _COMMITS / str(ended[-1]))[0][_NEXT_WATERMARK]
    found[_TIME] = time.time_ns() // 10**6
    replace_text(query / _OFFSETS / str(ended[-1] + 1), "\n".join([version, json.dumps(found), *sources]))


def cut(query: Path, number: int) -> None:
    """Removes the micro-batches after a number: their states, then their entries."""
    for file in spark_log.files_under(query / _STATES, lambda file: _state_version(file) > number + 1):
        spark_log.remove(file)
    spark_log.cut(query / _COMMITS, number)
    spark_log.cut(query / _OFFSETS, number)


def _state_version(file: Path) -> int:
    """The version of a state file; -1 for other files."""
    found = _STATE_FILE.fullmatch(file.name)
    return int(found[1]) if found else -1


# -- sources ----------------------------------------------------------------------------------------------------------


def source_log(query: Path, number: int) -> Path:
    """The log of a source."""
    return query / _SOURCES / str(number)


def file_offset(offset: Any) -> int | None:
    """The position of a file source in its log; None for other sources."""
    return int(offset[_FILE_OFFSET]) if isinstance(offset, dict) and _FILE_OFFSET in offset else None


def range_read(source: Mapping[str, Any]) -> tuple[int, int] | None:
    """The first and the last log entry that a source read in a micro-batch, from its progress report."""
    start, end = (json.loads(source[name] or "null") for name in ("startOffset", "endOffset"))
    last = file_offset(end)
    if last is None:
        return None
    before = file_offset(start)
    return 0 if before is None else before + 1, last


def files_read(log: Path, first: int, last: int) -> list[PurePosixPath]:
    """The files in some entries of a source's log."""
    return [path_of(value["path"]) for value in spark_log.since(log, first, last)]


def number_of_files(log: Path) -> int:
    """The number of files in a source's log; 0 if entries are missing."""
    numbers = spark_log.numbers(log)
    entries = spark_log.reaching(log, numbers[-1]) if numbers else []
    return len({value["path"] for entry in entries or [] for value in spark_log.lines(entry)})


def path_of(address: str) -> PurePosixPath:
    """The path of the URI of a file.

    >>> str(path_of("file:///data/one%20file.csv"))
    '/data/one file.csv'
    """
    return PurePosixPath(urllib.parse.unquote(urllib.parse.urlsplit(address).path))


# -- checks -----------------------------------------------------------------------------------------------------------


def check(query: Path, logs_of_files: FileLogs, *, ignored: Path, replays_input: bool) -> None:
    """Raises an error for a checkpoint from which Spark would not resume correctly.

    Files below `ignored` may be missing. Input files of a micro-batch that is replayed must be unchanged, unless the
    caller ensures it.
    """
    begun, ended = started(query), done(query)
    if not begun and not ended:
        return
    _check_metadata(query / _METADATA)
    _check_numbers(query, begun, ended)
    last = begun[-1]
    reached = {number: _checked_offsets(query, number) for number in {max(0, last - 1), last}}
    if ended:
        _check_commit(spark_log.entry(query / _COMMITS, ended[-1]))
    for log, number in logs_of_files(reached[last]):
        _check_files(log, spark_log.everything(log, number))
    for file in spark_log.files_under(query / _SOURCES, _is_shown):
        _check_version(file)
    for metadata in sorted((query / _STATES).glob("*/_metadata")):
        for file in spark_log.files_under(metadata, _is_shown):
            spark_log.lines(file)
    if replays_input and (not ended or ended[-1] < last):
        before = dict(logs_of_files(reached[last - 1])) if last else {}
        for log, number in logs_of_files(reached[last]):
            _check_input(spark_log.since(log, before.get(log, -1) + 1, number), ignored)


def _is_shown(file: Path) -> bool:
    """Whether a file is an entry, and not a checksum of Hadoop or a temporary file."""
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


def _check_numbers(query: Path, begun: Sequence[int], ended: Sequence[int]) -> None:
    """Raises an error for gaps: the last started micro-batch is the last committed one or the next."""
    if ended and (not begun or begun[-1] < ended[-1]):
        raise missing(query / _OFFSETS / str(ended[-1]))
    last = begun[-1]
    if last and last - 1 not in begun:
        raise missing(query / _OFFSETS / str(last - 1))
    if last > 1 and (not ended or ended[-1] < last - 1):
        raise missing(query / _COMMITS / str(last - 1))


def _checked_offsets(query: Path, number: int) -> list[Any]:
    file = spark_log.entry(query / _OFFSETS, number)
    metadata, *found = spark_log.lines(file) or [None]
    if not isinstance(metadata, dict) or _WATERMARK not in metadata or not found:
        raise damaged(file, "it does not have the offsets of the sources")
    return found


def _check_commit(file: Path) -> None:
    values = spark_log.lines(file)
    if len(values) != 1 or not isinstance(values[0], dict) or _NEXT_WATERMARK not in values[0]:
        raise damaged(file, "it does not have the watermark")


def _check_files(log: Path, values: Iterable[Any]) -> None:
    for value in values:
        if not isinstance(value, dict) or not {"path", "timestamp", "batchId"} <= value.keys():
            raise damaged(log, "an entry lists no file")


def _check_version(file: Path) -> None:
    with file.open("rb") as content:
        if not _VERSION.match(content.read(16)):
            raise damaged(file, "it is not an entry of a Spark log")


def _check_input(values: Iterable[Any], ignored: Path) -> None:
    """Raises an error if an input file of a replayed micro-batch is missing or changed: the output would differ."""
    for value in values:
        file = Path(path_of(value["path"]))
        if urllib.parse.urlsplit(value["path"]).scheme != "file" or file.is_relative_to(ignored):
            continue
        said = f"{file}, an input of a micro-batch that is not committed,"
        try:
            changed = file.stat().st_mtime_ns // 10**6 != value["timestamp"]
        except FileNotFoundError:
            raise SnapshotError(f"{said} is missing", advice=_RESTORE_INPUT) from None
        if changed:
            raise SnapshotError(f"{said} was changed", advice=_RESTORE_INPUT)
