"""The plans of many programs, compared with stored texts; no JVM is started.

`python -m tests.physical.golden` writes the texts again: look at what changed before you commit it.
"""

from __future__ import annotations

import pytest

from tests.physical.golden import DIRECTORY, text_of_program
from tests.physical.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plan_is_the_one_that_is_kept(
    name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("p"))  # a long path is left out of a plan's text
    assert text_of_program(name) == (DIRECTORY / f"{name}.txt").read_text(encoding="utf-8")


def test_no_text_is_kept_of_a_program_that_is_gone() -> None:
    assert {file.stem for file in DIRECTORY.glob("*.txt")} == set(PROGRAMS)
