"""An unbounded job that was killed resumes from its last micro-batch, with the output of an undisturbed run."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.recovery.processes import Run, wait_for_commit
from tests.recovery.streams import FILES, PROGRAMS, expected, lines_of, write_input, written

pytestmark = [pytest.mark.jvm, pytest.mark.program]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "running" else pytest.mark.thorough) for n in PROGRAMS]
)
def test_a_killed_job_goes_on(name: str, tmp_path: Path, chance: random.Random) -> None:
    write_input(tmp_path, files=4)
    run = Run(name, tmp_path)
    assert run.has_started()
    wait_for_commit(tmp_path, 2)
    time.sleep(chance.random())
    run.kill()
    again = Run(name, tmp_path).result()
    assert len(again["before"]) >= 2, "it should have resumed in the middle"
    assert again["snapshots"][:4] == list(range(4))
    assert written(name, tmp_path) == expected(name, lines_of(tmp_path))


@pytest.mark.thorough
def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    write_input(tmp_path)
    run = Run("rich", tmp_path)
    assert run.has_started()
    wait_for_commit(tmp_path, 1)
    while not run.kill_worker():
        time.sleep(0.05)
    assert run.result()["snapshots"] == list(range(FILES))
    assert written("rich", tmp_path) == expected("rich", lines_of(tmp_path))


@pytest.mark.thorough
def test_restart_from_a_chosen_snapshot(tmp_path: Path) -> None:
    """The output goes back to it, too: what came later in the input is other now."""
    write_input(tmp_path)
    assert Run("rich", tmp_path).result()["snapshots"] == list(range(FILES))
    changed = tmp_path / "in" / "004.txt"
    changed.write_text("7\n14\n22\n")
    os.utime(changed, (5, 5))
    again = Run("rich", tmp_path, restart="3").result()
    assert again["before"][:4] == [0, 1, 2, 3]
    assert again["batches"] == FILES - 4
    assert written("rich", tmp_path) == expected("rich", lines_of(tmp_path))
