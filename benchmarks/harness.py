"""Runs the variants of a workload in turns, checks that they agree, and keeps what each run cost."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.cpu import Cost, measured
from benchmarks.session import collect_garbage
from benchmarks.workload import DATAFRAME, RDD, Answer, Workload, difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Options:
    """How much data, how often, and which variants."""

    scale: float = 1.0
    runs: int = 5
    warmups: int = 2
    rdd_runs: int = 1
    rdd_warmups: int = 1
    variants: tuple[str, ...] = ()

    def runs_of(self, variant: str) -> int:
        """RDD lambdas are slow enough for one run to tell."""
        return self.rdd_runs if variant == RDD else self.runs

    def warmups_of(self, variant: str) -> int:
        """The JVM compiles what runs often: at least one run is not counted."""
        return self.rdd_warmups if variant == RDD else self.warmups


@dataclass
class Measurement:
    """One variant of one workload: its warm runs, or why there are none."""

    variant: str
    size: int
    runs: list[Cost] = field(default_factory=list)
    problem: str | None = None

    @property
    def cpu_seconds(self) -> float:
        """The median."""
        return median(run.cpu_seconds for run in self.runs)

    @property
    def wall_seconds(self) -> float:
        """The median."""
        return median(run.wall_seconds for run in self.runs)


@dataclass
class Result:
    """All the variants of one workload."""

    workload: Workload[Any]
    measurements: list[Measurement]

    def of(self, variant: str) -> Measurement | None:
        """The variant's measurement, if it has any runs."""
        return next((one for one in self.measurements if one.variant == variant and one.runs), None)

    def ratio(self, one: Measurement, clock: Callable[[Measurement], float], to: str = DATAFRAME) -> float | None:
        """How many times the other variant's cost, for each unit of data."""
        other = self.of(to)
        if other is None or not one.runs or clock(other) == 0:
            return None
        return (clock(one) / one.size) / (clock(other) / other.size)


def run(
    workload: Workload[Any], spark: SparkSession, options: Options, progress: Callable[[str], None] = print
) -> Result:
    """Warm each variant up, compare their answers, then measure them in turns."""
    measurements = [
        Measurement(variant, workload.size_for(variant, options.scale))
        for variant in workload.variants
        if variant in options.variants
    ]
    inputs = {size: workload.prepare(size) for size in {one.size for one in measurements}}

    def once(one: Measurement) -> tuple[Answer, Cost]:
        collect_garbage(spark)
        return measured(lambda: workload.variants[one.variant](spark, inputs[one.size]))

    expected: dict[int, Answer] = {}
    for one in sorted(measurements, key=lambda one: one.variant != DATAFRAME):  # it gives the answers to compare with
        progress(f"{workload.name}: {one.variant}, warming up")
        try:
            for _ in range(max(1, options.warmups_of(one.variant))):
                answer, _cost = once(one)
            if one.size not in expected:
                dataframe = workload.variants[DATAFRAME]
                expected[one.size] = answer if one.variant == DATAFRAME else dataframe(spark, inputs[one.size])
            one.problem = difference(answer, expected[one.size])
        except Exception as failure:  # a broken variant must not take the others' numbers away
            one.problem = "".join(traceback.format_exception_only(failure)).strip()
    for one, turn in _in_turns([one for one in measurements if one.problem is None], options):
        progress(f"{workload.name}: {one.variant}, run {turn + 1} of {options.runs_of(one.variant)}")
        _answer, cost = once(one)
        one.runs.append(cost)
    return Result(workload, measurements)


def _in_turns(measurements: list[Measurement], options: Options) -> Iterable[tuple[Measurement, int]]:
    """A run of each, then again, each time with another one first: a slow minute of the machine hits them all."""
    for turn in range(max((options.runs_of(one.variant) for one in measurements), default=0)):
        first = turn % len(measurements)
        for one in measurements[first:] + measurements[:first]:
            if turn < options.runs_of(one.variant):
                yield one, turn
