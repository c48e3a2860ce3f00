"""Machines with two inputs, and of parts of a stream, over chunks of it."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from morisot.worker.stateful.machine import Emitter, Machine
from morisot.worker.stateful.pairs import CountedPairs, Zipper
from morisot.worker.stateful.state import Limiter

PIECES = st.lists(st.lists(st.integers(), max_size=5), max_size=6)


def run(machine: Machine, pieces: Sequence[Sequence[Any]], times: Sequence[Sequence[int]] | None = None) -> Emitter:
    """The output of a machine whose state is saved and restored after each chunk."""
    emit = Emitter(keyed=False, ordered=False)
    state = machine.start()
    for number, piece in enumerate(pieces):
        state = machine.take(state, None, piece, times[number] if times else None, emit)
        _, state = machine.layout.unpacked(machine.layout.packed(None, state, pickle.dumps))
    return emit


def sides_in_pieces(left: list[list[int]], right: list[list[int]]) -> list[list[Any]]:
    """The elements of both sides as they come together."""
    return [
        [*((0, n, None) for n in ours), *((1, None, n) for n in theirs)]
        for ours, theirs in itertools.zip_longest(left, right, fillvalue=list[int]())
    ]


@given(left=PIECES, right=PIECES)
def test_a_zipper_pairs_by_place_however_the_sides_come(left: list[list[int]], right: list[list[int]]) -> None:
    pieces = sides_in_pieces(left, right)
    expected = list(zip(itertools.chain(*left), itertools.chain(*right), strict=False))
    assert run(Zipper(), pieces).values == expected


@given(left=PIECES, right=PIECES, size=st.integers(1, 4), slide=st.integers(1, 5))
def test_count_windows_meet_by_number_however_the_sides_come(
    left: list[list[int]], right: list[list[int]], size: int, slide: int
) -> None:
    pieces = sides_in_pieces(left, right)
    ours, theirs = list(itertools.chain(*left)), list(itertools.chain(*right))
    windows = range(0, min(len(ours), len(theirs)) - size + 1, slide)
    expected = [
        pair
        for first in windows
        for pair in itertools.product(ours[first : first + size], theirs[first : first + size])
    ]
    assert run(CountedPairs(size, slide), pieces).values == expected


def test_a_pair_has_the_later_time() -> None:
    emit = run(Zipper(), [[(0, "a", None), (0, "b", None)], [(1, None, 1), (1, None, 2)]], [[5, 9], [7, 8]])
    assert list(zip(emit.values, emit.times, strict=True)) == [(("a", 1), 7), (("b", 2), 9)]


@pytest.mark.parametrize(("n", "offset"), [(3, 0), (2, 3), (0, 1), (99, 4), (5, 99)])
def test_a_limiter_counts_over_pieces(n: int, offset: int) -> None:
    pieces = [[0, 1], [], [2, 3, 4], [5], [6, 7]]
    assert run(Limiter(n, offset), pieces).values == list(range(8))[offset : offset + n]
