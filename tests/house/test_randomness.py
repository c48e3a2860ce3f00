"""Random examples: a failing test prints a command, and the command draws the same examples again."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGINS = 'pytest_plugins = ["tests.randomness"]\n'
FAILING = """
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st


def test_other():
    import beside
    assert beside.CONSTANT == 0


@given(st.lists(st.integers() | st.text()))
def test_drawn(values):
    with Path("drawn").open("a") as out:
        print(ascii(values), file=out)
    assert len(values) < 3


def test_chance(chance):
    Path("chance").write_text(str(chance.random()))
    assert chance is None
"""


def run(directory: Path, *command: str) -> tuple[str, list[str], str]:
    """What a run of pytest prints, and what its tests drew."""
    for name in ("drawn", "chance"):
        (directory / name).unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(directory)]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # some take longer to import than all that runs here
        "PYTEST_PLUGINS": "xdist.plugin,_hypothesis_pytestplugin",
    }
    environment.pop("HYPOTHESIS_PROFILE", None)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout, (directory / "drawn").read_text().splitlines(), (directory / "chance").read_text()


def command_of(printed: str) -> list[str]:
    found = re.search(r"^.* -m pytest --hypothesis-seed=.*$", printed, re.MULTILINE)
    assert found, printed
    return shlex.split(found[0])


def test_a_failure_prints_the_command_that_repeats_its_examples(tmp_path: Path) -> None:
    """From a process of pytest-xdist and from one alone; the modules that other tests load change nothing."""
    (tmp_path / "conftest.py").write_text(PLUGINS)
    (tmp_path / "test_failing.py").write_text(FAILING)
    (tmp_path / "beside.py").write_text("CONSTANT = 8675309\n")
    printed, drawn, chance = run(tmp_path, sys.executable, "-m", "pytest", "-q", "-n", "1")
    assert "@reproduce_failure" in printed
    command = command_of(printed)
    assert sorted(command[4:]) == ["test_failing.py::test_chance", "test_failing.py::test_drawn"]
    assert run(tmp_path, *command)[1:] == (drawn, chance)
    printed, others, other_chance = run(tmp_path, sys.executable, "-m", "pytest", "-q")
    assert command_of(printed)[3] != command[3], "each run has a seed of its own"
    assert other_chance != chance
    assert others[0] == drawn[-1], "what failed in an earlier run is tried first"
