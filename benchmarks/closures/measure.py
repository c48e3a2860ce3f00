"""Runs the closures: compares their answers with CPython's, then takes what each way costs for a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.closures import data, variants
from benchmarks.closures.forms import FILTERS, RANGES, TARGETS, verdict
from benchmarks.closures.variants import ARROW_UDF, MORISOT, RDD
from benchmarks.task_cpu import TaskClock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from benchmarks.closures.entry import Entry

CLOSE = 1.5
"""If an Arrow UDF costs less than this multiple, more runs are made."""
LEAST = 0.001
"""Seconds: what takes less than the job of few rows, by chance, is taken for this."""


@dataclass(frozen=True)
class Options:
    """How many rows, how often."""

    rows: int = 60_000
    """For what runs in Python; columns and kernels, which take less, get more."""
    runs: int = 1
    more_runs: int = 4
    """Where the two are close."""
    rdd_every: int = 1
    """One closure in this number is also measured as an RDD lambda; 0: none."""

    def rows_of(self, way: str, entry: Entry, *, fast: bool = False) -> int:
        """How many rows a way of running gets: more if it is fast, or if a ratio is promised for the closure."""
        promised = 8 if entry.key in TARGETS else 1
        if way == MORISOT:
            return self.rows * (10 if fast else 1) * promised
        return self.rows * (promised // 4 or 1) // (2 if way == RDD else 1)


@dataclass
class Measurement:
    """One closure: its form, whether its answers are right, and its CPU time for a row in each way."""

    entry: Entry
    form: str
    reason: str
    advice: str
    moved: bool = False
    """Whether the rows themselves moved a column to Python."""
    problem: str | None = None
    micros: dict[str, float] = field(default_factory=dict)

    def ratio(self, other: str) -> float | None:
        """How many times Morisot's cost the other way costs."""
        if other not in self.micros or MORISOT not in self.micros:
            return None
        return self.micros[other] / self.micros[MORISOT]


def _form_of(stream: Any) -> str:
    """The form of the last operator, after what happened at run time."""
    return str(stream.forms()[-1].form)


class Bench:
    """The closures of one session."""

    def __init__(self, spark: SparkSession, options: Options) -> None:
        import morisot as mo

        self.spark = spark
        self.options = options
        self.ctx = mo.StreamContext(spark)
        self.clock = TaskClock(spark)

    def run(self, entry: Entry, number: int) -> Measurement:
        """Compare, then measure; a closure with wrong answers is not measured."""
        decided = verdict(entry)
        refusal = getattr(decided, "refusal", None)
        result = Measurement(entry, decided.form, getattr(refusal, "reason", ""), getattr(refusal, "advice", ""))
        sample = self._mapped(entry, data.SAMPLE)
        result.problem = self._difference(entry, sample)
        if result.problem is None and self.options.runs:
            try:
                self._measure(entry, number, result, sample)
            except Exception as failure:
                result.problem = f"{type(failure).__name__}: {failure}"
        return result

    def _mapped(self, entry: Entry, size: int) -> Any:
        return data.stream(self.ctx, entry.rows, data.directory(entry.rows, size)).map(
            entry.function, returns=entry.returns
        )

    def _applied(self, entry: Entry, size: int) -> Any:
        """The closure as it is measured."""
        if entry.key in RANGES:
            first = RANGES[entry.key]
            return self.ctx.stream_par_iter(range(first, first + size)).map(entry.function, returns=entry.returns)
        if entry.key not in FILTERS:
            return self._mapped(entry, size)
        return data.stream(self.ctx, entry.rows, data.directory(entry.rows, size)).filter(entry.function)

    def _difference(self, entry: Entry, stream: Any) -> str | None:
        """The first row whose result is not CPython's."""
        try:
            found = stream.collect()
        except Exception as failure:  # one broken closure must not take the others' numbers away
            return f"{type(failure).__name__}: {failure}"
        elements = data.sample(entry.rows)
        if len(found) != len(elements):
            return f"{len(found)} results instead of {len(elements)}"
        if not entry.repeatable:
            return None
        for element, result in zip(elements, found, strict=True):
            expected = entry.function(element)
            if not same(result, expected):
                return f"{element!r}: {result!r} instead of {expected!r}"
        return None

    # ---- cost

    def _measure(self, entry: Entry, number: int, result: Measurement, sample: Any) -> None:
        """Warm up what is compiled, then take turns; the cost of a job of few rows is not the rows'."""
        result.moved = result.form != "stage" and _form_of(sample) == "stage"
        size = self.options.rows_of(MORISOT, entry, fast=result.form != "stage" and not result.moved)
        arrow_size = self.options.rows_of(ARROW_UDF, entry)
        frame, small = (self._applied(entry, rows).to_dataframe() for rows in (size, data.FILES))
        arrow = variants.arrow_udf(self.spark, entry, arrow_size)

        def morisot() -> None:
            variants.written(frame)

        morisot()
        if result.form == "kernel":
            self._until_compiled(morisot)
        fixed = self._fixed_cost(lambda: variants.written(small))
        arrow()
        fixed_arrow = self._fixed_cost(variants.arrow_udf(self.spark, entry, data.FILES))
        mine: list[float] = []
        arrows: list[float] = []
        for turn in range(self.options.more_runs):
            mine.append(max(self._cost(morisot) - fixed, LEAST) / size * 1e6)
            arrows.append(max(self._cost(arrow) - fixed_arrow, LEAST) / arrow_size * 1e6)
            result.micros = {MORISOT: min(mine), ARROW_UDF: min(arrows)}
            if turn + 1 >= self.options.runs and (result.ratio(ARROW_UDF) or 0.0) >= CLOSE:
                break
        every = self.options.rdd_every
        if every and (number % every == 0 or entry.key in TARGETS):
            rdd_size = self.options.rows_of(RDD, entry)
            run = variants.rdd(self.spark, entry, rdd_size)
            fixed_rdd = self._fixed_cost(variants.rdd(self.spark, entry, data.FILES))
            result.micros[RDD] = max(self._cost(run) - fixed_rdd, LEAST) / rdd_size * 1e6

    def _cost(self, run: Callable[[], None]) -> float:
        return self.clock.cost(run)

    def _fixed_cost(self, run: Callable[[], None]) -> float:
        """What a job costs that has hardly any rows."""
        return min(self._cost(run) for _ in range(2))

    def _until_compiled(self, run: Callable[[], None]) -> None:
        """A kernel is compiled by each worker after half a second of Python: run until a run costs no more."""
        before = float("inf")
        for _ in range(8):
            cost = self._cost(run)
            if cost > before * 0.7 and before < 1.0:
                return
            before = cost


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from True and 1.0, and lets NaN equal NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple | list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or repr(left) == repr(right)
