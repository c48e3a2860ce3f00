"""The contents of stored states, as `job.state(…)` returns them."""

from __future__ import annotations

import datetime
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import pytest

from morisot.errors import Location
from morisot.types.element import ANY, BOOL, DATE, DATETIME, FLOAT, INT, STR, Keyed, Optional, Tuple, Type
from morisot.types.infer import of_record_class
from morisot.worker.codec.keys import canonical, original
from morisot.worker.report.origin import Origin
from morisot.worker.stateful.buckets import Bucket
from morisot.worker.stateful.contents import contents_of, raw_contents
from morisot.worker.stateful.machine import Machine
from morisot.worker.stateful.state import RichMachine
from morisot.worker.stateful.state_table import StateTable


class Point(NamedTuple):
    x: int
    y: float


@dataclass(frozen=True)
class Place:
    name: str


class Doubled(Point):
    """Its constructor runs once: a key that is read back is made without it."""

    def __new__(cls, x: int, y: float) -> Self:
        return super().__new__(cls, 2 * x, y)


KEYS: list[tuple[Any, Type]] = [
    (7, INT),
    (-3, INT),
    (2.5, FLOAT),
    (2.0, FLOAT),
    (True, BOOL),
    (None, Optional(INT)),
    ("é:1", STR),
    (datetime.date(2024, 2, 29), DATE),
    (datetime.datetime(2024, 2, 29, 1, 2, 3), DATETIME),
    (datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC), ANY),
    ((1, ("a", None)), Tuple((INT, Tuple((STR, Optional(INT)))))),
    (Point(1, 2.0), of_record_class(Point)),
    (Doubled(1, 2.0), of_record_class(Doubled)),
    (frozenset({1, 2}), ANY),
    (b"a:b", ANY),
]


@pytest.mark.parametrize(("key", "type_"), KEYS)
def test_keys_are_read_back(key: Any, type_: Type) -> None:
    found = original(canonical(key), type_)
    assert found == key
    assert type(found) is type(key)


def test_keys_that_have_only_a_name_stay_bytes() -> None:
    assert original(canonical(Place("a")), ANY) == canonical(Place("a"))
    assert original(b"anything", ANY) == b"anything"


def counted(state: int, key: Any, value: int) -> tuple[int, int]:
    return state + value, state


@pytest.mark.parametrize(
    ("type_", "keys"),
    [(INT, [1, 2]), (STR, ["a", "b"]), (Tuple((INT, STR)), [(1, "a"), (2, "b")]), (FLOAT, [0.5, 2.0]), (ANY, [1, "b"])],
)
def test_states_of_keys(type_: Type, keys: list[Any]) -> None:
    origin = Origin("rich_map", Location("program.py", 1), None)
    found: Machine = RichMachine(0, counted, True, "map", origin)
    bucket = Bucket(found, origin, Keyed(type_, INT), Keyed(type_, INT), pickle.dumps, False, False, True, False, False)
    saved = StateTable(None, keys, type_, found.layout, pickle.dumps).written([10, 20])
    assert list(contents_of(bucket, saved)) == list(zip(keys, [10, 20], strict=True))
    assert [value for _, value in raw_contents(saved)] == [10, 20]
    assert [key for key, _ in raw_contents(saved)] == keys
