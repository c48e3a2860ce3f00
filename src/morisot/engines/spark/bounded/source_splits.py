"""Splits the source of a resumable part: files are listed, other elements are copied into files first."""

from __future__ import annotations

import hashlib
import json
import shutil
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from morisot.engines.spark.bounded.file_list import Listing, group_files
from morisot.engines.spark.bounded.runner import BatchRunner
from morisot.engines.spark.checkpoints.snapshot_files import check_manifest, read_record, write_manifest, write_record
from morisot.engines.spark.emit.python.fused_stage import dumps
from morisot.engines.spark.streaming.bounded_inputs import ROWS, copy
from morisot.errors import PlanError, SinkError
from morisot.plan.analysis.resumable import copied, with_listed_files
from morisot.plan.files import is_local
from morisot.plan.nodes.node import Node
from morisot.plan.nodes.source import PathSource, StreamArrow, StreamIter, StreamParquet, StreamRange
from morisot.plan.snapshots import Snapshots
from morisot.private import private_directory, private_file
from morisot.runtime.atomic_files import write_table
from morisot.types.element import contains_any
from morisot.worker.codec.batches import encode, schema_of

_PIECES = 20
"""The number of splits of a job, if the number of elements of a split is not set."""
_SMALL_PIECES = 200
"""The number of small splits, which are combined to larger ones if the duration of a split is set."""
_LARGE = 16 * 2**20
"""The bytes from which on a file is copied into smaller ones."""
_CONTENT, _ELEMENTS, _END = "content.json", "elements", "end-"


