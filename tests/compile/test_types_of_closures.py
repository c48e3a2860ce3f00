"""The types of closures that run in Python: what is inferred, and that it fits what CPython returns."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import hashlib
import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from morisot.compile.result_types.domain import entering
from morisot.compile.result_types.function import result_type
from morisot.types.infer import of_values
from tests.compile.test_result_types import fits

PAIR = re.compile(r"(\w)(\d)?")
NUMBERS = {str(number): number for number in range(1000)}
x = "global"


class Item(NamedTuple):
    name: str
    price: float | None
    tags: list[str]


@dataclasses.dataclass
class Account:
    owner: str
    amounts: list[int]

    def spoiled(self) -> Any:
        self.amounts.append("all")  # type: ignore[arg-type]
        return self.amounts

    @property
    def mean(self) -> Any:
        return sum(self.amounts) / len(self.amounts)


Closure = Callable[[Any], Any]
CASES: list[tuple[Closure, str]] = []


def of_type(expected: str) -> Callable[[Closure], Closure]:
    def register(function: Closure) -> Closure:
        CASES.append((function, expected))
        return function

    return register


def spoil(values: Any) -> Any:
    values.append(None)


def scored(text: Any) -> float:
    return eval("float")(text)  # type: ignore[no-any-return]


@of_type("list[tuple[str, int]]")
def appended(text: Any) -> Any:
    found = []
    for word in text.split():
        found.append((word, hash(word)))  # noqa: PERF401
    return found


@of_type("list[tuple[str, int]]")
def counted(text: Any) -> Any:
    counts = {}
    for word in text.split():
        if word not in counts:
            counts[word] = 0
        counts[word] += 1
    return sorted(counts.items())


@of_type("list[str]")
def filled_next_to_unknown_code(text: Any) -> Any:
    found = []
    spoil([])
    found.append(text)
    return found


@of_type("object")
def filled_by_another(text: Any) -> Any:
    found = [text]
    spoil(found)
    return found


@of_type("object")
def filled_by_another_name(text: Any) -> Any:
    found: list[Any] = []
    other = found
    other.append(1)
    found.append(text)
    return found


@of_type("object")
def filled_while_iterating(text: Any) -> Any:
    found = [1]
    for item in found:  # noqa: B007
        if len(found) < 3:
            found.append(text)
    return item


@of_type("object")
def filled_after_the_return(text: Any) -> Any:
    found = []
    try:
        found.append(text)
        return found
    finally:
        found.append(1)


@of_type("object")
def changed_later(text: Any) -> Any:
    value = 1
    late = lambda: value  # noqa: E731
    value = text
    return late()  # type: ignore[no-untyped-call]


@of_type("object")
def generated_later(text: Any) -> Any:
    value = 1
    late = (value for _ in range(2))
    value = text
    return list(late)


@of_type("list[str]")
def hides_a_global(text: Any) -> Any:
    return [(lambda: x + str(hash(x)))() for x in text]  # noqa: PLC3002


@of_type("object")
def fails_between(text: Any) -> Any:
    value = 1
    try:
        value = text
        value = int(text) + hash(text)
        return value  # noqa: RET504
    except ValueError:
        return value


@of_type("int | None")
def parsed(text: Any) -> Any:
    try:
        return int(text) + hash(text) % 1
    except ValueError:
        return None


@of_type("object")
def changes_in_a_loop(text: Any) -> Any:
    value: Any = None
    for _ in text:
        value = 0 if value is None else value + 0.5
    return value


@of_type("tuple[str, int]")
def summed(text: Any) -> Any:
    total = 0
    for word in text.split():
        if word == "a":
            continue
        total += len(word) + hash(word) % 7
    return text, total


@of_type("str")
def matched(text: Any) -> Any:
    match text.split():
        case [first, *_]:
            return "first" if first else hex(hash(text))
        case _:
            return "none"


TEXTS: list[tuple[Closure, str]] = [
    (lambda t: (t, hash(t)), "tuple[str, int]"),
    (lambda t: int(hashlib.md5(t.encode()).hexdigest(), 16) % 100, "int"),
    (lambda t: int(hashlib.md5(t.encode()).hexdigest(), 16), "object"),
    (lambda t: json.dumps({"a": t}, sort_keys=True), "str"),
    (lambda t: (t, json.loads("[]")), "tuple[str, object]"),
    (lambda t: (t, scored("1.5")), "tuple[str, float]"),
    (lambda t: m.group(1) if (m := PAIR.match(t)) else None, "str | None"),
    (lambda t: NUMBERS.get(t, 0) + hash(t), "int"),
    (lambda t: f"{t}{hash(t)}", "str"),
    (lambda t: [*map(bytes.decode, [t.encode(), hex(hash(t)).encode()])], "list[str]"),
    (lambda t: random.random() * len(t), "float"),
    (lambda t: random.triangular(len(t), 1), "object"),
    (lambda t: random.triangular(0.5, 0.5) + random.triangular(), "float"),
    (lambda t: dt.datetime.strptime("2024", "%Y") + dt.timedelta(days=hash(t) % 3), "datetime"),
    (lambda t: dt.datetime.now(), "object"),
    (lambda t: sorted(t.split(), key=lambda w: (len(w), hash(w)))[:2], "list[str]"),
    (lambda t: {w: hash(w) for w in t.split()}, "dict[str, int]"),
    (lambda t: 0 if hash(t) % 2 else 0.5, "object"),
    (lambda t: hash(t) ** len(t), "object"),
    (lambda t: (hash(t), 1)[:1] + ("a", 0.5), "tuple[int, str, float]"),  # noqa: RUF005
    (lambda t: eval("t", {"t": t}), "object"),
    (lambda t: len(eval("t", {"t": t})), "int"),
    *CASES,
]


@pytest.mark.parametrize(("function", "expected"), TEXTS, ids=[f"{f.__name__}{i}" for i, (f, _) in enumerate(TEXTS)])
def test_closures_of_texts(function: Closure, expected: str) -> None:
    _check(function, expected, ["", "a", "a1 b2 a1", "7", "1.5 ß"])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda i: (i.name, i.price or float(hash(i.name))), "tuple[str, float]"),
        (lambda i: i.price if i.price is not None else float(hash(i.name)), "float"),
        (lambda i: [t.upper() for t in i.tags if hash(t)], "list[str]"),
        (lambda i: max(i.tags, key=lambda t: -hash(t), default=None), "str | None"),
        (lambda i: i._replace(name=hex(hash(i.name))), "Item"),
        (lambda i: (i.tags.append(1), i.tags)[1], "object"),
        (lambda i: (spoil(i.tags), i.name)[1:], "tuple[str]"),
    ],
)
def test_closures_of_named_tuples(function: Closure, expected: str) -> None:
    _check(function, expected, [Item("pen", 1.5, ["a", "b"]), Item("ink", None, ["c"])])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a: (a.mean, hash(a.owner)), "tuple[float, int]"),
        (lambda a: a.spoiled(), "object"),
        (lambda a: (a.spoiled(), a.amounts[-1])[1], "object"),
        (lambda a: Account(a.owner, [hash(a.owner)]), "Account"),
    ],
)
def test_closures_of_dataclasses(function: Closure, expected: str) -> None:
    _check(function, expected, [Account("Ada", [1, 2]), Account("Max", [3])])


def _check(function: Closure, expected: str, values: list[Any]) -> None:
    type_ = result_type(function, [of_values(values)])
    assert str(type_) == expected
    for value in values:
        try:
            result = function(copy.deepcopy(value))
        except Exception:
            continue
        assert fits(result, entering(type_)), (value, result)
