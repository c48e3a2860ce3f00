"""The reader finds the very text a function was compiled from, or refuses."""

from __future__ import annotations

import ast
import functools
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FunctionType
from typing import Any
from unittest.mock import Mock

import pytest

from morisot.compile.syntax import reader
from morisot.compile.syntax.reader import FunctionSource, read
from morisot.compile.verdict import Refusal
from morisot.plan.nodes.closure import freeze


def text_of(function: Callable[..., Any]) -> str:
    assert isinstance(function, FunctionType)
    source = read(function)
    assert isinstance(source, FunctionSource), source
    return ast.unparse(source.node)


def column_of(function: Callable[..., Any]) -> int:
    assert isinstance(function, FunctionType)
    source = read(function)
    assert isinstance(source, FunctionSource), source
    return source.node.col_offset


def load(path: Path, text: str) -> Any:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Chain:
    """Collects functions, as a stream does."""

    def __init__(self) -> None:
        self.functions: list[Callable[..., Any]] = []

    def map(self, function: Callable[..., Any], *_: Callable[..., Any]) -> Chain:
        self.functions.append(function)
        return self


def identity(*_: Any) -> Callable[[Any], Any]:
    return lambda function: function


def test_two_lambdas_on_a_line() -> None:
    first, second = (lambda x: x + 1), (lambda x: x + 2)
    assert text_of(first) == "lambda x: x + 1"
    assert text_of(second) == "lambda x: x + 2"


def test_the_same_text_twice_on_a_line() -> None:
    first, second = (lambda x: x + 1), (lambda x: x + 1)
    assert column_of(first) < column_of(second)


def test_two_statements_on_a_line(tmp_path: Path) -> None:
    module = load(tmp_path / "statements.py", "f = lambda x: x + 1; g = lambda x: x + 1; h = [lambda x: x, f]\n")
    assert [column_of(each) for each in (module.f, module.g, module.h[0])] == [4, 25, 47]


@pytest.mark.parametrize("imported", ["import math", "try:\n    import math\nexcept ImportError: ..."])
def test_functions_of_modules_that_are_imported(imported: str, tmp_path: Path) -> None:
    """CPython compiles a call of such a function differently."""
    module = load(tmp_path / "importing.py", f"{imported}\nfs = (lambda x: math.sin(x)), (lambda x: x.real())\n")
    assert [text_of(each) for each in module.fs] == ["lambda x: math.sin(x)", "lambda x: x.real()"]


def test_a_very_long_chain_of_calls(tmp_path: Path) -> None:
    chain = "".join(f".map(lambda x: x + {n}, lambda x: x)\n    " for n in range(150))
    module = load(tmp_path / "chain.py", f"def make(chain):\n    return (chain{chain})\n")
    functions = module.make(Chain()).functions
    assert [text_of(each) for each in functions[::50]] == [f"lambda x: x + {n}" for n in range(0, 150, 50)]


def test_lambdas_in_chained_calls() -> None:
    functions = Chain().map(lambda x: x + 1).map(
        lambda x: x * 2
    ).map(
        lambda x:
            x - 3
    ).functions  # fmt: skip
    assert [text_of(f) for f in functions] == ["lambda x: x + 1", "lambda x: x * 2", "lambda x: x - 3"]


def test_functions_on_one_line_are_told_apart_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (lambda x: x + 31), (lambda x: x + 32)
    assert [text_of(first), text_of(second)] == ["lambda x: x + 31", "lambda x: x + 32"]
    monkeypatch.setattr(reader, "_compile_moved", None)
    assert [text_of(first), text_of(second)] == ["lambda x: x + 31", "lambda x: x + 32"]


def test_a_file_is_parsed_as_often_for_many_lines_as_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"    lambda x: x + {each}, lambda x: x - {each}," for each in range(5)]
    module = load(tmp_path / "lines.py", "\n".join(["functions = (", *lines, ")", ""]))
    parse = Mock(wraps=ast.parse)
    monkeypatch.setattr(ast, "parse", parse)
    texts = [text_of(each) for each in module.functions]
    assert texts == [f"lambda x: x {sign} {each}" for each in range(5) for sign in "+-"]
    assert parse.call_count == 2


