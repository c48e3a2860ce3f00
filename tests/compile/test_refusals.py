"""Every refusal of the compiler has a program, and the user reads a true reason and advice that helps."""

from __future__ import annotations

import pytest

import morisot as mo
from tests.compile.refusals import FILE, table, without_program


@pytest.fixture(scope="module")
def found() -> tuple[str, set[tuple[str, str]]]:
    return table()


def test_reasons_and_advice_are_those_that_were_read(found: tuple[str, set[tuple[str, str]]]) -> None:
    assert found[0] == FILE.read_text(encoding="utf-8"), "read the difference of `python -m tests.compile.refusals`"


def test_a_new_refusal_has_a_program(found: tuple[str, set[tuple[str, str]]]) -> None:
    known = without_program()
    assert found[1] - known == set(), "add a program to tests/compile/refusal_programs.py"
    assert known - found[1] == set(), "they have a program, or are gone: `python -m tests.compile.refusals`"


def test_a_type_that_the_advice_asks_for_is_used() -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([1, 2])
    (before,) = numbers.map(lambda n: []).forms()
    assert before.advice == "pass returns="
    (after,) = numbers.map(lambda n: [], returns=list[int]).forms()
    assert after.form == "column"
