"""`mo.supervise`, and the command line itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.supervision.programs import command, environ


def test_supervise_runs_a_program_and_reports(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\nif not file.exists(): file.touch(); sys.exit(3)"
    )
    report = mo.supervise(
        program, args=[str(tmp_path / "seen")], snapshots=mo.Snapshots(tmp_path / "saves"), retry_delay=1
    )
    assert [attempt.error for attempt in report.attempts] == ["its exit code is 3", None]
    assert report.exit_code == 0
    assert (tmp_path / "saves" / "attempts.json").exists()
    assert not (tmp_path / "saves" / "control.sock").exists()


SETTINGS = """
import pathlib, sys
from morisot.config import Config
from morisot.overrides import OVERRIDES
file = pathlib.Path(sys.argv[1])
file.write_text(f"{OVERRIDES.settings} {OVERRIDES.snapshots} {Config.from_environment().memory}")
sys.exit(3)
"""


def test_supervise_has_the_keywords_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SETTINGS)
    (tmp_path / "settings.toml").write_text('[morisot]\nmemory = "3g"\n[morisot.supervisor]\nmax_retries = 0\n')
    (tmp_path / "saves" / "streams").mkdir(parents=True)
    report = mo.supervise(
        tmp_path / "program.py",
        args=[str(tmp_path / "found")],
        snapshots=tmp_path / "saves",
        every="5s",
        items=9,
        restart="none",
        clear=True,
        clean_on_exit=True,
        config=tmp_path / "settings.toml",
        master="local[3]",
        session_retries=2,
        spark={"a": "1"},
    )
    assert report.exit_code == 75
    settings = {"master": "local[3]", "max_retries": 2, "spark": {"spark.a": "1"}}
    saved = {"path": str(tmp_path / "saves"), "every": "5s", "items": 9, "restart": None, "clean_on_exit": True}
    assert (tmp_path / "found").read_text() == f"{settings} {saved} 3g"
    assert not (tmp_path / "saves" / "streams").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mastr": "local"}, "'mastr' is unknown: did you mean 'master'"),
        ({"engine": "fast"}, "engine is 'fast'"),
        ({"snapshots": "saves", "every": "soon"}, "every is 'soon'"),
        ({"clear": True}, "clear=True needs snapshots="),
    ],
)
def test_wrong_keywords_of_supervise_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(mo.ConfigError, match=said):
        mo.supervise("program.py", **given)


SPAWNED = """
import sys
import morisot as mo

def work():
    print("works in", __name__)

if __name__ == "__main__":
    print(mo.supervise(work).exit_code, mo.supervise("helper:main").exit_code)
"""


def test_supervise_runs_functions_as_spawned_processes_do(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "program.py").write_text(SPAWNED)
    (tmp_path / "helper.py").write_text("def main():\n    print('helps')\n")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=environ(tmp_path / "tmp"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["works in __mp_main__", "helps", "0 0"]


def test_a_function_that_cannot_be_imported_is_refused() -> None:
    with pytest.raises(mo.ConfigError, match="define it at the top level of a module"):
        mo.supervise(lambda: None)


def test_the_command_line_imports_no_engine(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, morisot.cli.main; print(*sys.modules)"],
        env=environ(tmp_path / "tmp"),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    heavy = {"pyspark", "py4j", "numba", "numpy", "pandas", "pyarrow", "rich", "morisot.api", "morisot.engines"}
    assert not heavy & set(loaded)


def test_the_commands_have_help_and_completion(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    assert "--max-retries" in command(tmp_path, "run", "--help").stdout
    said = command(tmp_path, "--help").stdout
    assert all(name in said for name in ("run", "ps", "stop", "restart", "snapshots", "completion"))
    assert "_MORISOT_COMPLETE" in command(tmp_path, "completion", "zsh").stdout


def test_the_snapshots_of_a_directory_are_listed(tmp_path: Path) -> None:
    (tmp_path / "saves" / "streams" / "counts" / "spark" / "commits").mkdir(parents=True)
    (tmp_path / "saves" / "streams" / "counts" / "spark" / "commits" / "4").touch()
    (tmp_path / "saves" / "loops" / "replay" / "snapshot-000002-round-000009").mkdir(parents=True)
    lines = command(tmp_path, "snapshots", "saves").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["JOB", "ID"], ["counts", "4"], ["replay", "2"]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--stall", "soon", "program.py"], "stall is 'soon'"),
        (["--parallelism", "0", "program.py"], "parallelism is 0"),
        (["--clear", "program.py"], "--clear needs --snapshots"),
        (["--spark", "a", "program.py"], "--spark needs KEY=VALUE"),
        (["--snapshots", "saves", "--every", "soon", "program.py"], "every is 'soon'"),
    ],
)
def test_wrong_arguments_are_errors_of_usage(tmp_path: Path, given: list[str], said: str) -> None:
    (tmp_path / "program.py").write_text("pass")
    (tmp_path / "tmp").mkdir()
    done = command(tmp_path, "run", *given)
    assert done.returncode == 2
    assert said in done.stderr
