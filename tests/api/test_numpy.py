"""Numpy scalars as keys, as results with a declared type, and in channels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import morisot as mo
from morisot.types.infer import of_annotation
from morisot.worker.codec.batches import decode, encode
from morisot.worker.codec.keys import canonical


class Point(NamedTuple):
    x: float
    label: str


@dataclass
class Count:
    n: int


CASES: list[tuple[Any, Callable[[int], Any], Any]] = [
    (float, lambda n: np.float64(n) / 2, 1.5),
    (float, lambda n: np.float32(n), 3.0),
    (int, lambda n: np.int64(n), 3),
    (int, lambda n: np.uint8(n), 3),
    (bool, lambda n: np.bool_(n > 2), True),
    (str, lambda n: np.str_(n), "3"),
    (float | None, lambda n: np.float64(n), 3.0),
    (tuple[int, float], lambda n: (np.int32(n), np.sqrt(n * n)), (3, 3.0)),
    (list[float], lambda n: list(np.arange(n, dtype=float)), [0.0, 1.0, 2.0]),
    (dict[str, int], lambda n: {"a": np.int64(n)}, {"a": 3}),
    (Point, lambda n: Point(np.float64(n), np.str_("p")), Point(3.0, "p")),
    (Count, lambda n: Count(np.int64(n)), Count(3)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("type_", "function", "expected"), CASES, ids=[str(case[0]) for case in CASES])
def test_results_of_a_declared_type(type_: Any, function: Callable[[int], Any], expected: Any) -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([3])
    (found,) = numbers.map(function, returns=type_).collect()
    assert found == expected
    assert repr(found) == repr(expected)
    declared = of_annotation(type_)
    (decoded,) = decode(encode([function(3)], declared, lambda _: b""), declared)
    assert repr(decoded) == repr(expected)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (int, np.float64(1)),
        (float, np.int64(1)),
        (int, np.datetime64(1, "ns")),
        (int, np.array([1])),
        (str, np.int8(1)),
    ],
)
def test_numpy_values_of_another_type_are_refused(type_: type, value: Any) -> None:
    numbers = mo.StreamContext(engine="reference").stream_iter([3])
    with pytest.raises(mo.ElementError, match="is not of the type"):
        numbers.map(lambda _: value, returns=type_).collect()


@pytest.mark.parametrize(("type_", "function", "expected"), CASES, ids=[str(case[0]) for case in CASES])
def test_elements_of_a_declared_type(type_: Any, function: Callable[[int], Any], expected: Any) -> None:
    (found,) = mo.StreamContext(engine="reference").stream_iter([function(3)], returns=type_).collect()
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("key", [np.int64(1), np.uint8(1), np.float64(1), np.float32(1), np.bool_(True)])
def test_a_number_of_numpy_is_the_key_that_it_equals(key: Any) -> None:
    assert canonical(key) == canonical(1)
    assert canonical((key, np.str_("a"))) == canonical((1, "a"))
    assert canonical(np.float64("nan")) == canonical(float("nan"))


def test_a_channel_takes_scalars_of_numpy() -> None:
    inlet, numbers = mo.StreamContext(engine="reference").stream_channel(float)
    with inlet:
        inlet.send_all([np.float64(0.5), 1.5])
    assert [type(n) for n in numbers.collect()] == [float, float]


def test_branches_are_numbers_of_numpy() -> None:
    stream = mo.StreamContext(engine="reference").stream_iter([1, 2, 3])
    assert [each.collect() for each in stream.split_by(lambda n: np.int64(n % 2), 2)] == [[2], [1, 3]]
    both = stream.split_by(lambda n: np.array([0, 1])[: n % 3], 2)
    assert [each.collect() for each in both] == [[1, 2], [2]]
