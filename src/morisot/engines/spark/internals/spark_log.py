"""The numbered logs of Spark's streaming queries in directories, read and truncated without Spark.

An entry is a file named by its number. Some are named `<number>.compact`, and contain everything up to that number; the
entries before are removed some minutes later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from morisot.runtime.snapshot_errors import damaged, missing

_ENTRY = re.compile(r"(\d+)(\.compact)?")
_VERSION = re.compile(r"v\d+")
_BLOCK = 2**16


def numbers(directory: Path) -> list[int]:
    """The numbers of the existing entries."""
    return sorted(_entries(directory))


def _entries(directory: Path) -> dict[int, Path]:
    if not directory.is_dir():
        return {}
    found = ((_ENTRY.fullmatch(file.name), file) for file in directory.iterdir())
    return {int(match[1]): file for match, file in found if match}


def lines(file: Path) -> list[Any]:
    """The lines of an entry: a version, then a JSON value on each line; a dash for a source without an offset."""
    try:
        version, *values = file.read_text(encoding="utf-8").splitlines() or [""]
        found = [None if value == "-" else json.loads(value) for value in values if value]
    except ValueError:  # neither text nor JSON
        raise damaged(file, "it is not an entry of a Spark log") from None
    if not _VERSION.fullmatch(version):
        raise damaged(file, "it is empty" if not version else "it is not an entry of a Spark log")
    return found


def reaching(directory: Path, number: int) -> list[Path] | None:
    """The entries that together have everything up to a number; None if some of them are missing."""
    entries = _entries(directory)
    needed: list[Path] = []
    for each in range(number, -1, -1):
        if each not in entries:
            return None
        needed.append(entries[each])
        if entries[each].suffix == ".compact":
            break
    return needed[::-1]


def since(directory: Path, first: int, last: int) -> list[Any]:
    """The values of the entries from one number to another, if each value has the `batchId` of its entry."""
    while True:
        try:
            return _since(directory, first, last)
        except FileNotFoundError:  # it was compacted meanwhile: a later entry has its values
            continue


def _since(directory: Path, first: int, last: int) -> list[Any]:
    entries = _entries(directory)
    if all(each in entries for each in range(first, last + 1)):
        return [value for each in range(first, last + 1) for value in _own_lines(entries[each], each)]
    everything = reaching(directory, max(entries)) if entries else None
    values = (value for entry in everything or [] for value in lines(entry))
    return [value for value in values if first <= value["batchId"] <= last]


def _own_lines(entry: Path, number: int) -> list[Any]:
    """The own values of an entry. A compacted entry has them at its end."""
    return list(_last_lines(entry, number))[::-1] if entry.suffix == ".compact" else lines(entry)


def _last_lines(compact: Path, number: int) -> Iterator[Any]:
    """The values with the number of the entry, the last one first."""
    with compact.open("rb") as file:
        end, rest = file.seek(0, 2), b""
        while end:
            begin = max(0, end - _BLOCK)
            file.seek(begin)
            head, *whole = (file.read(end - begin) + rest).split(b"\n")
            for line in filter(None, reversed(whole)):
                value = _value(line, compact)
                if value["batchId"] < number:
                    return
                yield value
            end, rest = begin, head  # the first line may be incomplete; the first line of the file is the version


def _value(line: bytes, file: Path) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise damaged(file, "it is not an entry of a Spark log") from None


def entry(directory: Path, number: int) -> Path:
    """The file of an entry, which may be compacted. Raises an error if it is missing."""
    found = _entries(directory).get(number)
    if found is None:
        raise missing(directory / str(number))
    return found


def everything(directory: Path, least: int) -> list[Any]:
    """All values of a log. Raises an error if it does not reach a number, or an entry is damaged or missing."""
    last = max(max(_entries(directory), default=-1), least)
    needed: list[Path] = []
    for each in range(last, -1, -1):
        needed.append(entry(directory, each))
        if needed[-1].suffix == ".compact":
            break
    return [value for file in reversed(needed) for value in lines(file)]


def cut(directory: Path, number: int) -> None:
    """Removes the entries after a number, the last one first."""
    for each, file in sorted(_entries(directory).items(), reverse=True):
        if each > number:
            remove(file)


def remove(file: Path) -> None:
    """Removes a file and its Hadoop checksum file."""
    file.unlink(missing_ok=True)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def files_under(directory: Path, wanted: Callable[[Path], bool]) -> Iterator[Path]:
    """The files below a directory for which `wanted` holds."""
    return (file for file in sorted(directory.rglob("*")) if file.is_file() and wanted(file))
