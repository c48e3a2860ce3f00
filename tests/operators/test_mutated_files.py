"""Mutated files: both engines read the same elements, or raise a SourceError with the file and what to do."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

import morisot as mo
from tests.operators import readings

KINDS = ("csv", "json", "parquet", "text")


class Mutated(NamedTuple):
    reading: readings.Reading
    path: str
    content: bytes

    @classmethod
    def write(cls, directory: Path, number: int) -> Mutated:
        """The file of a number, and how it is read."""
        chance = random.Random(number)
        kind = KINDS[number % len(KINDS)]
        ending, content = readings.mutated(kind, chance)
        file = directory / f"f{number}.{ending}"
        file.write_bytes(content)
        return cls(readings.drawn_reading(kind, chance), str(file), content)


def skipped(ctx: mo.StreamContext) -> int:
    return sum(ctx.metrics()["skipped"].values())


def compare(spark_ctx: mo.StreamContext, directory: Path, numbers: range, *, most_errors: int | None = None) -> None:
    """Compares the engines on mutated files, each drawn by its number."""
    reference = mo.StreamContext(engine="reference", config=mo.Config(report=False))
    files = [(number, Mutated.write(directory, number)) for number in numbers]
    files = [(number, file) for number, file in files if not readings.is_named(file.reading.kind, file.content)]
    expected = {number: readings.outcome(reference, file.reading, file.path) for number, file in files}
    bad = {number: file for number, file in files if expected[number][0] == "error"}
    sinks = {number: file.reading(spark_ctx, file.path).collect_vec() for number, file in files if number not in bad}
    before = skipped(spark_ctx)
    spark_ctx.execute()
    found = {number: ("rows", readings.comparable(sink.get())) for number, sink in sinks.items()}
    assert found == {number: expected[number] for number in found}
    assert skipped(spark_ctx) - before == skipped(reference)
    for number, file in list(bad.items())[:most_errors]:
        assert readings.outcome(spark_ctx, file.reading, file.path)[0] == "error", (number, file)


@pytest.mark.parametrize(
    "number", [*range(0, 400, 100), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(400, 2000, 100))]
)
def test_the_reference_engine_raises_only_source_errors(number: int, tmp_path: Path) -> None:
    reference = mo.StreamContext(engine="reference", config=mo.Config(report=False))
    for each in range(number, number + 100):
        file = Mutated.write(tmp_path, each)
        readings.outcome(reference, file.reading, file.path)


@pytest.mark.jvm
def test_both_engines_read_a_sample_of_mutated_files_alike(spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    compare(spark_ctx, tmp_path, range(12), most_errors=3)


@pytest.mark.jvm
@pytest.mark.thorough
@pytest.mark.parametrize("number", range(0, 2000, 50))
def test_both_engines_read_mutated_files_alike(number: int, spark_ctx: mo.StreamContext, tmp_path: Path) -> None:
    compare(spark_ctx, tmp_path, range(number, number + 50))
