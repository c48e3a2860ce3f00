"""A plan is a value: `plan/` prints nothing, touches no file and calls no user function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "morisot" / "plan"

FUNCTIONS = {"open", "print", "input", "exec", "eval"}
MODULES = {"fileinput", "glob", "gzip", "io", "os", "shutil", "socket", "subprocess", "tempfile", "urllib.request"}
METHODS = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir", "unlink", "rename", "rmdir"),
    *(
        "exists",
        "is_file",
        "is_dir",
        "is_symlink",
        "iterdir",
        "glob",
        "rglob",
        "stat",
        "lstat",
        "resolve",
        "expanduser",
    ),
}
"""Of paths: each asks the file system or changes it."""
USERS = {"function", "original"}
"""The fields of a closure that hold what the user wrote."""


def actions(source: str) -> list[str]:
    """What a module does besides describing and computing, with the lines."""
    return [f"{getattr(node, 'lineno', 0)}: {what}" for node in ast.walk(ast.parse(source)) for what in _in_node(node)]


def _in_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield name
        case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS | USERS:
            yield name
        case ast.Import(names=names):
            yield from (each.name for each in names if each.name in MODULES or each.name.split(".")[0] in MODULES)
        case ast.ImportFrom(module=str(module)) if module in MODULES or module.split(".")[0] in MODULES:
            yield module


def test_a_plan_only_describes() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    found = [f"{file.relative_to(PACKAGE)}:{action}" for file in files for action in actions(file.read_text())]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        "print(node)",
        "open('file')",
        "import os",
        "import os.path",
        "from os import path",
        "import glob",
        "Path(path).read_text()",
        "Path(path).is_dir()",
        "any(Path(path).iterdir())",
        "closure.function(1)",
        "node.key.original(element)",
    ],
)
def test_an_action_is_found(planted: str) -> None:
    assert len(actions(f"def f():\n    {planted}\n")) == 1


@pytest.mark.parametrize(
    "allowed", ["dataclasses.replace(node)", "text.replace('a', 'b')", "str(Path(path))", "names(closure.function)"]
)
def test_what_is_no_action(allowed: str) -> None:
    assert actions(f"def f():\n    {allowed}\n") == []
