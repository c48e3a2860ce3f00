"""Snapshots of a stream loop: the offset in the source, and the values of kept names.

A directory has a file for each snapshot, and for `resume="continue"` a log of elements. Each file begins with a line of
JSON. Digests are compared before anything is unpickled.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import itertools
import json
import os
import pickle
import re
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from morisot.annotations.program import LoopCode
from morisot.errors import JobError, SnapshotError
from morisot.plan.snapshots import Snapshots
from morisot.private import private_directory, private_file
from morisot.runtime.faults import around

_FORMAT = 1
_RECORD = struct.Struct("<Q32s")
"""The length and the digest of a record."""
_ROWS = 1000
"""The records of a file of the log."""
_ADVICE = "start from scratch with restart=None, or remove the directory"


class PipelineSaves:
    """The snapshots of one run of a loop."""

    def __init__(self, settings: Snapshots, program: LoopCode, name: str, start: Any) -> None:
        self._settings = settings
        self._fingerprint = _fingerprint(program, start)
        self.directory = Path(settings.path).absolute() / "pipelines" / name
        self._log: BinaryIO | None = None
        self._log_rows = 0
        self._is_closed = False
        if settings.restart is None:
            self.remove()
        private_directory(self.directory)

    def latest(self) -> tuple[int, Any] | None:
        """The number and the content of the snapshot to resume from."""
        numbers = self._numbers("snapshot")
        if not numbers:
            return None
        wanted = self._settings.restart
        number = wanted if isinstance(wanted, int) else numbers[-1]
        if number not in numbers:
            known = ", ".join(map(str, numbers))
            raise SnapshotError(f"{self.directory} has no snapshot {number}: it has {known}", advice="name one of them")
        for later in (each for each in numbers if each > number):
            self._file("snapshot", later).unlink()
        return number, self._read("snapshot", number)

    def save(self, number: int, content: Any) -> None:
        """Writes a snapshot. It is complete when the file has its name."""
        with around("commit entry", number):
            self._write("snapshot", number, content)
        for old in self._numbers("snapshot")[: -self._settings.keep]:
            self._file("snapshot", old).unlink(missing_ok=True)

    def prepare(self, number: int, content: Any) -> None:
        """Writes what the snapshot will contain, before the stages commit."""
        self._write("prepared", number, content)

    def prepared(self, number: int) -> Any:
        """What was prepared under a number; None if nothing was."""
        return self._read("prepared", number) if self._file("prepared", number).exists() else None

    # -- the log ------------------------------------------------------------------------------------------------------

    def append(self, index: int, element: Any, head: Any) -> None:
        """Adds an element to the log, before the head reads the next one."""
        if self._is_closed:
            raise JobError("the run has ended, and its head has read one more element")
        with around("log append", index):
            if self._log is None or self._log_rows >= _ROWS:
                self._new_log(index)
            assert self._log is not None
            packed = pickle.dumps((element, head))
            self._log.write(_RECORD.pack(len(packed), hashlib.sha256(packed).digest()) + packed)
            self._log.flush()
            self._log_rows += 1

    def _new_log(self, index: int) -> None:
        self._close_log()
        self._log, self._log_rows = private_file(self._file("log", index)), 0
        self._log.write(json.dumps({"format": _FORMAT, "loop": self._fingerprint}).encode() + b"\n")

    def logged(self, done: int) -> Iterator[tuple[Any, Any]]:
        """The elements in the log after the first `done`. A record that is not complete was never read by a stage."""
        for first in self._numbers("log"):
            for index, found in enumerate(self._records(self._file("log", first)), first):
                if index >= done:
                    yield found

    def _records(self, file: Path) -> Iterator[tuple[Any, Any]]:
        with file.open("rb") as log:
            self._check_head(file, log.readline())
            while len(head := log.read(_RECORD.size)) == _RECORD.size:
                length, digest = _RECORD.unpack(head)
                packed = log.read(length)
                if len(packed) < length:
                    return
                if hashlib.sha256(packed).digest() != digest:
                    raise SnapshotError(f"{file} is damaged: a record does not have its digest", advice=_ADVICE)
                yield pickle.loads(packed)

    def trim(self, done: int) -> None:
        """Removes the files of the log whose elements are all done."""
        numbers = self._numbers("log")
        for first, following in itertools.pairwise(numbers):
            if following <= done:
                self._file("log", first).unlink(missing_ok=True)

    def close(self) -> None:
        """Called when the run has ended."""
        self._is_closed = True
        self._close_log()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
            self._log = None

    # -- files --------------------------------------------------------------------------------------------------------

    def remove(self) -> None:
        self._close_log()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _file(self, kind: str, number: int) -> Path:
        return self.directory / f"{kind}-{number:08}"

    def _numbers(self, kind: str) -> list[int]:
        found = (re.fullmatch(rf"{kind}-(\d+)", file.name) for file in self.directory.iterdir())
        return sorted(int(each[1]) for each in found if each is not None)

    def _write(self, kind: str, number: int, content: Any) -> None:
        packed = pickle.dumps(content)
        head = {"format": _FORMAT, "loop": self._fingerprint, "sha256": hashlib.sha256(packed).hexdigest()}
        file = self._file(kind, number)
        beside = file.with_name(f".{file.name}.writing")
        with private_file(beside) as out:
            out.write(json.dumps(head).encode() + b"\n" + packed)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(file)

    def _read(self, kind: str, number: int) -> Any:
        file = self._file(kind, number)
        head, _, packed = file.read_bytes().partition(b"\n")
        said = self._check_head(file, head)
        if said.get("sha256") != hashlib.sha256(packed).hexdigest():
            raise SnapshotError(f"{file} is damaged: its content does not have its digest", advice=_ADVICE)
        return pickle.loads(packed)

    def _check_head(self, file: Path, head: bytes) -> dict[str, Any]:
        """The first line of a file. Raises an error for a file of another loop."""
        said: dict[str, Any] = {}
        with contextlib.suppress(ValueError):
            said = json.loads(head)
        if "format" not in said:
            raise SnapshotError(f"{file} is damaged: its first line is not complete", advice=_ADVICE)
        if said["format"] != _FORMAT:
            raise SnapshotError(f"{file} has the format {said['format']}, and {_FORMAT} is read", advice=_ADVICE)
        if said.get("loop") != self._fingerprint:
            raise SnapshotError(
                f"{file} is of another program: the loop, what it iterates over, or the values before it have changed",
                advice=_ADVICE,
            )
        return said


def _fingerprint(program: LoopCode, start: Any) -> str:
    """A digest of the loop's text and of the values with which it starts."""
    text = ast.dump(program.loop.loop.node)
    return hashlib.sha256(text.encode() + repr(start).encode()).hexdigest()
