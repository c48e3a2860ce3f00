"""Lists of files in pieces: what a bounded job with snapshots reads, and in which order.

Spark follows a directory by the times of its files. One that a streaming query has written has a log of its files, with
their times and sizes, and who follows it believes the log. So a directory that holds nothing but such a log lets a
query read files that lie elsewhere, in any order, and as many in each micro-batch as the log makes fit into it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from morisot.engines.spark.checkpoints.snapshot_files import read_record, write_record
from morisot.engines.spark.emit.source import PIECE
from morisot.engines.spark.internals import file_sink_log

_PIECES, _LATER = "pieces.json", "later.json"


class Listing:
    """A directory that lists files in pieces."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._pieces = directory / _PIECES
        self._later = directory / _LATER

    def write(self, pieces: Sequence[Sequence[str]], later: Sequence[Sequence[str]] = ()) -> None:
        """List files, by their addresses; small pieces that are to be listed later, after these, are remembered."""
        file_sink_log.prepare(self._directory)
        write_record(self._later, "splits to come", later)
        self._list(pieces)

    def restore(self) -> None:
        """Write the log again: Spark's is made of ours, which is checked."""
        self.unlisted()
        file_sink_log.prepare(self._directory)
        self._write_log(self.pieces())

    def add(self, file: Path) -> None:
        """List one file more, as a piece of its own."""
        self._list([*self.pieces(), [file.absolute().as_uri()]])

    def list_more(self, number: int) -> bool:
        """List so many of the small pieces as one; whether there was one left."""
        piece = [file for small in self.unlisted()[:number] for file in small]
        if piece:
            self._list([*self.pieces(), piece])
        return bool(piece)

    def unlisted(self) -> list[list[str]]:
        """The small pieces that are still to be listed."""
        later: list[list[str]] = read_record(self._later, "splits to come")
        listed = {file for piece in self.pieces() for file in piece}
        return [small for small in later if small[0] not in listed]

    def pieces(self) -> list[list[str]]:
        pieces: list[list[str]] = read_record(self._pieces, "splits")
        return pieces

    def _list(self, pieces: Sequence[Sequence[str]]) -> None:
        """The log comes first: files of which only Spark knows are listed again in the same place."""
        self._write_log(pieces)
        write_record(self._pieces, "splits", pieces)

    def _write_log(self, pieces: Sequence[Sequence[str]]) -> None:
        """The files of a piece are together just as large as a micro-batch may be."""
        listed = [(file, PIECE // len(piece)) for piece in pieces for file in piece]
        file_sink_log.write(self._directory, listed, block_size=PIECE)


def in_pieces(sizes: Iterable[int], *, largest: int | None, number: int) -> list[range]:
    """Which of some files, by their places, form a piece: none larger than `largest`, or about `number` pieces.

    >>> in_pieces([1, 1, 1, 5, 1], largest=3, number=2)
    [range(0, 3), range(3, 4), range(4, 5)]
    >>> in_pieces([1, 1, 1, 1, 4], largest=None, number=2)
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
