"""Lists of the files of source splits: what a resumable part reads, and in which order.

Spark reads a followed directory by the times of its files. A directory that a streaming query has written has a log of
its files, with their times and sizes, and Spark trusts the log. So a directory with only such a log lets a query read
files in other directories, in any order, and with the number of files in each micro-batch that the sizes define.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.emit.sources.paths import SPLIT_SIZE
from morisot.engines.spark.internals import file_sink_log

_PIECES, _LATER = "pieces.json", "later.json"


class Listing:
    """A directory that lists the files of source splits."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._splits = directory / _PIECES
        self._later = directory / _LATER

    def write(self, splits: Sequence[Sequence[str]], later: Sequence[Sequence[str]] = ()) -> None:
        """Lists files by their URIs. Small splits that are listed later are stored."""
        file_sink_log.prepare(self._directory)
        write_record(self._later, "splits to come", later)
        self._list(splits)

    def restore(self) -> None:
        """Writes Spark's log again, from the checked record."""
        self.unlisted()
        file_sink_log.prepare(self._directory)
        self._write_log(self.splits())

    def add(self, file: Path) -> None:
        """Lists one more file, as a split of its own."""
        self._list([*self.splits(), [file.absolute().as_uri()]])

    def list_more(self, number: int) -> bool:
        """Lists `number` of the small splits as one. Returns whether there was one left."""
        split = [file for small in self.unlisted()[:number] for file in small]
        if split:
            self._list([*self.splits(), split])
        return bool(split)

    def unlisted(self) -> list[list[str]]:
        """The small splits that are not listed yet."""
        later: list[list[str]] = read_record(self._later, "splits to come")
        listed = {file for split in self.splits() for file in split}
        return [small for small in later if small[0] not in listed]

    def splits(self) -> list[list[str]]:
        splits: list[list[str]] = read_record(self._splits, "splits")
        return splits

    def _list(self, splits: Sequence[Sequence[str]]) -> None:
        """Spark's log is written first: files that only Spark's log has are listed again at the same position."""
        self._write_log(splits)
        write_record(self._splits, "splits", splits)

    def _write_log(self, splits: Sequence[Sequence[str]]) -> None:
        """Writes Spark's log. The files of a split together have exactly the size limit of a micro-batch."""
        listed = [(file, SPLIT_SIZE // len(split)) for split in splits for file in split]
        file_sink_log.write(self._directory, listed, block_size=SPLIT_SIZE)


def group_files(sizes: Iterable[int], *, largest: int | None, number: int) -> list[range]:
    """Groups files, by their indexes, to splits: none larger than `largest`, or about `number` splits.

    >>> group_files([1, 1, 1, 5, 1], largest=3, number=2)
    [range(0, 3), range(3, 4), range(4, 5)]
    >>> group_files([1, 1, 1, 1, 4], largest=None, number=2)
    [range(0, 4), range(4, 5)]
    """
    sizes = list(sizes)
    total, before, within = sum(sizes), 0, 0
    starts: list[int] = []
    last = -1
    for index, size in enumerate(sizes):
        if largest is not None:
            begins = not starts or within + size > largest
            within = size if begins else within + size
        else:
            share = min(int((before + size / 2) * number / total), number - 1) if total else 0
            begins, last = share != last, share
        before += size
        if begins:
            starts.append(index)
    return [range(start, end) for start, end in itertools.pairwise([*starts, len(sizes)])]
