"""What Spark keeps of a streaming query: its logs of offsets and commits, those of its sources, and its states.

A micro-batch has an entry in `offsets` when it starts (how far each source is to be read) and one in `commits` when it
is done. The states of operators are numbered one higher. A source that reads files lists them in a log of its own.

Spark reads some damaged checkpoints without a word: an entry of a source's log that is gone makes files new again, and
a file of a micro-batch that is done again may have changed. Others end in messages about its own classes. `check`
refuses them. Only what a resumed query needs is checked: the last micro-batch, the one before it, and what lists the
files that were read.
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
"""How a source that reads files says how far it is: by the number of an entry of its own log."""
_WATERMARK, _NEXT_WATERMARK, _TIME = "batchWatermarkMs", "nextBatchWatermarkMs", "batchTimestampMs"
_STATE_FILE = re.compile(r"(\d+)(_[\w-]+)?\.(zip|changelog|delta|snapshot)")
_VERSION = re.compile(rb"v?\d+\s")
_RESTORE_INPUT = "restore the file as it was, or start from scratch with restart=None"

FileLogs = Callable[[Sequence[Any]], list[tuple[Path, int]]]
"""The logs of the sources that read files, and how far each was read, by the offsets of a micro-batch."""


# -- micro-batches ----------------------------------------------------------------------------------------------------


def started(query: Path) -> list[int]:
    """The numbers of the micro-batches that were started."""
    return spark_log.numbers(query / _OFFSETS)


def done(query: Path) -> list[int]:
    """The numbers of the micro-batches that are committed."""
    return spark_log.numbers(query / _COMMITS)


def offsets(query: Path, number: int) -> list[Any]:
    """How far each source is read when a micro-batch is done."""
    return spark_log.lines(query / _OFFSETS / str(number))[1:]


def started_at(query: Path, number: int) -> datetime.datetime:
    """When a micro-batch was started."""
    return datetime.datetime.fromtimestamp(_metadata(query, number)[_TIME] / 1000, datetime.UTC)


def watermark(query: Path, number: int) -> int:
    """The watermark that a micro-batch is run with."""
    return int(_metadata(query, number)[_WATERMARK])


def _metadata(query: Path, number: int) -> Any:
    return spark_log.lines(query / _OFFSETS / str(number))[0]


def set_next_watermark(query: Path, number: int, mark: int) -> None:
    """Let the micro-batch after one that is done have a watermark: it is in the log of commits."""
    commit = query / _COMMITS / str(number)
    version, content = commit.read_text(encoding="utf-8").split("\n", 1)
    values = json.loads(content)
    values[_NEXT_WATERMARK] = mark
    (commit.parent / f".{commit.name}.crc").unlink(missing_ok=True)
    replace_text(commit, f"{version}\n{json.dumps(values)}")


def plan_empty_batch(query: Path) -> None:
    """Let a query that resumes begin with a micro-batch without elements, unless one is planned.

    It is as Spark would have planned it: the offsets of the last one, and the watermark that was found in it.
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
    """Forget the micro-batches after a number: their states, then their entries."""
    for file in spark_log.files_under(query / _STATES, lambda file: _state_version(file) > number + 1):
        spark_log.remove(file)
    spark_log.cut(query / _COMMITS, number)
    spark_log.cut(query / _OFFSETS, number)


def _state_version(file: Path) -> int:
    """The number of a file with a part of a state; -1 for other files."""
    found = _STATE_FILE.fullmatch(file.name)
    return int(found[1]) if found else -1


# -- sources ----------------------------------------------------------------------------------------------------------


def source_log(query: Path, number: int) -> Path:
    """The log of a source."""
    return query / _SOURCES / str(number)


def file_offset(offset: Any) -> int | None:
    """How far a source has read its log; None if it reads no files."""
    return int(offset[_FILE_OFFSET]) if isinstance(offset, dict) and _FILE_OFFSET in offset else None


def range_read(source: Mapping[str, Any]) -> tuple[int, int] | None:
    """The first and the last entry of its log that a source read in a micro-batch, by its progress report."""
    start, end = (json.loads(source[name] or "null") for name in ("startOffset", "endOffset"))
    last = file_offset(end)
    if last is None:
        return None
    before = file_offset(start)
    return 0 if before is None else before + 1, last


def files_read(log: Path, first: int, last: int) -> list[PurePosixPath]:
    """The files that some entries of a source's log list."""
    return [path_of(value["path"]) for value in spark_log.since(log, first, last)]


def number_of_files(log: Path) -> int:
    """How many files a source's log lists; 0 if entries are gone."""
    numbers = spark_log.numbers(log)
    entries = spark_log.reaching(log, numbers[-1]) if numbers else []
    return len({value["path"] for entry in entries or [] for value in spark_log.lines(entry)})


def path_of(address: str) -> PurePosixPath:
    """The path in the address of a file.

    >>> str(path_of("file:///data/one%20file.csv"))
    '/data/one file.csv'
    """
    return PurePosixPath(urllib.parse.unquote(urllib.parse.urlsplit(address).path))


# -- checks -----------------------------------------------------------------------------------------------------------


def check(query: Path, logs_of_files: FileLogs, *, ignored: Path, replays_input: bool) -> None:
    """Refuse a checkpoint from which Spark would not resume rightly.

    Files below `ignored` may be gone, those of a micro-batch that is done again must be as they were, unless the
    caller sees to that.
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


def _check_numbers(query: Path, begun: Sequence[int], ended: Sequence[int]) -> None:
    """Refuse gaps: what is done was started, and the last micro-batch that was started follows the last one done."""
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
        raise damaged(file, "it does not say how far the sources were read")
    return found


def _check_commit(file: Path) -> None:
    values = spark_log.lines(file)
    if len(values) != 1 or not isinstance(values[0], dict) or _NEXT_WATERMARK not in values[0]:
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
        file = Path(path_of(value["path"]))
        if urllib.parse.urlsplit(value["path"]).scheme != "file" or file.is_relative_to(ignored):
            continue
        said = f"{file}, which a micro-batch has read that is not committed,"
        try:
            changed = file.stat().st_mtime_ns // 10**6 != value["timestamp"]
        except FileNotFoundError:
            raise SnapshotError(f"{said} is gone", advice=_RESTORE_INPUT) from None
        if changed:
            raise SnapshotError(f"{said} was changed since", advice=_RESTORE_INPUT)
