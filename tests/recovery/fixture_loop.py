"""The loop of fixtures/loop.tar.gz: its snapshots are found by the name of this file and the line of `iterate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import morisot as mo


class Total(NamedTuple):
    rounds: int
    sum: int


def build(ctx: mo.StreamContext, condition: Callable[[Any], bool]) -> tuple[mo.Stream[Total], mo.Stream[Any]]:
    """Numbers grow by what they were in all; the state is a record, the elements are pairs."""
    pairs = ctx.stream_iter([(n, f"element {n}") for n in range(6)])
    return pairs.iterate(
        7,
        Total(0, 1),
        lambda s, state: s.map(lambda pair: (pair[0] + state.value.sum % 5, pair[1])),
        lambda delta, pair: delta + pair[0],
        lambda state, delta: Total(state.rounds + 1, state.sum + delta),
        condition,
        delta=0,
    )
