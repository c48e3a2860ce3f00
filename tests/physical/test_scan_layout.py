"""Layouts of packed scans, with a model of how Spark splits, sorts and packs files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from morisot.physical.scan_layout import ScanLayout, ScanLimits, layout_of, packed, split_bytes_of, splits_of

MB = 2**20
LIMITS = st.builds(ScanLimits, st.integers(1, 500), st.integers(0, 200), st.integers(1, 9))
FILES = st.lists(st.tuples(st.integers(1, 2000), st.booleans()), min_size=1, max_size=30)


class Split(NamedTuple):
    """A part of a file."""

    file: int
    start: int
    length: int


def splits_in_spark(layout: ScanLayout, whole: Sequence[bool]) -> list[Split]:
    """The splits in the order in which Spark packs them: the largest first. The sort is stable."""
    total = sum(layout.sizes) + len(layout.sizes) * layout.open_bytes
    most = min(layout.split_bytes, max(layout.open_bytes, total))
    found = [
        Split(file, start, min(size - start, most))
        for file, size in enumerate(layout.sizes)
        for start in ([0] if whole[file] else range(0, size, most))
    ]
    return sorted(found, key=lambda split: split.length, reverse=True)


@given(FILES, LIMITS)
def test_the_splits_are_in_the_order_of_the_files(files: list[tuple[int, bool]], limits: ScanLimits) -> None:
    sizes, whole = [size for size, _ in files], [one for _, one in files]
    layout = layout_of(sizes, limits, whole)
    splits = splits_in_spark(layout, whole)
    assert splits == sorted(splits)
    for file, found in itertools.groupby(splits, key=lambda split: split.file):
        *_, last = found
        assert last.start < sizes[file] <= last.start + last.length, "each split begins in its file"


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=30), LIMITS)
def test_there_are_not_many_more_partitions_than_in_spark(sizes: list[int], limits: ScanLimits) -> None:
    layout = layout_of(sizes, limits)
    usual = split_bytes_of(sizes, limits)
    in_spark = packed(sorted(splits_of(sizes, usual), reverse=True), usual, limits.open_bytes)
    lengths = [split.length for split in splits_in_spark(layout, [False] * len(sizes))]
    found = packed(lengths, layout.split_bytes, layout.open_bytes)
    assert (layout.partitions or found) <= 2 * in_spark + limits.slots


def test_files_of_one_size_are_packed_as_ever() -> None:
    limits = ScanLimits(partition_bytes=128 * MB, open_bytes=4 * MB, slots=2)
    small = layout_of([MB] * 1000, limits)
    assert small == ScanLayout((MB,) * 1000, 128 * MB, 4 * MB, None)
    assert packed(small.sizes, small.split_bytes, small.open_bytes) == 39
    assert layout_of([40 * MB] * 8, limits).sizes == (40 * MB,) * 8


def test_a_large_file_is_split_and_small_ones_before_it_share_partitions() -> None:
    limits = ScanLimits(partition_bytes=128 * MB, open_bytes=4 * MB, slots=2)
    layout = layout_of([MB] * 1000 + [1000 * MB], limits)
    assert layout.split_bytes == 128 * MB
    assert set(layout.sizes) == {128 * MB, 1000 * MB}
    assert layout.partitions == 2 * (8 + 39) + 2


def test_files_that_are_never_split_are_partitions() -> None:
    limits = ScanLimits(partition_bytes=128 * MB, open_bytes=4 * MB, slots=2)
    layout = layout_of([10 * MB, 500 * MB, 20 * MB], limits, [True, True, False])
    assert layout == ScanLayout((500 * MB, 500 * MB, 20 * MB), 500 * MB, 500 * MB, None)
