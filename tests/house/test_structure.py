"""The check of the package's structure finds what it looks for, and nothing in Morisot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import structure

Plant = Callable[[dict[str, str]], Path]


@pytest.fixture
def plant(tmp_path: Path, request: pytest.FixtureRequest) -> Plant:
    """Writes a package with these modules, under a name that no other test uses, and gives its directory."""
    package = tmp_path / f"planted_{request.node.name}"

    def write(modules: dict[str, str]) -> Path:
        for name, text in modules.items():
            file = package / f"{name}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            (file.parent / "__init__.py").touch()
            file.write_text(text.format(package=package.name))
        return package

    return write


def test_morisot_has_no_problem() -> None:
    assert structure.problems(structure.SOURCES) == []


def test_a_cycle_over_an_import_in_a_function_is_found(plant: Plant) -> None:
    package = plant(
        {
            "first": "from {package} import second\n",
            "second": "import {package}.inner.third\n",
            "inner/third": "def late():\n    from {package}.first import second\n",
            "alone": "from {package} import first\n",
        }
    )
    name = package.name
    (found,) = structure.problems(package)
    assert found.splitlines() == [
        "3 modules import each other:",
        f"  {name}.first:1: from {name} import second",
        f"  {name}.inner.third:2: from {name}.first import second",
        f"  {name}.second:1: import {name}.inner.third",
    ]


def test_two_cycles_are_two_problems(plant: Plant) -> None:
    package = plant({name: f"import {{package}}.{other}\n" for name, other in ("ab", "ba", "cd", "dc")})
    assert [found.splitlines()[0] for found in structure.problems(package)] == ["2 modules import each other:"] * 2


def test_an_import_for_types_only_makes_no_cycle(plant: Plant) -> None:
    typed = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from {package} import first\n"
    assert structure.problems(plant({"first": "from {package} import second\n", "second": typed})) == []


def test_a_package_with_too_many_modules_is_found(plant: Plant) -> None:
    package = plant({f"inner/module{number}": "" for number in range(16)})
    assert structure.problems(package) == [
        f"{package.name}/inner has 16 modules, more than 15: it needs sub-packages",
    ]
    (package / "inner" / "module0.py").unlink()
    assert structure.problems(package) == []


def test_a_name_of_two_classes_is_found(plant: Plant) -> None:
    package = plant(
        {
            "first": "class Twice: ...\nclass _Private: ...\nclass Once: ...\n",
            "inner/second": "\n\nclass Twice: ...\nclass _Private: ...\n",
        }
    )
    name = package.name
    (found,) = structure.problems(package)
    assert found.splitlines() == [
        "2 classes are called Twice:",
        f"  {name}/first.py:1",
        f"  {name}/inner/second.py:3",
    ]
