"""What a program sends into a stream waits in files: it can be read again, and by several queries.

A thread writes what was sent since it last looked into a file of its own, in the order it was sent. Queries say which
files they have done; when all of them have, a file goes, or with snapshots as soon as no snapshot needs it any more.
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
"""What the columns of a file mean; it is in the metadata of each."""
_MARK = b"morisot.format"
_MOST_ROWS = 100_000
"""Elements in one file, at most."""
_CHECK_SECONDS = 0.2


class Spool:
    """The files of one channel, or of one line to a server."""

    def __init__(self, directory: Path, type_: Type, capacity: int, *, keep: int | None = None) -> None:
        self.directory = str(directory)
        self.rows_per_file: int | None = None
        """So many elements at most in a file, where a query takes one file at a time; None: it takes what is there."""
        self.closed = False
        self.problem: MorisotError | None = None
        """What keeps more from coming, if it is something that the jobs that read it should fail with."""
        self._path = directory
        self._type = type_
        self._capacity = capacity
        self._keep = keep
        """How many micro-batches of each reader may be asked for again; None: the files go with the job."""
        self._changed = threading.Condition()
        self._waiting: deque[Any] = deque()
        self._counts: dict[str, int] = {}
        """How many elements each file holds that is not done."""
        self._done: dict[str, deque[set[str]]] = {}
        """The files that each reader has done, by micro-batch."""
        self._expected: set[str] = set()
        """The queries that read, or are about to."""
        self._failure: Exception | None = None
        self._clock = 0
        private_directory(directory)
        self._adopt()
        self._writer: threading.Thread | None = None

    def _adopt(self) -> None:
        """Take over what an earlier run left."""
        files = sorted(self._path.glob("*.parquet"))
        self._counts = {file.name: _rows_in(file) for file in files}
        self._number = int(files[-1].stem) + 1 if files else 0
        self._clock = max((file.stat().st_mtime_ns // 10**6 for file in files), default=0)

    # -- who sends ---------------------------------------------------------------------------------------------------

    def put(self, elements: Iterable[Any]) -> None:
        """Take elements, one after the other; waits while too many are on their way."""
        for element in elements:
            with self._changed:
                while self._is_full():
                    self._refuse_without_reader()
                    self._changed.wait(_CHECK_SECONDS)
                self._refuse_closed()
                self._waiting.append(element)
                self._start()
                self._changed.notify_all()

    def _is_full(self) -> bool:
        on_the_way = len(self._waiting) + sum(self._counts.values())
        return on_the_way >= self._capacity and not self.closed and self._failure is None

    def _refuse_without_reader(self) -> None:
        if not self._done:
            raise PlanError(
                f"{self._capacity} elements were sent into a channel that no job reads yet",
                advice="call ctx.start() before you send so many, or give stream_channel(…) a larger capacity=",
            )

    def _refuse_closed(self) -> None:
        if self._failure is not None:
            raise SinkError(f"what was sent cannot be written to {self.directory}: {self._failure}")
        if self.closed:
            raise PlanError("the channel is closed: nothing can be sent any more")

    @property
    def waiting(self) -> int:
        """How many elements were sent and are not done."""
        with self._changed:
            return len(self._waiting) + sum(self._counts.values())

    @property
    def oldest(self) -> float | None:
        """When the oldest of the files that are not done was written."""
        with self._changed:
            first = next(iter(self._counts), None)
        if first is None:
            return None
        try:
            return (self._path / first).stat().st_mtime
        except FileNotFoundError:  # it is done
            return None

    def flush(self) -> None:
        """Wait until everything that was sent is in files."""
        with self._changed:
            while self._waiting and self._failure is None:
                self._changed.wait(_CHECK_SECONDS)
            if self._failure is not None:
                self._refuse_closed()

    def close(self) -> None:
        """Nothing more will be sent."""
        self.flush()
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    # -- who writes ---------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="morisot-channel", daemon=True)
            self._writer.start()

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self.closed:
                        self._writer = None  # whoever opens it again needs another
                        return
                    self._changed.wait(_CHECK_SECONDS)
                size = min(len(self._waiting), self.rows_per_file or _MOST_ROWS)
                elements = [self._waiting[index] for index in range(size)]
            try:
                name = self._write_file(elements)
            except Exception as error:  # whoever sends is told
                with self._changed:
                    self._failure = error
                    self._changed.notify_all()
                return
            with self._changed:
                self._counts[name] = size
                for _ in range(size):
                    self._waiting.popleft()
                self._changed.notify_all()

    def _write_file(self, elements: list[Any]) -> str:
        """A file that is there whole, with a time after that of the one before: Spark reads them by their times."""
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

    def limit(self, rows: int | None) -> None:
        """A query takes so many elements at a time: from now on no file has more."""
        if rows is not None:
            with self._changed:
                self.rows_per_file = min(rows, self.rows_per_file or rows)

    # -- who reads ----------------------------------------------------------------------------------------------------

    def expect(self, reader: str) -> None:
        """A query is about to read: nothing goes before it is there."""
        with self._changed:
            self._expected.add(reader)

    def attach(self, reader: str, done: Iterable[str] = ()) -> None:
        """A query reads from now on; it has done some files in an earlier run."""
        with self._changed:
            self._done[reader] = deque([set(done)])
            self._forget()

    def take_note(self, reader: str, files: Iterable[str]) -> None:
        """A query has done a micro-batch with these files."""
        with self._changed:
            self._done[reader].append(set(files))
            self._forget()

    def detach(self, reader: str) -> None:
        """A query has ended, or did not start: nobody waits for it any more."""
        with self._changed:
            self._done.pop(reader, None)
            self._expected.discard(reader)
            self._forget()
            self._changed.notify_all()

    def is_drained(self, reader: str) -> bool:
        """Whether everything was sent, and the query has done it."""
        with self._changed:
            done = set().union(*self._done.get(reader, ()))
            return self.closed and not self._waiting and self._counts.keys() <= done

    def _forget(self) -> None:
        """Drop the files that every reader has done, and may not ask for again."""
        if not self._done or not self._expected <= self._done.keys():
            return
        for name in set.intersection(*(set().union(*batches) for batches in self._done.values())):
            self._counts.pop(name, None)
        kept = 0 if self._keep is None else self._keep + 1  # the one under way is not a snapshot yet
        old = [set().union(*list(batches)[: max(0, len(batches) - kept)]) for batches in self._done.values()]
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
        """The context has ended: without snapshots nobody will read it again."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        if self._keep is None:
            shutil.rmtree(self._path, ignore_errors=True)


def _rows_in(file: Path) -> int:
    """How many elements a file has that an earlier run left."""
    try:
        metadata = pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        raise damaged(file, "it is not a Parquet file") from None
    found = (metadata.metadata or {}).get(_MARK, b"").decode(errors="replace")
    check_format(file, int(found) if found.isdecimal() else None, _FORMAT)
    return int(metadata.num_rows)
