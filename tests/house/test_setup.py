"""A quick import, and a set-up that says what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JAVA = "Morisot needs Java 17 or newer: install it with `apt-get install openjdk-17-jre-headless` (Debian/Ubuntu)"


def run_python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_is_quick() -> None:
    """It takes the descriptions of operators, and nothing that runs or compiles them."""
    loaded = set(run_python("import morisot, sys; print(*sys.modules)").split())
    heavy = {"pyspark", "py4j", "numba", "numpy", "pandas", "pyarrow", "rich", "asyncio"}
    assert not heavy & loaded
    assert not {"morisot.compile.translate", "morisot.compile.kernel", "morisot.lower", "morisot.run"} & loaded


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder for PATH with what a shell needs and no Java."""
    for name in ("bash", "env", "sed", "head"):
        (tmp_path / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    (tmp_path / "python3").symlink_to(Path(sys.executable).resolve())
    return tmp_path


def set_up(path: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environ = {"PATH": str(path), "HOME": os.environ.get("HOME", "/"), **variables}
    command = [ROOT / "setup" / "set-up.sh", path / "venv"]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def test_set_up_without_java_says_how_to_get_it(bare_path: Path) -> None:
    done = set_up(bare_path)
    assert done.returncode == 1
    assert done.stderr.startswith(JAVA)
    assert done.stderr.count("\n") == 1
    assert not (bare_path / "venv").exists()


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2"])
def test_set_up_with_an_old_java_says_how_to_get_a_newer_one(bare_path: Path, version: str) -> None:
    java = bare_path / "java"
    java.write_text(f"#!/usr/bin/env bash\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    done = set_up(bare_path)
    assert (done.returncode, done.stderr.startswith(JAVA)) == (1, True)


def test_set_up_with_an_old_python_says_how_to_get_a_newer_one(bare_path: Path) -> None:
    (bare_path / "python3").unlink()
    done = set_up(bare_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Morisot needs Python 3.11 or newer: ")


def test_a_second_run_sets_nothing_up(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt", "setup/set-up.sh", ".venv/.set-up"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [".venv/bin/python examples/word_count.py"]
