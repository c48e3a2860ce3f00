"""Jobs on a user session, which has no settings of Morisot, give the results of the reference engine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from morisot.engines.spark.session.java_runtime import find_java, launcher_variables

pytestmark = [pytest.mark.jvm, pytest.mark.program]

PROGRAM = Path(__file__).with_name("plain_session.py")
QUICK = [
    "running_aggregates",
    "files",
    "loop_with_snapshots",
    "bounded_times",
]
LONG = [
    "count_windows",
    "channel_into_for_each",
    "running_folds_in_python",
    "rich_map_after_a_crash",
    "time_windows",
    "sessions",
    "join_within",
    "stream_goes_on_from_a_snapshot",
    "bounded_with_snapshots",
]


def outcomes_of(names: list[str], directory: Path, **more: str) -> dict[str, dict[str, Any]]:
    """What jobs gave in one program, whose user lives in New York."""
    environ = {**os.environ, **launcher_variables(find_java()), "TZ": "America/New_York", **more}
    environ["PYSPARK_PYTHON"] = sys.executable
    # The workers need what this process imports.
    environ["PYTHONPATH"] = os.pathsep.join([*filter(None, sys.path), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "local[2]", *names],
        cwd=directory,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["job"]: line for line in lines}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """With fewer partitions than Spark's 200, which take most of the time of a state."""
    return outcomes_of(QUICK, tmp_path_factory.mktemp("quick"), PARTITIONS="4")


@pytest.fixture(scope="module")
def long_outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return outcomes_of(LONG, tmp_path_factory.mktemp("long"), PARTITIONS="8")


@pytest.mark.timeout(420)
@pytest.mark.parametrize("name", [*QUICK, "settings"])
def test_a_job_gives_what_the_reference_gives(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert outcomes[name]["found"] == outcomes[name]["wanted"]


@pytest.mark.thorough
@pytest.mark.timeout(420)
@pytest.mark.parametrize("name", [*LONG, "settings"])
def test_a_longer_job_gives_what_the_reference_gives(name: str, long_outcomes: dict[str, dict[str, Any]]) -> None:
    assert long_outcomes[name]["found"] == long_outcomes[name]["wanted"]


def test_every_job_of_the_program_is_looked_at() -> None:
    spec = importlib.util.spec_from_file_location("plain_session", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert set(module.JOBS) == {*QUICK, *LONG}
