"""Channel files: elements that a program sends are stored in files, so that several queries can read and replay them.

A thread writes new elements into the next file, in the order in which they were sent. Queries report the files that
they have processed. A file is removed when all queries have processed it, and no snapshot needs it any more.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from morisot.engines.spark.checkpoints.snapshot_files import check_format
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.errors import MorisotError, PlanError, SinkError
from morisot.private import private_directory
from morisot.runtime.atomic_files import write_table
from morisot.runtime.snapshot_errors import damaged
from morisot.types.element import Type
from morisot.worker.codec.batches import encode, schema_of

_FORMAT = 1
"""The format number of files, in their metadata."""
_MARK = b"morisot.format"
_MOST_ROWS = 100_000
"""The most elements of a file."""
_CHECK_SECONDS = 0.2


class ChannelFiles:
    """The files of one channel, or of one socket."""

    def __init__(self, directory: Path, type_: Type, capacity: int, *, keep: int | None = None) -> None:
        self.directory = str(directory)
        self.rows_per_file: int | None = None
        """The most elements of a file, if a query reads one file at a time; None: it reads all that there are."""
        self.closed = False
        self.problem: MorisotError | None = None
        """The error that ended the input, with which the jobs that read it should fail."""
        self._path = directory
        self._type = type_
        self._capacity = capacity
        self._keep = keep
        """The number of micro-batches of each reader that may be replayed; None: files are removed with the job."""
        self._changed = threading.Condition()
        self._unwritten: deque[Any] = deque()
        self._counts: dict[str, int] = {}
        """The number of elements of each file that is not processed."""
        self._done: dict[str, deque[set[str]]] = {}
        """The files that each reader has processed, by micro-batch."""
        self._expected: set[str] = set()
        """The queries that read, or are about to read."""
        self._failure: Exception | None = None
        self._clock = 0
        private_directory(directory)
        self._adopt()
        self._writer: threading.Thread | None = None

    def _adopt(self) -> None:
        """Takes over the files of an earlier run."""
        files = sorted(self._path.glob("*.parquet"))
        self._counts = {file.name: _rows_in(file) for file in files}
        self._number = int(files[-1].stem) + 1 if files else 0
        self._clock = max((file.stat().st_mtime_ns // 10**6 for file in files), default=0)

    # -- called by senders -------------------------------------------------------------------------------------------

    def put(self, elements: Iterable[Any]) -> None:
        """Adds elements. Blocks while the backlog is too large."""
        for element in elements:
            with self._changed:
                while self._is_full():
                    self._refuse_without_reader()
                    self._changed.wait(_CHECK_SECONDS)
                self._refuse_closed()
                self._unwritten.append(element)
                self._start()
                self._changed.notify_all()

    def _is_full(self) -> bool:
        backlog = len(self._unwritten) + sum(self._counts.values())
        return backlog >= self._capacity and not self.closed and self._failure is None

    def _refuse_without_reader(self) -> None:
        if not self._done:
            raise PlanError(
                f"{self._capacity} elements were sent into a channel that no job reads yet",
                advice="call ctx.start() before you send so many, or give stream_channel(…) a larger capacity=",
            )

    def _refuse_closed(self) -> None:
        if self._failure is not None:
            raise SinkError(f"sent elements cannot be written to {self.directory}: {self._failure}")
        if self.closed:
            raise PlanError("the channel is closed: nothing can be sent any more")

    @property
    def backlog(self) -> int:
        """The number of elements that were sent and are not processed."""
        with self._changed:
            return len(self._unwritten) + sum(self._counts.values())

    @property
    def oldest(self) -> float | None:
        """The time of the oldest file that is not processed."""
        with self._changed:
            first = next(iter(self._counts), None)
        if first is None:
            return None
        try:
            return (self._path / first).stat().st_mtime
        except FileNotFoundError:  # it was processed and removed meanwhile
            return None

    def flush(self) -> None:
        """Waits until all sent elements are in files."""
        with self._changed:
            while self._unwritten and self._failure is None:
                self._changed.wait(_CHECK_SECONDS)
            if self._failure is not None:
                self._refuse_closed()

    def close(self) -> None:
        """Ends the channel."""
        self.flush()
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    # -- the writing thread -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="morisot-channel", daemon=True)
            self._writer.start()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._unwritten:
                    if self.closed:
                        self._writer = None  # a later sender starts another thread
                        return
                    self._changed.wait(_CHECK_SECONDS)
                size = min(len(self._unwritten), self.rows_per_file or _MOST_ROWS)
                elements = [self._unwritten[index] for index in range(size)]
            try:
                name = self._write_file(elements)
            except Exception as error:  # senders get the error
                with self._changed:
                    self._failure = error
                    self._changed.notify_all()
                return
            with self._changed:
                self._counts[name] = size
                for _ in range(size):
                    self._unwritten.popleft()
                self._changed.notify_all()

    def _write_file(self, elements: list[Any]) -> str:
        """Writes a file atomically, with a later time than the one before, because Spark reads files by their times."""
        name = f"{self._number:012}.parquet"
        beside = self._path / f".{name}.writing"
        schema = schema_of(self._type).with_metadata({_MARK: b"%d" % _FORMAT})
        table = pa.Table.from_arrays(encode(elements, self._type, dumps), schema=schema)
        write_table(table, beside)
        self._clock = max(self._clock + 1, time.time_ns() // 10**6)
        os.utime(beside, ns=(self._clock * 10**6,) * 2)
        beside.rename(self._path / name)
        self._number += 1
        return name

    def add_end(self) -> None:
        """Writes a file without elements for a last micro-batch. It is not part of the backlog."""
        with self._changed:
            self._write_file([])

    def limit(self, rows: int | None) -> None:
        """Limits the elements of new files, because a query reads at most that many at a time."""
        if rows is not None:
            with self._changed:
                self.rows_per_file = min(rows, self.rows_per_file or rows)

    # -- called by queries --------------------------------------------------------------------------------------------

    def expect(self, reader: str) -> None:
        """Registers a query that is about to read: no file is removed before it does."""
        with self._changed:
            self._expected.add(reader)

    def attach(self, reader: str, done: Iterable[str] = ()) -> None:
        """Called when a query starts to read. `done` are files that it has processed in an earlier run."""
        with self._changed:
            self._done[reader] = deque([set(done)])
            self._remove_processed()

    def take_note(self, reader: str, files: Iterable[str]) -> None:
        """Called when a query has committed a micro-batch with these files."""
        with self._changed:
            self._done[reader].append(set(files))
            self._remove_processed()

    def detach(self, reader: str) -> None:
        """Called when a query has ended, or did not start: files are not retained for it any more."""
        with self._changed:
            self._done.pop(reader, None)
            self._expected.discard(reader)
            self._remove_processed()
            self._changed.notify_all()

    def is_drained(self, reader: str) -> bool:
        """Whether the channel is closed, and the query has processed all elements."""
        with self._changed:
            done = set().union(*self._done.get(reader, ()))
            return self.closed and not self._unwritten and self._counts.keys() <= done

    def _remove_processed(self) -> None:
        """Removes the files that all readers have processed and will not replay."""
        if not self._done or not self._expected <= self._done.keys():
            return
        for name in set.intersection(*(set().union(*batches) for batches in self._done.values())):
            self._counts.pop(name, None)
        retained = 0 if self._keep is None else self._keep + 1  # the current micro-batch is not a snapshot yet
        old = [set().union(*list(batches)[: max(0, len(batches) - retained)]) for batches in self._done.values()]
        for name in set.intersection(*old):
            (self._path / name).unlink(missing_ok=True)
            for batches in self._done.values():
                for batch in batches:
                    batch.discard(name)
        for batches in self._done.values():
            while len(batches) > 1 and not batches[0]:
                batches.popleft()
        self._changed.notify_all()

    def remove(self) -> None:
        """Called when the context ends. Without snapshots the files are removed."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        if self._keep is None:
            shutil.rmtree(self._path, ignore_errors=True)


def _rows_in(file: Path) -> int:
    """The number of elements of a file of an earlier run."""
    try:
        metadata = pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        raise damaged(file, "it is not a Parquet file") from None
    found = (metadata.metadata or {}).get(_MARK, b"").decode(errors="replace")
    check_format(file, int(found) if found.isdecimal() else None, _FORMAT)
    return int(metadata.num_rows)
