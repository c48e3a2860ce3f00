"""Generated predicates: a part that is said not to be None is not None in CPython."""

from __future__ import annotations

import random
from typing import Any

import pytest

from morisot.compile.nullness.parts import ElementPart
from morisot.compile.nullness.predicates import outcome_of_call
from morisot.types.narrowing import Path
from tests.properties.proof.bodies import SIGNATURES, Bodies
from tests.properties.proof.outcomes import FAILED, by_python
from tests.properties.proof.pages import Case, temporary_pages
from tests.properties.proof.values import Values

WITH_NONE = [each for each in SIGNATURES if "m" in each.parameters or "r" in each.parameters]
"""The signatures whose parameters may be None, or have fields that may be."""


@pytest.mark.parametrize("pages", [1, pytest.param(100, marks=pytest.mark.thorough)])
def test_what_is_not_none_is_not_none_in_python(pages: int, chance: random.Random) -> None:
    bodies, values = Bodies(chance), Values(chance)
    told = 0
    with temporary_pages() as made:
        for signature in WITH_NONE * pages:
            texts = [bodies.function(signature, f"f{number}") for number in range(50)]
            rows = values.rows(signature.types, 40)
            for case in made.load(texts, signature.types):
                told += agrees(case, rows)
    assert told > pages


def agrees(case: Case, rows: list[tuple[Any, ...]]) -> bool:
    """Compares what is said of a predicate with its results. Returns whether anything is said."""
    outcome = outcome_of_call(case.function, [ElementPart((index,), each) for index, each in enumerate(case.types)])
    for row in rows:
        result = by_python(case.function, row)
        if result is not FAILED:
            facts = outcome.true if result else outcome.false
            assert facts is not None, f"{case.text} is never {bool(result)}, but of {row!r}"
            assert not [path for path in facts if at(row, path) is None], f"{case.text} of {row!r}"
    return bool(outcome.true)


def at(value: object, path: Path) -> object:
    """A part of a value; None if a value that it is part of is None."""
    for index in path:
        if value is None:
            return None
        parts: Any = value if isinstance(value, tuple) else [*vars(value).values()]
        value = parts[index]
    return value
