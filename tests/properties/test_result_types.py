"""The types that are inferred for generated closures fit every value that CPython returns for them."""

from __future__ import annotations

import random
from typing import Any

import pytest

from morisot.compile.result_types.domain import entering
from morisot.compile.result_types.function import result_type
from morisot.types.element import ANY, Type, contains_any
from tests.compile.test_result_types import fits
from tests.properties.proof.bodies import NUMBERS, SIGNATURES, Bodies
from tests.properties.proof.pages import Case, temporary_pages
from tests.properties.proof.values import Values

FEW, MANY = 3, 250
"""How many closures are generated for each signature, and how many loops."""
ROWS = 40


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)], ids=["few", "many"])
def test_an_inferred_type_fits_what_python_returns(count: int, chance: random.Random) -> None:
    bodies, values = Bodies(chance), Values(chance)
    with temporary_pages() as pages:
        known = 0
        for signature in SIGNATURES:
            texts = [bodies.function(signature, f"f{number}") for number in range(count)]
            rows = values.rows(signature.types, ROWS)
            known += sum(_fits_all(case, rows) for case in pages.load(texts, signature.types))
        loops = [bodies.loop(f"f{number}") for number in range(10 * count)]
        rows = values.rows(NUMBERS.types, ROWS)
        known += sum(_fits_all(case, rows) for case in pages.load(loops, NUMBERS.types))
    assert known > 5 * count


def _fits_all(case: Case, rows: list[tuple[Any, ...]]) -> bool:
    type_ = result_type(case.function, case.types)
    for row in rows if type_ != ANY else []:
        try:
            value = case.function(*row)
        except Exception:
            continue
        assert _fits(value, type_), f"{case.text}\n{row!r} gives {value!r}, not {type_}"
    return not contains_any(type_)


def _fits(value: Any, type_: Type) -> bool:
    """The values of dicts are compared as those of the inner type that the test of the table knows."""
    return fits(value, entering(type_))
