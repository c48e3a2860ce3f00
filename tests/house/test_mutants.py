"""The record of mutants: what is drawn, how it is applied, and that the page shows the record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import AREAS, PAGE, RECORD, ROOT, Copy, Mutant, Record, report, tried, without_effect

SOURCE = '''"""A docstring with 1 number."""
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    WIDTH = 1

é: int | None = 2


@overload
def sum_of(a: int, *, b: int = 3) -> int: ...
@property
def sum_of(a: int | str, *, b: int | None = 4 + 5) -> int | None:
    """Another 1."""
    return a + b
'''
MUTANT = Mutant(1, "sinks", "beside.py", 2, "NumberReplacer", ("    return 1",), ("    return  2",))


def text_of(source: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text between two positions of one line."""
    assert start[0] == end[0]
    return source.splitlines()[start[0] - 1][start[1] : end[1]]


def test_what_a_running_program_does_not_read_is_left_out() -> None:
    spans = list(without_effect(SOURCE))

    def is_left_out(text: str, number: int = 0) -> bool:
        line = [line for line in SOURCE.splitlines() if text in line][number]
        start = SOURCE.splitlines().index(line) + 1, line.index(text)
        end = start[0], start[1] + len(text)
        assert text_of(SOURCE, start, end) == text
        return any(first <= start and end <= last for first, last in spans)

    for text in (
        "1 number",
        "WIDTH = 1",
        "int | None",
        "b: int = 3",
        "int | str",
        "*, b: int | None",
        "int | None:",
        "1.",
    ):
        assert is_left_out(text), text
    for text in ("2", "4 + 5", "+ 5", "@property", "a + b"):
        assert not is_left_out(text), text


def test_a_mutant_is_the_source_with_other_lines() -> None:
    assert MUTANT.applied_to("def f():\n    return 1\n") == "def f():\n    return  2\n"
    removed = replace(MUTANT, line=1, before=("@cache",), after=())
    assert removed.applied_to("@cache\ndef f(): ...\n") == "def f(): ...\n"
    with pytest.raises(ValueError, match="not what it was"):
        MUTANT.applied_to("def f():\n    return 0\n")


class FakeCopy(Copy):
    """A tree of one file; its tests say what a function of its text says."""

    def __init__(self, directory: Path, failing: list[str]) -> None:
        self.directory = directory
        self.failing = failing
        (directory / MUTANT.file).write_text("def f():\n    return 1\n")

    def pytest(self, *arguments: str) -> tuple[int, str]:
        mutated = "return  2" in (self.directory / MUTANT.file).read_text()
        always = [test for test in self.failing if test.startswith("tests/always")]
        failed = [test for test in (self.failing if mutated else always) if test not in arguments or not mutated]
        chosen = [test for test in failed if "-m" in arguments or test in arguments]
        return (1, f"ERROR    a log:file.py:3 message\nFAILED {chosen[0]} - assert [1]\n") if chosen else (0, "")


def test_a_mutant_is_found_by_a_test_that_passes_without_it(tmp_path: Path) -> None:
    copy = FakeCopy(tmp_path, ["tests/always.py::test_broken", "tests/test_f.py::test_f[a - b]"])
    found = tried(MUTANT, copy, ["near", "fast"])
    assert (found.found_by, found.passed) == ("tests/test_f.py::test_f[a - b]", ())
    assert (tmp_path / MUTANT.file).read_text() == "def f():\n    return 1\n"


def test_a_mutant_that_no_test_finds_survives(tmp_path: Path) -> None:
    groups = ("near", "fast")
    survivor = tried(MUTANT, FakeCopy(tmp_path, ["tests/always.py::test_broken"]), groups)
    assert (survivor.found_by, survivor.passed) == ("", groups)
    assert not survivor.decided


def test_the_areas_have_sources_and_tests() -> None:
    for area in AREAS.values():
        assert [path for path in (*area.sources, *area.tests) if not (ROOT / path).exists()] == []


def test_the_page_shows_the_record() -> None:
    record = Record.read(RECORD)
    assert report(record) == PAGE.read_text("utf-8"), "run `python -m tests.mutants report`"
    assert [each.number for each in record.mutants] == list(range(1, len(record.mutants) + 1))
    assert [each.number for each in record.mutants if not each.decided] == []
