"""One run of the proof: generate, run in every form, compare, count."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from morisot.compile import choose
from morisot.compile.verdict import ColumnForm, KernelForm
from morisot.engines.spark.failures import is_data_error
from morisot.types.element import Type
from tests.properties.proof import columns, folds, kernels, stages
from tests.properties.proof.bodies import NUMBER_LISTS, NUMBERS, SIGNATURES, Bodies, Signature
from tests.properties.proof.outcomes import FAILED, MISSED, REFUSED, WRONG, Tally, by_python, same
from tests.properties.proof.pages import Case, Pages, temporary_pages
from tests.properties.proof.tables import table_of
from tests.properties.proof.values import Values

ROWS = 200
LISTS = 200
PART = 25_000
"""The number of pairs after which each form had its share."""
TOGETHER = 12
"""The number of closures in one query. The JIT does not compile the code of more, fewer need more queries."""

SHARES = {"column": 0.63, "kernel": 0.25, "stage": 0.1, "fold": 0.02}
"""How the pairs are spread over the forms."""

Say = Callable[[str], None]


def prove(
    spark: SparkSession,
    pairs: int,
    seed: int,
    say: Say = lambda _: None,
    rows: int = ROWS,
    together: int = TOGETHER,
    seconds: float = math.inf,
) -> Tally:
    """At least `pairs` pairs of a closure and a row, with `rows` rows for each closure; fewer if the time is over."""
    tally = Tally()
    run = _Run(random.Random(seed), tally, spark, say, rows, together)
    end = time.monotonic() + seconds
    with temporary_pages() as pages, columns.set_for_proof(spark):
        while tally.pairs < pairs and time.monotonic() < end:
            goal = min(tally.pairs + PART, pairs)
            run.columns_and_stages(pages, goal * SHARES["column"], goal * SHARES["stage"])
            run.kernels(pages, goal * SHARES["kernel"])
            run.folds(pages, goal * SHARES["fold"])
            run.columns_and_stages(pages, goal - tally.pairs + _of(tally, "column"), 0)
    return tally


def _of(tally: Tally, form: str) -> int:
    return sum(tally.counts.get(form, {}).values())


class _Run:
    def __init__(
        self, chance: random.Random, tally: Tally, spark: SparkSession, say: Say, rows: int, together: int
    ) -> None:
        self.chance, self.tally, self.spark, self.say, self.rows = chance, tally, spark, say, rows
        self.together = together
        self.bodies, self.values = Bodies(chance), Values(chance)
        self.signatures = itertools.cycle(chance.sample(SIGNATURES, len(SIGNATURES)))

    def progress(self) -> None:
        self.say(f"{self.tally.pairs} pairs, {len(self.tally.differences)} differences")

    # -- columns and stages ------------------------------------------------------------------------------------------

    def columns_and_stages(self, pages: Pages, columns_wanted: float, stages_wanted: float) -> None:
        """Closures of every signature in turn, in the form that the ladder gives them."""
        while _of(self.tally, "column") < columns_wanted:
            self._signature(pages, next(self.signatures), stages_wanted)
            self.progress()

    def _signature(self, pages: Pages, signature: Signature, stages_wanted: float) -> None:
        texts = [self.bodies.function(signature, f"f{number}") for number in range(2 * self.together)]
        rows = self.values.rows(signature.types, self.rows)
        found: list[tuple[Case, ColumnForm]] = []
        for case in pages.load(texts, signature.types):
            verdict = choose.verdict_of(case.closure(), signature.types)
            if isinstance(verdict, ColumnForm):
                found.append((case, verdict))
            in_python = not isinstance(verdict, ColumnForm) or self.chance.random() < 0.1
            if in_python and _of(self.tally, "stage") < stages_wanted:
                self._stage(case, verdict.type, rows)
        if found:
            self._columns(found[: self.together], rows)

    def _columns(self, found: list[tuple[Case, ColumnForm]], rows: list[tuple[Any, ...]]) -> None:
        types = found[0][0].types
        fine: list[tuple[Case, ColumnForm, list[int]]] = []
        for (case, form), results in zip(found, self._tried(found, rows), strict=True):
            self.tally.closure("column")
            for row, result in zip(rows, results, strict=True):
                self.tally.pair("column", case.text, row, by_python(case.function, row), result)
            places = [place for place, result in enumerate(results) if result is not FAILED]
            if places:
                fine.append((case, form, places))
        by_type: dict[Type, list[tuple[Case, ColumnForm, list[int]]]] = {}
        for case, form, places in fine:
            by_type.setdefault(form.type, []).append((case, form, places))
        for together in by_type.values():
            self._jobs(together, types, rows)

    def _tried(self, found: list[tuple[Case, ColumnForm]], rows: list[tuple[Any, ...]]) -> list[list[Any]]:
        """Each closure's outcomes; halved where the optimizer's own failure on constants ends the whole query."""
        table = table_of(found[0][0].types, rows)
        try:
            return columns.tried(self.spark, [form for _, form in found], table)
        except Exception as error:
            if len(found) > 1:
                half = len(found) // 2
                return [*self._tried(found[:half], rows), *self._tried(found[half:], rows)]
            if not is_data_error(error):
                raise AssertionError(f"Spark does not take the column of\n{found[0][0].text}") from error
            return [[FAILED] * len(rows)]

    def _jobs(
        self, found: list[tuple[Case, ColumnForm, list[int]]], types: tuple[Type, ...], rows: list[tuple[Any, ...]]
    ) -> None:
        """As a job computes it: nothing is tried, common subexpressions are computed once."""
        tables = [table_of(types, [rows[place] for place in places]) for _, _, places in found]
        try:
            results = columns.as_in_a_job(self.spark, [form for _, form, _ in found], tables)
        except Exception as error:
            if not is_data_error(error):
                raise
            if len(found) > 1:
                half = len(found) // 2
                self._jobs(found[:half], types, rows)
                self._jobs(found[half:], types, rows)
            return  # refused as a whole: Python does it
        for (case, _, places), values in zip(found, results, strict=True):
            for place, value in zip(places, values, strict=True):
                expected = by_python(case.function, rows[place])
                if expected is FAILED or not same(expected, value):
                    self.tally.pair("column in a job", case.text, rows[place], expected, value)

    def _stage(self, case: Case, result: Type, rows: list[tuple[Any, ...]]) -> None:
        self.tally.closure("stage")
        for row, found in zip(rows, stages.done(case, result, rows), strict=True):
            expected = by_python(case.function, row, limited=found is FAILED)  # pickled, an int may have any size
            self.tally.pair("stage", case.text, row, expected, found)

    # -- kernels and folds -------------------------------------------------------------------------------------------

    def kernels(self, pages: Pages, wanted: float) -> None:
        for case in self._loops(pages):
            if _of(self.tally, "kernel") >= wanted:
                return
            found = choose.kernel(case.closure(), case.types)
            if not isinstance(found, KernelForm):
                continue
            rows = self.values.rows(case.types, 2 * self.rows)
            self.tally.closure("kernel")
            for row, result in zip(rows, kernels.done(found.kernel, case.types, rows), strict=True):
                expected = kernels.by_patient_python(case, row)
                if expected is not None:
                    self.tally.pair("kernel", case.text, row, expected, result)
            self.progress()

    def _loops(self, pages: Pages) -> Iterator[Case]:
        while True:
            for signature in (NUMBERS, NUMBER_LISTS):
                texts = [self.bodies.loop(f"f{number}", signature) for number in range(self.together)]
                yield from pages.load(texts, signature.types)

    def folds(self, pages: Pages, wanted: float) -> None:
        while _of(self.tally, "fold") < wanted:
            for fold in folds.generated(self.chance, pages, self.together):
                lists = folds.groups(self.chance, fold, LISTS)
                results = folds.done(self.spark, fold, lists)
                if results is None:
                    continue
                self.tally.closure("fold")
                for values, result in zip(lists, results, strict=True):
                    self.tally.pair("fold", fold.text, values, fold.by_python(values), result)
            self.progress()


def failed(tally: Tally) -> bool:
    """Whether some form is proved wrong."""
    return any(counts[WRONG] or counts[MISSED] for counts in tally.counts.values())


def refused_share(tally: Tally) -> float:
    """How often a native form left to Python what CPython can do."""
    refused = sum(counts[REFUSED] for counts in tally.counts.values())
    return refused / max(tally.pairs, 1)
