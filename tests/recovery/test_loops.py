"""A loop whose driver was killed resumes from its last snapshot, with the result of an undisturbed run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.jvm, pytest.mark.program, pytest.mark.thorough]


def run(name: str, directory: Path, die: int | None = None, engine: str = "spark", restart: str = "latest") -> Any:
    """What a program gives in a process of its own; None if it died."""
    command = [sys.executable, "-m", "tests.recovery.programs", name, str(directory), str(die or ""), engine, restart]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode == -signal.SIGKILL:
        return None
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "die", "first_rounds"),
    [
        ("primes", 9, [8]),
        ("replay", 7, [6]),
        ("sequence", 6, [4, 4]),
        ("nested", 7, [0, 4, 2, 0]),
        ("grouping", 4, [2]),
    ],
)
def test_a_killed_driver_goes_on(name: str, die: int, first_rounds: list[int], tmp_path: Path) -> None:
    expected = run(name, tmp_path / "other", engine="reference")["result"]
    assert run(name, tmp_path, die) is None
    again = run(name, tmp_path)
    assert again["result"] == expected
    assert again["first_rounds"] == first_rounds, "it should have resumed in the middle"
    finished = run(name, tmp_path)
    assert finished["result"] == expected, "a finished job gives its result again"


def test_restart_from_a_chosen_snapshot(tmp_path: Path) -> None:
    complete = run("primes", tmp_path)
    assert complete["first_rounds"] == [0]
    for number in (5, 2, 1):
        again = run("primes", tmp_path, restart=str(number))
        assert again["result"] == complete["result"]
        assert again["first_rounds"] == [2 * number], "two rounds from snapshot to snapshot"