def test_threads_tell_the_functions_of_a_file_apart(tmp_path: Path) -> None:
    lines = [f"    lambda x: x + {each}, lambda x: x - {each}," for each in range(40)]
    module = load(tmp_path / "threads.py", "\n".join(["functions = (", *lines, ")", ""]))
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(text_of, module.functions))
    assert texts == [f"lambda x: x {sign} {each}" for each in range(40) for sign in "+-"]


def test_a_lambda_inside_a_lambda() -> None:
    outer: Callable[[int], Callable[[int], int]] = lambda x: lambda y: x + y  # noqa: E731
    assert text_of(outer) == "lambda x: lambda y: x + y"
    assert text_of(outer(1)) == "lambda y: x + y"


def test_default_arguments() -> None:
    first, second = (lambda x, k=1: x + k), (lambda x, k=2: x + k)
    assert text_of(first) == "lambda x, k=1: x + k"
    assert text_of(second) == "lambda x, k=2: x + k"


def test_a_decorated_function() -> None:
    @identity(lambda z: z)
    @identity()
    def decorated(x: int) -> int:
        return x + 1

    assert text_of(decorated).endswith("return x + 1")


def test_annotations_that_are_not_postponed(tmp_path: Path) -> None:
    """From Python 3.14 on they are a code of their own, on the line of the function."""
    text = "def same(*_): return lambda f: f\n@same(lambda z: z)\ndef f(x: int, y: list[int]) -> int: return x + 1\n"
    module = load(tmp_path / "annotated.py", text)
    assert text_of(module.f).endswith("return x + 1")


def test_a_wrapper_is_read_not_what_it_wraps() -> None:
    def doubling(function: Callable[[int], int]) -> Callable[[int], int]:
        @functools.wraps(function)
        def wrapper(x: int) -> int:
            return function(x) * 2

        return wrapper

    @doubling
    def plus_one(x: int) -> int:
        return x + 1

    assert "function(x) * 2" in text_of(plus_one)


def test_methods_of_a_class() -> None:
    class Rules:
        @staticmethod
        def is_large(x: int) -> bool:
            return x > 10

        key = lambda self: self  # noqa: E731

    assert "x > 10" in text_of(Rules.is_large)
    assert text_of(Rules.__dict__["key"]) == "lambda self: self"


def test_constants_are_told_apart_by_type() -> None:
    first, second = (lambda x: (x, 1)), (lambda x: (x, True))
    assert text_of(first) == "lambda x: (x, 1)"
    assert text_of(second) == "lambda x: (x, True)"


def test_a_lambda_in_an_assertion_that_pytest_rewrote() -> None:
    assert text_of(lambda x: x + 7) == "lambda x: x + 7"


def test_a_function_with_an_assertion_that_pytest_rewrote_is_refused() -> None:
    def checked(x: int) -> int:
        assert x
        return x

    assert isinstance(read(checked), Refusal)  # type: ignore[arg-type]  # its code is not that of its text any more


def test_a_frozen_copy_is_read_like_the_original() -> None:
    step = 3
    assert text_of(freeze(lambda x: x + step)) == "lambda x: x + step"


def test_a_comprehension_in_a_function() -> None:
    assert text_of(lambda xs: [x + 1 for x in xs if x]) == "lambda xs: [x + 1 for x in xs if x]"


@pytest.mark.parametrize("source", ["lambda x: x + 1", "(lambda x: x, lambda x: x + 1)[1]"])
def test_no_source_text(source: str) -> None:
    refusal = read(eval(source))
    assert isinstance(refusal, Refusal)
    assert "no source text" in refusal.reason
    assert "pass returns=" in refusal.advice


def test_an_edited_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    module = load(path, "f = lambda x: x + 1\n")
    assert text_of(module.f) == "lambda x: x + 1"
    path.write_text("f = lambda x: x + 2\n")
    os.utime(path, (1, 1))
    refusal = read(module.f)
    assert isinstance(refusal, Refusal)
    assert "is not what" in refusal.reason


