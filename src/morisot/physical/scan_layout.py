"""The layout of a packed scan: one scan of many files whose partitions are in the order of the files.

Spark cuts files into splits of at most `split_bytes`, sorts the splits by size, the largest first, and packs them one
after the other into partitions. Sizes of files that never grow from one file to the next are not moved by that sort: so
the order of the partitions, and of the rows in each, is the order of the files. A layout lists each file with such a
size, which is at least its real size. A reader ends at the end of a file, whatever size is listed.

>>> layout_of([10, 30, 20], ScanLimits(partition_bytes=100, open_bytes=4, slots=1)).sizes
(30, 30, 20)
>>> layout_of([250, 30], ScanLimits(partition_bytes=100, open_bytes=4, slots=1)).sizes
(250, 30)
>>> layout_of([10, 210, 30], ScanLimits(partition_bytes=100, open_bytes=4, slots=1)).sizes
(100, 230, 30)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ScanLimits:
    """The limits by which Spark packs files into partitions."""

    partition_bytes: int
    open_bytes: int
    """The cost of opening a file, in bytes."""
    slots: int
    """The number of partitions that a scan has at least, if it has enough bytes."""


@dataclass(frozen=True)
class ScanLayout:
    """The size with which each file is listed, and the limits with which Spark keeps the order of these sizes."""

    sizes: tuple[int, ...]
    split_bytes: int
    open_bytes: int
    partitions: int | None
    """The most partitions; None: as many as there are. Spark packs the same splits into fewer ones."""


def layout_of(sizes: Sequence[int], limits: ScanLimits, whole: Sequence[bool] | None = None) -> ScanLayout:
    """The layout of files with some sizes. Those that are `whole`, as compressed ones are, are never split."""
    whole = [False] * len(sizes) if whole is None else whole
    usual = split_bytes_of(sizes, limits)
    split = max([usual, *(size for size, one in zip(sizes, whole, strict=True) if one)])
    listed = not_growing(sizes, split)
    open_bytes = limits.open_bytes if split == usual else split  # a file that is not split is a partition
    most = 2 * packed(usual_splits(sizes, whole, usual), usual, limits.open_bytes) + limits.slots
    number = packed(splits_of(listed, split), split, open_bytes)
    return ScanLayout(listed, split, open_bytes, most if number > most else None)


def split_bytes_of(sizes: Sequence[int], limits: ScanLimits) -> int:
    """The size of splits that Spark chooses."""
    total = sum(sizes) + len(sizes) * limits.open_bytes
    return max(1, min(limits.partition_bytes, max(limits.open_bytes, total // limits.slots)))


def not_growing(sizes: Sequence[int], split: int) -> tuple[int, ...]:
    """Sizes that are at least the real ones, and with which no split is larger than an earlier one."""
    found: list[int] = []
    least = 0
    """The size that an earlier split has at least: that of the first split of the later files."""
    for size in reversed(sizes):
        before_last = (size - 1) // split * split if size > split else 0
        last = max(size - before_last, least)
        found.append(before_last + last)
        least = split if before_last else last
    return tuple(reversed(found))


def splits_of(sizes: Iterable[int], split: int) -> list[int]:
    """The sizes of the splits of files, in the order of the files."""
    return [min(size - start, split) for size in sizes for start in range(0, size, split)]


def usual_splits(sizes: Sequence[int], whole: Sequence[bool], split: int) -> list[int]:
    """The splits of files in the order in which Spark packs them."""
    cut = ([size] if one else splits_of([size], split) for size, one in zip(sizes, whole, strict=True))
    return sorted((each for splits in cut for each in splits), reverse=True)


def packed(splits: Iterable[int], split: int, open_bytes: int) -> int:
    """The number of partitions into which Spark packs splits, in their order."""
    number = within = 0
    for size in splits:
        if not number or within + size > split:
            number, within = number + 1, 0
        within += size + open_bytes
    return number
