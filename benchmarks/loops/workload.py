"""What a loop workload is, and how its variants are timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.cpu import measured
from benchmarks.session import CORES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import morisot as mo

MORISOT, BY_HAND, MLLIB, NUMBA = "morisot", "by hand", "mllib", "numba"
VARIANTS = (MORISOT, BY_HAND, MLLIB, NUMBA)
"""By hand: a loop over DataFrames. numba: plain machine code on arrays in this process, with as many threads."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave, and how long its rounds took without loading the data, where that is known."""

    answer: Any
    rounds: int
    loop_seconds: float | None = None


@dataclass(frozen=True)
class LoopWorkload:
    """One program in several variants over the same data."""

    name: str
    title: str
    size: int
    unit: str
    prepare: Callable[[int], Any]
    variants: Mapping[str, Callable[[SparkSession, Any], Outcome]]
    same: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Timing:
    """One run of one variant."""

    variant: str
    outcome: Outcome
    seconds: float
    cpu_seconds: float


def timed(variant: str, run: Callable[[], Outcome]) -> Timing:
    outcome, cost = measured(run)
    return Timing(variant, outcome, cost.wall_seconds, cost.cpu_seconds)


def of_morisot(ctx: mo.StreamContext, answer: Any) -> Outcome:
    """The outcome of a program whose last loop is the one that counts."""
    loop = ctx.metrics()["loops"][-1]
    return Outcome(answer, loop["rounds"], loop["seconds"])


def in_threads(function: Callable[..., Any], rows: int, *arguments: Any) -> list[Any]:
    """What a function that releases the lock gives for each core's share of the rows."""
    bounds = [rows * core // CORES for core in range(CORES + 1)]
    with ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(lambda share: function(*share, *arguments), pairwise(bounds)))