class SplitSource:
    """A split source of a job, in a directory of its own."""

    def __init__(self, source: Node, directory: Path, settings: Snapshots, runner: BatchRunner) -> None:
        self._source = source
        self._directory = directory
        self._items = settings.items
        self._listed_later = settings.split_seconds is not None
        self._number = _SMALL_PIECES if self._listed_later else _PIECES
        self._runner = runner
        self._listing = Listing(directory)
        self._content = content_of(source, runner)
        listed = str(directory)
        self.node: Node = copied(source, listed)
        """The node that replaces the source in the resumable part."""
        if isinstance(source, PathSource) and not is_one_large_file(self._content):
            self.node = with_listed_files(source, listed)

    def prepare(self) -> None:
        """Splits the source, or checks that it is unchanged since it was split."""
        if self._directory.is_dir():
            self._refuse_changes()
            self._restore()
            return
        writing = self._directory.with_name(f"{self._directory.name}.writing")
        shutil.rmtree(writing, ignore_errors=True)
        try:
            private_directory(writing)
        except OSError as error:
            raise SinkError(f"snapshots cannot be written to {writing}: {error.strerror}") from None
        splits = self._splits(writing)
        Listing(writing).write(*([], splits) if self._listed_later else (splits,))
        if (writing / _ELEMENTS).is_dir():
            write_manifest(writing / _ELEMENTS, "input copy")
        write_record(writing / _CONTENT, "input", [self._content, (writing / _ELEMENTS).is_dir()])
        writing.rename(self._directory)

    def _splits(self, writing: Path) -> list[list[str]]:
        if isinstance(self.node, PathSource):
            files = [file for file, *_ in self._content]
            rows = counted_rows(self.node, files) if self._items is not None else None
            sizes = rows or [size for _, size, _ in self._content]
            # The number of elements of a text file is unknown: with a number of elements, each file is a split.
            largest = None if self._items is None else self._items if rows else 0
        elif isinstance(self._source, StreamRange):
            return self._range_splits(self._source.range, writing / _ELEMENTS, self._runner.parallelism)
        else:
            copies = copy(self._source, self._runner, writing / _ELEMENTS, self._rows_per_file())
            files = [(self._directory / _ELEMENTS / file.name).as_uri() for file in copies]
            sizes = [pq.read_metadata(file).num_rows for file in copies]
            largest = self._items
        return [[files[index] for index in split] for split in group_files(sizes, largest=largest, number=self._number)]

    def _range_splits(self, numbers: range, directory: Path, tasks: int) -> list[list[str]]:
        """The splits of a range: files for every task, with the bounds of intervals."""
        private_directory(directory)
        splits: list[list[str]] = []
        written = 0
        for split in intervals(numbers, self._rows_per_file()):
            splits.append([])
            for part in intervals(split, max(1, -(-len(split) // tasks))):
                ends = [(each[0], each[-1]) for each in intervals(part, ROWS)]
                table = pa.table({"first": [first for first, _ in ends], "last": [last for _, last in ends]})
                name = f"{written:08}.parquet"
                write_table(table, directory / name)
                splits[-1].append((self._directory / _ELEMENTS / name).as_uri())
                written += 1
        return splits

    def _rows_per_file(self) -> int:
        if self._items is not None:
            return self._items
        match self._source:
            case StreamIter(values=known) | StreamRange(range=known) | StreamArrow(table=known):
                return max(1, -(-len(known) // self._number))
        return ROWS

    def _refuse_changes(self) -> None:
        before, copied_before = read_record(self._directory / _CONTENT, "input")
        if before == json.loads(json.dumps(self._content)):
            if copied_before:
                check_manifest(self._directory / _ELEMENTS, "input copy")
            return
        raise PlanError(
            f"{self._source.operator} has other elements than the job of the snapshots in "
            f"{self._directory.parent}: {difference(before, self._content)}",
            location=self._source.location,
            advice="run the program on the same input, or start from scratch with restart=None",
        )

    def _restore(self) -> None:
        """Writes files again that are derived from checked ones, or have no elements."""
        self._listing.restore()
        for split in self._listing.splits():
            for file in split:
                name = name_of(file)
                if name.startswith(_END) and file == (self._directory / name).as_uri():
                    self._write_end(self._directory / name)

    def list_more(self, number: int) -> bool:
        """Lists `number` of the small splits as one. Returns whether there was one left."""
        return self._listing.list_more(number)

    def list_rest(self) -> None:
        """Lists all remaining small splits, combined to the default number of splits."""
        number = max(1, -(-len(self._listing.unlisted()) // _PIECES))
        while self._listing.list_more(number):
            pass

    @property
    def files(self) -> int:
        """The number of listed files."""
        return sum(map(len, self._listing.splits()))

    def add_end(self) -> None:
        """Lists a file without elements: a last micro-batch for timers, with the watermark at its maximum."""
        name = self._directory / f"{_END}{self.files}"  # each part with timers has its own
        self._write_end(name)
        self._listing.add(name)

    def _write_end(self, name: Path) -> None:
        if isinstance(self.node, PathSource) and not isinstance(self.node, StreamParquet):
            private_file(name).close()
        else:
            write_table(pa.table({"none": pa.array([], pa.int64())}), name)


def intervals(numbers: range, size: int) -> list[range]:
    """A range in intervals of at most `size` numbers.

    >>> intervals(range(5, 0, -1), 2)
    [range(5, 3, -1), range(3, 1, -1), range(1, 0, -1)]
    """
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def content_of(source: Node, runner: BatchRunner) -> Any:
    """The identity of a source's elements: files with sizes and times, or a digest; empty if there is none."""
    if isinstance(source, PathSource):
        emission = runner.emission(runner.planned(source))
        files = sorted(emission.frame(source).df.inputFiles())
        return [[file, *size_and_time(file)] for file in files]
    if isinstance(source, StreamRange):
        return repr(source.range)
    if isinstance(source, StreamArrow):
        return digest(source.table)
    if isinstance(source, StreamIter) and not contains_any(source.type):
        return digest(pa.Table.from_arrays(encode(source.values, source.type, dumps), schema=schema_of(source.type)))
    return None


def is_one_large_file(files: Sequence[Sequence[Any]]) -> bool:
    """Whether one file has most of all bytes, and is large: as a split it would be most of the job."""
    sizes: list[int] = [size for _, size, _ in files]
    return max(sizes, default=0) > max(_LARGE, sum(sizes) / 2)


def size_and_time(file: str) -> tuple[int, int]:
    """The size and time of a file on this machine; remote files are identified by their URI only."""
    parts = urllib.parse.urlsplit(file)
    if parts.scheme != "file":
        return 1, 0
    found = Path(urllib.parse.unquote(parts.path)).stat()
    return found.st_size, found.st_mtime_ns


def digest(table: pa.Table) -> str:
    """The digest of the rows of a table."""
    content = hashlib.sha256()
    for batch in table.combine_chunks().to_batches():
        content.update(batch.serialize())
    return content.hexdigest()


def counted_rows(source: PathSource, files: list[str]) -> list[int] | None:
    """The number of rows of each Parquet file on this machine; None for other files, which would have to be read."""
    if not isinstance(source, StreamParquet) or not is_local(source.path):
        return None
    return [pq.read_metadata(urllib.parse.unquote(urllib.parse.urlsplit(file).path)).num_rows for file in files]


def difference(before: Any, now: Any) -> str:
    """The first difference, as text."""
    if not (isinstance(before, list) and isinstance(now, list)):
        return "its content changed"
    was, is_ = ({file: rest for file, *rest in each} for each in (before, now))
    sentences = [f"{name_of(file)} is new" for file in is_ if file not in was]
    sentences += [f"{name_of(file)} is missing" for file in was if file not in is_]
    return "; ".join(sentences + [f"{name_of(file)} changed" for file in is_ if was.get(file, is_[file]) != is_[file]])


def name_of(file: str) -> str:
    return urllib.parse.unquote(file.rpartition("/")[2])
