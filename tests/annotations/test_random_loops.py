"""Random small loops give the result of the sequential program, also with a failure in the middle."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

import morisot as mo

HEAD = """
import morisot as mo

class Stop(Exception):
    pass

def run(xs, fail_at):
    seen, total, top, out = 0, 0, -100, []
    for x in mo.to_stream({source}):
"""
EXPRESSIONS = ("{a} + {b}", "{a} * 3", "{a} - {b}", "abs({a})", "{a} // 7", "{a} % 5", "max({a}, {b})", "min({a}, {b})")
STATES = (
    ("total", "total += {a}"),
    ("total", "total = total * 2 % 1009 + {a}"),
    ("top", "if {a} > top:\n                top = {a}"),
    ("out", "out.append(({a}, {b}))"),
    ("seen", "seen += 1"),
)


class LoopText:
    """Writes the text of a random loop."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._names = ["x"]
        self._kept: list[str] = []
        self._lines: list[str] = []

    def text(self) -> str:
        chance = self._chance
        source = chance.choice(["xs", "range(len(xs))", "iter(xs)", "(x for x in xs)"])
        for _ in range(chance.randrange(3)):
            self._head_statement()
        for _ in range(chance.randint(1, 4)):
            self._stage()
        failing = chance.choice(self._names)
        self._lines += [
            "        with mo.stage():",
            f"            if {failing} == fail_at:",
            "                raise Stop",
        ]
        self._lines += (
            ["            out.append(('end', " + ", ".join(self._names) + "))"] if "out" not in self._kept else []
        )
        return HEAD.format(source=source) + "\n".join(self._lines) + "\n    return seen, total, top, out\n"

    def _head_statement(self) -> None:
        if self._chance.random() < 0.3:
            self._lines += [f"        if {self._value()} % 4 == 1:", "            continue"]
        else:
            self._assign("        ")

    def _assign(self, indent: str) -> None:
        name = self._chance.choice([*(each for each in self._names if each.startswith("v")), f"v{len(self._names)}"])
        self._lines.append(f"{indent}{name} = {self._expression()}")
        if name not in self._names:
            self._names.append(name)

    def _stage(self) -> None:
        chance = self._chance
        kept = [each for each in STATES if each[0] not in self._kept]
        if kept and chance.random() < 0.4:
            name, text = chance.choice(kept)
            self._kept.append(name)
            self._lines += ["        with mo.stage():", f"            {text.format(a=self._value(), b=self._value())}"]
            if chance.random() < 0.3:
                self._lines += [f"            if {self._value()} % 3 == 0:", "                continue"]
            if name != "out":
                self._names.append(name)
            return
        self._lines.append(f"        with mo.stage({chance.choice(['', 'replicate=2'])}):")
        for _ in range(chance.randint(1, 3)):
            self._assign("            ")
        if chance.random() < 0.3:
            name = self._chance.choice(self._names)
            self._lines += [
                f"            if {self._value()} > 3:",
                f"                w = {self._expression()}",
                "            else:",
            ]
            self._lines += [f"                w = {name}"]
            if "w" not in self._names:
                self._names.append("w")
        if chance.random() < 0.3:
            self._lines += [f"            if {self._value()} % 3 == 0:", "                continue"]

    def _value(self) -> str:
        return self._chance.choice([*self._names, str(self._chance.randint(-3, 9))])

    def _expression(self) -> str:
        return self._chance.choice(EXPRESSIONS).format(a=self._value(), b=self._value())


def load(directory: Path, text: str) -> Any:
    """The function of a text, and the class of its error."""
    file = directory / "loop.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("random_loop", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def result_of(run: Any, *arguments: Any) -> Any:
    """The result, or the class of the failure."""
    try:
        return run(*arguments)
    except mo.ElementError as error:
        return type(error.__cause__).__name__
    except Exception as error:
        return type(error).__name__


def check(chance: random.Random, directory: Path, engine: str) -> None:
    text = LoopText(chance).text()
    directory.mkdir()
    module = load(directory, text)
    xs = [chance.randint(-5, 12) for _ in range(chance.choice([0, 1, 5, 20]))]
    fail_at = chance.choice([10**6, *xs])
    expected = result_of(module.run, xs, 10**6)
    assert result_of(mo.pipeline(engine=engine)(module.run), xs, 10**6) == expected, text
    saved = mo.pipeline(engine=engine, snapshots=mo.Snapshots(directory / "saves", items=chance.choice([1, 3, 7])))
    first = result_of(saved(module.run), xs, fail_at)
    assert first == result_of(module.run, xs, fail_at), text
    if first == "Stop":
        assert result_of(saved(module.run), xs, 10**6) == expected, text


@pytest.mark.seeded
def test_random_loops(chance: random.Random, tmp_path: Path) -> None:
    for number in range(12):
        check(chance, tmp_path / str(number), "reference")


@pytest.mark.seeded
@pytest.mark.thorough
def test_many_random_loops(chance: random.Random, tmp_path: Path) -> None:
    for number in range(1000):
        check(chance, tmp_path / str(number), "reference")
