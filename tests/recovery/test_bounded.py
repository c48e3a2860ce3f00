"""A bounded job that was killed resumes from its last source split, with the result of an undisturbed run."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.recovery.bounded import PROGRAMS, expected
from tests.recovery.processes import Run, wait_for_commit
from tests.recovery.streams import LINES, lines_of, write_input

pytestmark = [pytest.mark.jvm, pytest.mark.program]


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == "rows" else pytest.mark.thorough) for n in PROGRAMS])
def test_a_killed_job_goes_on(name: str, tmp_path: Path, chance: random.Random) -> None:
    write_input(tmp_path, files=4)
    run = Run(name, tmp_path, module="bounded")
    assert run.has_started()
    wait_for_commit(tmp_path, 2, "saves/bounded/*/part-0")
    time.sleep(chance.random())
    run.kill()
    (tmp_path / "seen").unlink()
    assert Run(name, tmp_path, module="bounded").result() == expected(name, tmp_path)
    again = set(map(int, (tmp_path / "seen").read_text().split()))
    assert again, "it was killed in the middle"
    assert again.isdisjoint(lines_of(tmp_path)[: 2 * LINES]), "the first splits were done"
