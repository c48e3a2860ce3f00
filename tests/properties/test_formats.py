"""The whole mini-language of format specifications, by generation: a column gives CPython's text, or fails."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from morisot.compile import choose
from morisot.compile.verdict import ColumnForm
from morisot.types.element import FLOAT, INT, STR, Type
from tests.properties.proof.columns import set_for_proof, tried
from tests.properties.proof.outcomes import MISSED, WRONG, by_python, judged
from tests.properties.proof.pages import Case, temporary_pages
from tests.properties.proof.tables import table_of
from tests.properties.proof.values import POOLS, TEXTS

VALUES: dict[Type, list[object]] = {INT: [*POOLS[INT]], FLOAT: [*POOLS[FLOAT]], STR: [*TEXTS[::4]]}
FOUND = ["0=12,d", "0=12,.1f", "0=+9,d", "*=12,d", "012,d", "0<12,d", "0=9d", "x=9.2f", "-1.0", " >-.1", "+s", "^7.2s"]
"""Specifications of which some were wrong."""
_TOGETHER = 20


def specification(chance: random.Random, type_: Type) -> str:
    """A specification that may or may not be one: each part is there in about half of them."""
    if type_ == STR and chance.random() < 0.7:  # most parts are for numbers
        align = chance.choice(["", "<", ">", "^", "*<", " >", "0^", "😀>"])
        width, precision = chance.choice(["", "1", "4", "9"]), chance.choice(["", ".0", ".1", ".6"])
        return align + width + precision + chance.choice(["", "s"])
    parts = [
        chance.choice(["", "", "<", ">", "^", "=", "0=", "*<", " >", "0^", "😀=", "0<"]),
        chance.choice(["", "", "+", "-", " "]),
        chance.choice(["", "", "", "z"]),
        chance.choice(["", "", "", "#"]),
        chance.choice(["", "", "0"]),
        chance.choice(["", "", "1", "4", "9", "12", "20"]),
        chance.choice(["", "", ",", "_"]),
        chance.choice(["", "", ".0", ".1", ".2", ".6", ".11"]),
        chance.choice(["", "d", "f", "F", "%", "x", "X", "b", "o", "e", "g", "G", "n", "c", "s"]),
    ]
    return "".join(parts)


@pytest.mark.jvm
@pytest.mark.parametrize("number", [60, pytest.param(3_000, marks=pytest.mark.thorough)], ids=["few", "many"])
@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_formats_are_cpythons(spark: SparkSession, chance: random.Random, type_: Type, number: int) -> None:
    rows = [(value,) for value in VALUES[type_]]
    specs = [*FOUND, *dict.fromkeys(specification(chance, type_) for _ in range(number))]
    ways = ["f0 = lambda x: f'{{x:{}}}'\n", "f0 = lambda x: format(x, '{}')\n", "f0 = lambda x: '{{:{}}}'.format(x)\n"]
    texts = [chance.choice(ways).format(spec).replace("f0", f"f{place}") for place, spec in enumerate(specs)]
    with temporary_pages() as pages, set_for_proof(spark):
        compiled: list[tuple[Case, ColumnForm]] = []
        for case in pages.load(texts, (type_,)):
            form = choose.column(case.closure(), case.types)
            if isinstance(form, ColumnForm):
                compiled.append((case, form))
        assert compiled
        problems = []
        for start in range(0, len(compiled), _TOGETHER):
            some = compiled[start : start + _TOGETHER]
            results = tried(spark, [form for _, form in some], table_of((type_,), rows))
            for (case, _), values in zip(some, results, strict=True):
                for row, found in zip(rows, values, strict=True):
                    expected = by_python(case.function, row)
                    if judged(expected, found) in (WRONG, MISSED):
                        problems.append((case.text, row, expected, found))
    assert problems == []
