"""The wheel has what the package needs, and works where nothing else of the project is."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

import morisot as mo
from tests.house import wheel
from tests.house.installed_program import count_words


@pytest.mark.jvm
@pytest.mark.program
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_an_installed_wheel_runs_on_both_engines(tmp_path: Path) -> None:
    made = wheel.build(tmp_path / "dist")
    assert list(wheel.problems(made, tmp_path)) == []


def test_the_program_counts_what_the_text_has() -> None:
    assert count_words("reference") == wheel.COUNTS


# --- the checks can fail ---


def test_what_a_wheel_lacks_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "bin").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    for name in ("__init__.py", "py.typed", "bin/java", "__pycache__/old.pyc"):
        (package / name).touch()
    (package / "bin" / "java").chmod(0o755)
    with zipfile.ZipFile(tmp_path / "p.whl", "w") as archive:
        archive.write(package / "__init__.py", "package/__init__.py")
        archive.writestr("package/bin/java", "")
    assert list(wheel.missing(package, tmp_path / "p.whl")) == [
        "package/bin/java is not executable in the wheel",
        "the wheel has no package/py.typed",
    ]
    with zipfile.ZipFile(tmp_path / "q.whl", "w") as archive:
        for name in ("__init__.py", "py.typed", "bin/java"):
            archive.write(package / name, f"package/{name}")
    assert list(wheel.missing(package, tmp_path / "q.whl")) == []


def said_in(environment: Path, **other: Any) -> dict[str, Any]:
    package = environment / "lib" / "morisot"
    right = {"package": str(package), "version": mo.__version__, "metadata": mo.__version__, "not there": []}
    return {**right, "reference": wheel.COUNTS, "spark": wheel.COUNTS, **other}


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"package": "/elsewhere/morisot"}, "the package is not that of the environment, it is in /elsewhere/morisot"),
        ({"metadata": "0.0"}, f"the metadata says 0.0, the tree is {mo.__version__}"),
        ({"not there": ["py.typed"]}, "py.typed is not there"),
        ({"spark": {}}, f"spark counts {{}}, the text has {wheel.COUNTS}"),
    ],
)
def test_what_is_wrong_with_an_installed_wheel_is_found(tmp_path: Path, other: dict[str, Any], problem: str) -> None:
    assert list(wheel.wrong(said_in(tmp_path), tmp_path)) == []
    assert list(wheel.wrong(said_in(tmp_path, **other), tmp_path)) == [problem]
