"""Collatz: which number up to n takes the most steps to 1."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba

from benchmarks.loops.workload import BY_HAND, MORISOT, NUMBA, LoopWorkload, Outcome, in_threads, of_morisot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def steps(n: int) -> tuple[int, int]:
    count, start = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count, start


def longer(best: tuple[int, int], found: tuple[int, int]) -> tuple[int, int]:
    return found if found[0] > best[0] else best


def morisot(spark: SparkSession, n: int) -> Outcome:
    """The numbers are made in the tasks; one round finds the longest sequence."""
    import morisot as mo

    ctx = mo.StreamContext(spark)
    numbers = ctx.stream_par_iter(range(1, n + 1))
    states = numbers.replay(1, (0, 0), lambda s, state: s.map(steps), longer, longer, lambda state: True, delta=(0, 0))
    (best,) = states.collect()
    return of_morisot(ctx, best)


def by_hand(spark: SparkSession, n: int) -> Outcome:
    """An RDD of numbers with the functions as they are; a tenth of them, because it is slow."""
    part = max(1, n // 10)
    began = time.perf_counter()
    best = spark.sparkContext.range(1, part + 1).map(steps).fold((0, 0), longer)
    return Outcome((part, best), 1, time.perf_counter() - began)


@numba.njit(nogil=True)
def longest(first: int, last: int) -> Any:
    """The longest sequence of some of the numbers."""
    best, which = 0, 0
    for start in range(first + 1, last + 1):
        n, count = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        if count > best:
            best, which = count, start
    return best, which


def limit(_spark: SparkSession, n: int) -> Outcome:
    """Plain numba."""
    longest(0, 1)
    began = time.perf_counter()
    best = max(in_threads(longest, n), key=lambda found: found[0])
    return Outcome(best, 1, time.perf_counter() - began)


def same(found: Any, expected: Any) -> bool:
    if isinstance(found[1], tuple):  # by hand: fewer numbers
        return bool(found[1] == longest(0, found[0]))
    return bool(found == expected)


VARIANTS = {MORISOT: morisot, BY_HAND: by_hand, NUMBA: limit}
WORKLOADS = [
    LoopWorkload("collatz", "collatz, the longest chain", 10_000_000, "numbers", lambda size: size, VARIANTS, same)
]
