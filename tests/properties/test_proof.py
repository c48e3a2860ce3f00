"""A short run of the proof: generated closures, on adversarial values, in every form, against CPython."""

from __future__ import annotations

import ast
import pickle
import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from morisot.compile import choose
from morisot.compile.exact.forms import Plain
from morisot.compile.table import functions as known
from morisot.compile.table import rows
from morisot.compile.verdict import ColumnForm
from morisot.types import infer
from morisot.types.element import ANY, INT, STR, Tuple
from morisot.worker.codec.batches import encode
from tests.properties.proof.__main__ import report
from tests.properties.proof.bodies import NUMBERS, SIGNATURES, Bodies
from tests.properties.proof.columns import set_for_proof, tried
from tests.properties.proof.outcomes import ERROR, EXACT, FAILED, MISSED, REFUSED, WRONG, by_python, judged
from tests.properties.proof.pages import temporary_pages
from tests.properties.proof.run import failed, prove
from tests.properties.proof.tables import table_of

FEW = {"pairs": 80, "rows": 20, "together": 2}
MANY = {"pairs": 100_000, "rows": 800, "seconds": 600}
PARTS = 10
"""`make thorough` tries a million pairs, in parts that the test processes share. On a slow machine each part ends after
its time, with fewer pairs."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(FEW, id="few"),
        *(pytest.param(MANY, marks=pytest.mark.thorough, id=f"many-{part}") for part in range(PARTS)),
    ],
)
def test_generated_closures_give_what_python_gives(
    size: dict[str, Any], spark: SparkSession, chance: random.Random
) -> None:
    seed = chance.randrange(10**9)
    tally = prove(spark, seed=seed, **size)
    print(report(tally, seed, 0.0))
    assert tally.pairs >= size["pairs"] or size is MANY
    assert set(tally.closures) >= {"column", "kernel", "fold", *(["stage"] if size is MANY else [])}
    options = " ".join(f"--{name} {value}" for name, value in {**size, "seed": seed}.items())
    assert not failed(tally), f"python -m tests.properties.proof {options}"


def test_the_same_seed_generates_the_same_closures() -> None:
    def texts(seed: int) -> list[str]:
        bodies = Bodies(random.Random(seed))
        functions = [bodies.function(signature, "f") for signature in SIGNATURES for _ in range(20)]
        return [*functions, *(bodies.loop("f") for _ in range(20))]

    assert texts(7) == texts(7)
    assert texts(7) != texts(8)


def test_most_generated_closures_are_python(chance: random.Random) -> None:
    bodies = Bodies(chance)
    texts = [bodies.function(signature, f"f{place}") for signature in SIGNATURES for place in range(40)]
    with temporary_pages() as pages:
        assert len(pages.load(texts, ())) > 0.9 * len(texts)
        assert len(pages.load([bodies.loop(f"f{place}") for place in range(40)], NUMBERS.types)) == 40


@pytest.mark.parametrize(
    ("expected", "found", "verdict"),
    [
        (1, 1, EXACT),
        (1, True, WRONG),
        (1, 1.0, WRONG),
        (0.0, -0.0, WRONG),
        (float("nan"), float("nan"), EXACT),
        ((1, "a"), (1, "b"), WRONG),
        ((0.0, [None]), (0.0, [None]), EXACT),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, WRONG),
        (1, FAILED, REFUSED),
        (FAILED, 1, MISSED),
        (None, 0, WRONG),
    ],
)
def test_a_difference_is_seen(expected: Any, found: Any, verdict: str) -> None:
    assert judged(expected, found) == verdict


def test_a_column_that_is_wrong_is_found(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof can fail: with Spark's own remainder for Python's it does."""
    naive = rows.Row((INT, INT), INT, Plain("rem", fails=True))
    monkeypatch.setitem(known.BINARY, ast.Mod, (naive,))
    values = [(7, 3), (-7, 3), (7, -3), (7, 0)]
    with temporary_pages() as pages, set_for_proof(spark):
        (case,) = pages.load(["f0 = lambda a, b: a % b\n"], (INT, INT))
        form = choose.column(case.closure(), case.types)
        assert isinstance(form, ColumnForm)
        (results,) = tried(spark, [form], table_of(case.types, values))
    verdicts = [judged(by_python(case.function, row), found) for row, found in zip(values, results, strict=True)]
    assert verdicts == [EXACT, WRONG, WRONG, ERROR]


def test_a_lone_surrogate_never_enters_a_column() -> None:
    """Spark's texts are UTF-8, which has none: it travels pickled, or is refused where a str is declared."""
    assert infer.of_values(["a", "\ud800"]) == ANY
    assert infer.of_values([(1, "\ud800")]) == Tuple((INT, ANY))
    with pytest.raises(Exception, match="not of the type str"):
        encode(["\ud800"], STR, pickle.dumps)
    with temporary_pages() as pages:
        (case,) = pages.load(["f0 = lambda s: s + '\\ud800'\n"], (STR,))
        assert not isinstance(choose.verdict_of(case.closure(), case.types), ColumnForm)