def test_an_edit_elsewhere_on_the_line_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "moved.py"
    module = load(path, "f, g = (lambda x: x), (lambda x: -x)\n")
    path.write_text("f, g = (lambda x: x),  (lambda x: -x)\n")
    os.utime(path, (1, 1))
    assert isinstance(read(module.f), FunctionSource)
    assert isinstance(read(module.g), Refusal)


def test_an_edit_below_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "longer.py"
    module = load(path, "f = lambda x: x + 1\n")
    path.write_text("f = lambda x: x + 1\ng = 3\n")
    os.utime(path, (1, 1))
    assert text_of(module.f) == "lambda x: x + 1"


def test_a_file_that_no_longer_parses_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    module = load(path, "f = lambda x: x + 1\n")
    path.write_text("f = lambda x: (\n")
    os.utime(path, (1, 1))
    assert isinstance(read(module.f), Refusal)


# --- no file: prompts, arguments, standard input ---

SHOWN = """
import ast, sys
from morisot.compile.syntax.reader import read

def show(*functions):
    for each in functions:
        found = read(each)
        print(ast.unparse(found.node).replace("\\n", ";") if hasattr(found, "node") else found)

f, g = (lambda x: x + 1), (lambda x: x + 1)
def h(x):
    y = x * 2
    return y

show(f, g, h)
"""
EXPECTED = ["lambda x: x + 1", "lambda x: x + 1", "def h(x):;    y = x * 2;    return y"]


def run_python(*arguments: str, stdin: Any = subprocess.DEVNULL, text: str | None = None) -> list[str]:
    given: dict[str, Any] = {"input": text} if text is not None else {"stdin": stdin}
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *arguments]
    ran = subprocess.run(command, text=True, stdout=subprocess.PIPE, env=environ, check=True, **given)
    return str(ran.stdout).splitlines()


@pytest.mark.parametrize("option", ["-c", "-Bc="])
def test_the_argument_of_the_interpreter(option: str) -> None:
    arguments = [f"{option[:-1]}{SHOWN}"] if option.endswith("=") else [option, SHOWN, "-c", "more"]
    assert run_python(*arguments) == EXPECTED


def test_standard_input_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "program").write_text(SHOWN)
    with (tmp_path / "program").open() as program:
        assert run_python("-", stdin=program) == EXPECTED


def test_standard_input_from_a_pipe_is_refused() -> None:
    assert run_python("-", text=SHOWN) == [f"there is no source text for {name}" for name in ("<lambda>",) * 2 + ("h",)]


@pytest.mark.parametrize("file", ["<stdin>", "<console>"])
def test_the_lines_of_a_prompt(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = [
        "f, g = (lambda x: x + 1), (lambda x: x + 2)",
        "f = lambda x: x + 3",
        "def h(x):\n    if x:\n        return 1\n    return 2",
        "fs = [\n  lambda x: x - 1,\n  lambda x: x - 2]",
        "f = (lambda",
        "@same\ndef k(x): return x + 5",
    ]
    lines = [line for each in statements for line in each.split("\n")]
    history = Mock(get_current_history_length=lambda: len(lines), get_history_item=lambda number: lines[number - 1])
    monkeypatch.setitem(sys.modules, "readline", history)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    names: dict[str, Any] = {"same": lambda function: function}
    first: list[Any] = []
    for statement in statements:
        if statement != "f = (lambda":
            exec(compile(f"{statement}\n", file, "single"), names)
            first.append(names["f"])
    assert [text_of(each) for each in (first[0], names["g"], names["f"])] == [f"lambda x: x + {n}" for n in (1, 2, 3)]
    assert text_of(names["h"]).endswith("return 1\n    return 2")
    assert [text_of(each) for each in names["fs"]] == ["lambda x: x - 1", "lambda x: x - 2"]
    assert text_of(names["k"]).endswith("return x + 5")
    lines[0] = "f, g = (lambda x: x + 1),  (lambda x: x + 9)"
    assert isinstance(read(names["g"]), Refusal)


def test_a_module_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("archived.py", "f = lambda x: x + 4\n")
    monkeypatch.syspath_prepend(str(tmp_path / "archive.zip"))
    module = importlib.import_module("archived")
    assert text_of(freeze(module.f)) == "lambda x: x + 4"
