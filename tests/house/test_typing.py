"""What a type checker tells the users: right programs are clean, wrong ones are flagged where they are wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PREAMBLE = """
from pathlib import Path
from typing import NamedTuple
import morisot as mo

class Sale(NamedTuple):
    shop: str
    price: float

ctx = mo.StreamContext(engine="reference")
numbers = ctx.stream_iter([1, 2])
lines = ctx.stream_file("books/*.txt")
sales = ctx.stream_csv("sales.csv", Sale)
by_shop = sales.group_by(lambda sale: sale.shop)
maybe = numbers.map(lambda n: n if n > 1 else None)
some_by_shop = by_shop.map(lambda _, sale: sale if sale.price > 1 else None)
lines.write_text(Path("out"))
"""

FIRST = len(PREAMBLE.splitlines())

RIGHT = {
    "numbers": "Stream[int]",
    "lines": "Stream[str]",
    "sales": "Stream[Sale]",
    "ctx.stream_par_iter(range(9))": "Stream[int]",
    "numbers.map(lambda n: n / 2)": "Stream[float]",
    "numbers.filter(lambda n: n % 2)": "Stream[int]",
    "lines.flat_map(lambda line: line.split())": "Stream[str]",
    "numbers.filter_map(lambda n: str(n) if n > 1 else None)": "Stream[str]",
    "numbers.map(lambda n: [n, n]).flatten()": "Stream[int]",
    "numbers.map(lambda n: (n, str(n)))": "Stream[tuple[int, str]]",
    "lines.flat_map(lambda line: line.lower().split()).group_by_count(lambda word: word)": "KeyedStream[str, int]",
    "by_shop": "KeyedStream[str, Sale]",
    "by_shop.map(lambda shop, sale: sale.price)": "KeyedStream[str, float]",
    "by_shop.filter(lambda shop, sale: sale.price > 1).drop_key()": "Stream[Sale]",
    "by_shop.unkey()": "Stream[tuple[str, Sale]]",
    "by_shop.keys()": "Stream[str]",
    "by_shop.count()": "KeyedStream[str, int]",
    "sales.group_by_sum(lambda sale: sale.shop, lambda sale: sale.price)": "KeyedStream[str, float]",
    "sales.group_by_max_element(lambda sale: sale.shop, lambda sale: sale.price)": "KeyedStream[str, Sale]",
    "numbers.reduce_assoc(lambda a, b: a + b)": "Stream[int]",
    "numbers.fold_assoc('', lambda text, n: text + str(n), lambda a, b: a + b)": "Stream[str]",
    "numbers.limit(3).unique().count()": "Stream[int]",
    "numbers.merge(numbers, numbers)": "Stream[int]",
    "numbers.merge(maybe)": "Stream[int | None]",
    "maybe.merge(numbers, maybe)": "Stream[int | None]",
    "by_shop.merge(some_by_shop)": "KeyedStream[str, Sale | None]",
    "numbers.window_all(mo.CountWindow.tumbling(2)).count()": "Stream[int]",
    "by_shop.window(mo.EventTimeWindow.tumbling('1m')).first()": "KeyedStream[str, Sale]",
    "by_shop.window(mo.LastK(3)).fold(0, lambda n, sale: n + 1)": "KeyedStream[str, int]",
    "numbers.window_all(mo.LastK(3)).reduce(lambda a, n: a // n, on_error='skip')": "Stream[int]",
    "by_shop.window(mo.LastK(3)).fold('', lambda text, s: text + s.shop, on_error=print)": "KeyedStream[str, str]",
    "numbers.window_all(mo.AllWindow()).map(lambda ns: str(ns))": "Stream[str]",
    "by_shop.window(mo.AllWindow()).join(by_shop)": "KeyedStream[str, tuple[Sale, Sale]]",
    "numbers.max_elements(lambda n: n % 2)": "Stream[int]",
    "by_shop.min_elements(lambda sale: sale.price)": "KeyedStream[str, Sale]",
    "by_shop.window(mo.LastK(3)).max_elements(lambda sale: sale.price)": "KeyedStream[str, Sale]",
    "numbers.join(lines, str, str, lambda n, line: [n])": "KeyedStream[str, list[int]]",
    "by_shop.left_join(by_shop, lambda a, b: b and b.price)": "KeyedStream[str, None | float]",
    "by_shop.join(by_shop).map(lambda shop, a, b: a.price * b.price)": "KeyedStream[str, float]",
    "by_shop.join(by_shop).filter(lambda shop, a, b: a.price > b.price)": "KeyedStream[str, tuple[Sale, Sale]]",
    "by_shop.collect()": "list[tuple[str, Sale]]",
    "lines.collect_vec()": "Output[list[str]]",
    "lines.collect_count().get()": "int",
}

WRONG = {
    "numbers.window(mo.CountWindow.tumbling(2)).sum()": '"Stream[int]" has no attribute "window"',  # and continues
    "by_shop.window_all(mo.CountWindow.tumbling(2)).sum()": '"KeyedStream[str, Sale]" has no attribute "window_all"',
    "numbers.map(lambda n: n.upper())": '"int" has no attribute "upper"',
    "lines.filter(lambda line: line > 3)": "Unsupported operand types",
    "sales.map(lambda sale: sale.prize)": '"Sale" has no attribute "prize"',
    "numbers.flat_map(lambda n: n + 1)": "Iterable",
    "numbers.map(lambda key, n: n)": 'expected "Callable[[int], Any]"',
    "by_shop.map(lambda sale: sale.price)": 'expected "Callable[[str, Sale], Any]"',
    "by_shop.map(lambda shop, sale: shop + 1)": "Unsupported operand types",
    "numbers.group_by(lambda n: n % 2).map(lambda k, n: n.upper())": '"int" has no attribute "upper"',
    "numbers.reduce_assoc(lambda a, b: str(a + b))": "Incompatible return value type",
    "numbers.limit('3')": "incompatible type",
    "numbers.merge(lines)": "Stream[str]",
    "numbers.merge(by_shop)": "KeyedStream[str, Sale]",
}


def right_programs() -> list[Any]:
    return [
        pytest.param(
            place,
            program,
            id=program,
        )
        for place, program in enumerate(RIGHT, FIRST)
    ]


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, str]:
    """What mypy says of each line of one file with all the programs."""
    lines = [*PREAMBLE.splitlines(), *(f"reveal_type({program})" for program in RIGHT), *WRONG]
    file = tmp_path_factory.mktemp("typing") / "programs.py"
    file.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found: dict[int, str] = {}
    for message in done.stdout.splitlines():
        place, number, text = message.split(":", 2)
        if place.endswith(file.name):  # what is wrong in src is told elsewhere
            found[int(number)] = found.get(int(number), "") + text
    assert found, done.stdout + done.stderr
    return {number - 1: text for number, text in found.items()}


@pytest.mark.parametrize(("place", "program"), right_programs())
def test_right_programs_have_the_types_one_expects(place: int, program: str, messages: dict[int, str]) -> None:
    said = messages[place]
    assert "error" not in said
    revealed = re.search(r'Revealed type is "(.*)"', said)
    assert revealed
    names = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", revealed[1])
    assert re.sub(r"tuple\[[^\[\]]*, fallback=(\w+)\]", r"\1", names) == RIGHT[program]  # how mypy shows a NamedTuple


@pytest.mark.parametrize(("place", "program"), list(enumerate(WRONG, FIRST + len(RIGHT))), ids=list(WRONG))
def test_wrong_programs_are_flagged(place: int, program: str, messages: dict[int, str]) -> None:
    assert "error" in messages.get(place, "")
    assert WRONG[program] in messages[place]


def test_what_comes_before_is_clean(messages: dict[int, str]) -> None:
    assert [text for number, text in messages.items() if number < FIRST] == []
