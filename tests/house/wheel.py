"""`python -m tests.house.wheel`: build the wheel, install it in a fresh environment, and run programs there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import morisot as mo
from morisot.engines.spark.session.java_runtime import find_java

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "morisot"
PROGRAM = Path(__file__).with_name("installed_program.py")
COUNTS = {"be": 2, "not": 1, "or": 1, "to": 2}
"""What the program has to find in its text."""


def build(directory: Path) -> Path:
    """The wheel of this tree, made by the build backend that pyproject.toml names."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(ROOT)]
    subprocess.run(command, check=True)
    (wheel,) = directory.glob(f"morisot-{mo.__version__}-*.whl")
    return wheel


def missing(sources: Path, wheel: Path) -> Iterator[str]:
    """The files of a package that its wheel does not have, and the programs that are not executable there."""
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 for info in archive.infolist()}
    for file in sorted(sources.rglob("*")):
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        name = file.relative_to(sources.parent).as_posix()
        if name not in modes:
            yield f"the wheel has no {name}"
        elif os.access(file, os.X_OK) and not modes[name] & 0o100:
            yield f"{name} is not executable in the wheel"


def install(wheel: Path, environment: Path) -> Path:
    """The interpreter of a fresh environment with the wheel and what it depends on."""
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    extra = "[java]" if find_java().packaged else ""  # where this environment needs it, a fresh one does, too
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([*command, *pinned, f"morisot{extra} @ {wheel.resolve().as_uri()}"], check=True)
    return python


def run(python: Path, directory: Path) -> dict[str, Any]:
    """What a program in an empty directory says, without anything of this tree on its path."""
    directory.mkdir()
    program = Path(shutil.copy(PROGRAM, directory))
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([python, program], cwd=directory, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def wrong(said: dict[str, Any], environment: Path) -> Iterator[str]:
    """What is not as it should be where the wheel was installed."""
    if not Path(said["package"]).is_relative_to(environment.resolve()):
        yield f"the package is not that of the environment, it is in {said['package']}"
    for name in ("version", "metadata"):
        if said[name] != mo.__version__:
            yield f"the {name} says {said[name]}, the tree is {mo.__version__}"
    for name in said["not there"]:
        yield f"{name} is not there"
    for engine in ("reference", "spark"):
        if said[engine] != COUNTS:
            yield f"{engine} counts {said[engine]}, the text has {COUNTS}"


def problems(wheel: Path, directory: Path) -> Iterator[str]:
    """What is wrong with a wheel, tried in a directory."""
    yield from missing(SOURCES, wheel)
    environment = directory / "environment"
    yield from wrong(run(install(wheel, environment), directory / "elsewhere"), environment)


def main() -> int:
    """Build it in dist and try it; 1 if something is wrong."""
    wheel = build(ROOT / "dist")
    with tempfile.TemporaryDirectory() as directory:
        found = list(problems(wheel, Path(directory)))
    print("\n".join(found) or f"{wheel.relative_to(ROOT)}: installed and tried with Python {sys.version.split()[0]}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
