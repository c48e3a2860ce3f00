"""`python -m tests.compile.refusals`: writes the reasons and advice of refusals again, with a program for each.

Read the difference of refusals.txt as a user would: the reason is true for this program, and the advice helps.
"""

from __future__ import annotations

import ast
import calendar
import contextlib
import copy
import datetime
import itertools
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import morisot
from morisot.compile.kernel.function import compile_kernel
from morisot.compile.syntax.function import compile_function
from morisot.compile.verdict import Refusal
from morisot.types.element import ANY, BOOL, DATE, DATETIME, FLOAT, INT, STR, Dict, List, Optional, Tuple, Type
from morisot.types.infer import of_record_class
from tests.compile.refusal_programs import KERNEL_TEXTS, STREAM_TEXTS, TEXTS
from tests.compile.test_table import GLOBALS, ODDER, ORDER, POINT, STAGE

FILE = Path(__file__).with_name("refusals.txt")
WITHOUT_PROGRAM = Path(__file__).with_name("refusals_without_program.txt")
PACKAGE = Path(morisot.__file__).parent
TYPES: dict[str, Type] = {
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "str": STR,
    "date": DATE,
    "datetime": DATETIME,
    "object": ANY,
    "int | None": Optional(INT),
    "list[int]": List(INT),
    "list[str]": List(STR),
    "list[float]": List(FLOAT),
    "list[list[int]]": List(List(INT)),
    "list[int | None]": List(Optional(INT)),
    "dict[str, int]": Dict(INT),
    "dict[str, str]": Dict(STR),
    "tuple[int, int]": Tuple((INT, INT)),
    "tuple[int, str]": Tuple((INT, STR)),
    "tuple[int, float | None]": Tuple((INT, Optional(FLOAT))),
    "list[tuple[int, int]]": List(Tuple((INT, INT))),
    "Point": POINT,
    "Order": ORDER,
}


class Sized(NamedTuple):
    """A record that is true or not by a method of its own."""

    n: int

    def __bool__(self) -> bool:
        return self.n > 0


def raising(x: int) -> int:
    raise ValueError(x)


def text_of(n: int) -> str:
    return str(n)


def loop(stream: Any, state: Any, body: Any, fold: Any, delta: Any) -> Any:
    """A loop of three rounds."""
    return stream.iterate(3, state, body, fold, lambda t, d: t, lambda t: True, delta=delta)[0]


TYPES |= {"Odder": ODDER, "Sized": of_record_class(Sized), "list[tuple[int, str]]": List(Tuple((INT, STR)))}
MORE_GLOBALS = {
    "dt": datetime, "calendar": calendar, "itertools": itertools, "COMPILED": re.compile("a"), "raising": raising,
    "EMPTY": {}, "ODD_DICT": {1: object()}, "METHOD": "a".join, "text_of": text_of,
    "mo": morisot, "json": json, "copy": copy, "loop": loop,
}  # fmt: skip
MAKERS = ("refuse", "Refusal", "PlanError")
Site = tuple[str, str]
"""A file and the text of a call that makes a refusal."""


def sites() -> dict[Site, tuple[str, int, int]]:
    """Every call in the compiler and the planner that makes a refusal, with its file and lines."""
    found = {}
    for path in sorted([*PACKAGE.glob("compile/**/*.py"), *PACKAGE.glob("physical/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS and node.args:
                shown = str(path.relative_to(PACKAGE))
                found[shown, ast.unparse(node)] = (str(path), node.lineno, node.end_lineno or node.lineno)
    return found


def programs() -> Iterator[tuple[str, tuple[Type, ...], str]]:
    """The form that is asked for, the types of the parameters, and the text of the function."""
    for parameters, text, _ in STAGE:
        yield "column", parameters, text
    for form, texts in (("column", TEXTS), ("kernel", KERNEL_TEXTS)):
        for names, each in texts:
            yield form, tuple(TYPES[name.strip()] for name in names.split(";") if name), each


@contextlib.contextmanager
def recorded() -> Iterator[set[tuple[str, int]]]:
    """The lines that make refusals while the block runs."""
    lines: set[tuple[str, int]] = set()
    original = Refusal.__init__

    def record(self: Refusal, *args: Any, **named: Any) -> None:
        original(self, *args, **named)
        frame: Any = sys._getframe(1)
        while frame is not None and str(PACKAGE) in frame.f_code.co_filename:
            if frame.f_code.co_name != "<module>":  # a constant is made when its module is imported
                lines.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back

    Refusal.__init__ = record  # type: ignore[method-assign]
    try:
        yield lines
    finally:
        Refusal.__init__ = original  # type: ignore[method-assign]


def function_of(text: str, page: Path) -> Callable[..., Any]:
    """The function that a text makes, in a file of its own."""
    namespace: dict[str, Any] = {**GLOBALS, **MORE_GLOBALS, "__name__": "program"}
    page.write_text(text if text.startswith(("def ", "async ", "class ")) else f"f = {text}\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(page.read_text(encoding="utf-8"), str(page), "exec", dont_inherit=True), namespace)
    return namespace["f"]  # type: ignore[no-any-return]


def refusal_of(form: str, function: Callable[..., Any], parameters: tuple[Type, ...]) -> Refusal | None:
    """Why a function does not have the form; None if it has."""
    found = compile_function(function, parameters) if form == "column" else compile_kernel(function, parameters, None)
    return found if isinstance(found, Refusal) else None


def numbers() -> Any:
    return morisot.StreamContext(engine="reference").stream_iter([1, 2])


def table() -> tuple[str, set[Site]]:
    """The text of all refusals, and the sites that no program reaches."""
    entries, reached = [], set()
    with tempfile.TemporaryDirectory() as directory, recorded() as lines:
        for number, (form, parameters, text) in zip(itertools.count(), programs(), strict=False):
            found = refusal_of(form, function_of(text, Path(directory) / f"page{number}.py"), parameters)
            given = "; ".join(map(str, parameters))
            said = ["(none: it has the form)"] if found is None else [found.reason, f"↳ {found.advice}"]
            entries.append("\n".join([f"{form} of ({given}): {text!r}", *(f"    {line}" for line in said)]))
        for number, text in enumerate(STREAM_TEXTS):
            records = function_of(f"lambda s: {text}", Path(directory) / f"stream{number}.py")(numbers()).forms()
            said = [f"    {each.form} — {each.reason}\n    ↳ {each.advice}" for each in records]
            entries.append("\n".join([f"forms of {text}", *said]))
    content = "\n".join(entries) + "\n"
    for site, (file, first, last) in sites().items():
        if any(path == file and first <= line <= last for path, line in lines) or _text_of(site) in content:
            reached.add(site)
    return content, set(sites()) - reached


def _text_of(site: Site) -> str:
    """The reason, if it is a constant text."""
    call = ast.parse(site[1], mode="eval").body
    first = call.args[0] if isinstance(call, ast.Call) else call
    return str(first.value) if isinstance(first, ast.Constant) and first.value is not None else "\0"


def without_program() -> set[Site]:
    """The sites that are known to have no program yet."""
    lines = WITHOUT_PROGRAM.read_text(encoding="utf-8").splitlines()
    return {(file, text) for file, _, text in (line.partition(": ") for line in lines)}


def write_files() -> None:
    content, missing = table()
    FILE.write_text(content, encoding="utf-8")
    WITHOUT_PROGRAM.write_text("".join(f"{file}: {text}\n" for file, text in sorted(missing)), encoding="utf-8")
    print(f"{len(sites()) - len(missing)} of {len(sites())} refusals have a program")


if __name__ == "__main__":
    write_files()
