"""The cost of a round whose body does almost no work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.loops.workload import MORISOT, NUMBA, LoopWorkload, Outcome, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def morisot(spark: SparkSession, rounds: int) -> Outcome:
    """Ten numbers, one addition each."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    states = ctx.stream_iter(range(10)).replay(
        rounds,
        0,
        lambda s, state: s.map(lambda n: n + state.value % 3),
        lambda delta, n: delta + n,
        lambda state, delta: state + delta,
        lambda state: True,
        delta=0,
    )
    (total,) = states.collect()
    return of_morisot(ctx, total)


def limit(_spark: SparkSession, rounds: int) -> Outcome:
    """A plain loop."""
    state = 0
    for _ in range(rounds):
        state += sum(n + state % 3 for n in range(10))
    return Outcome(state, rounds)


VARIANTS = {MORISOT: morisot, NUMBA: limit}
WORKLOADS = [
    LoopWorkload("overhead", "minimal body", 1_000, "rounds", lambda size: size, VARIANTS, lambda a, b: bool(a == b)),
    LoopWorkload(
        "overhead_long", "minimal body", 10_000, "rounds", lambda size: size, VARIANTS, lambda a, b: bool(a == b)
    ),
]
